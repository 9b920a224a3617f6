import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "@local-serving/base/faults/json";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { plan } from "../../components/plan/plan";
import { parseEngineConfig } from "../../components/settings/load";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { describeEngineWithGpus } from "./available";
import { DaemonProxy } from "./daemonProxy";
import { machinesProgram } from "./machinesProgram";
import { digestOf } from "./stackConfig";
import { Workspace } from "./workspace";

const EXAMPLES = readdirSync("docs/examples").filter((file) => file.endsWith(".yaml"));
const MACHINES = "local-serving:machines";
const DAEMON = process.env.DOCKER_HOST ?? "unix:///var/run/docker.sock";

/** Stands for LiteLLM and Open WebUI: it stays up, and that is all. */
const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";

interface Images {
  readonly vllm: PinnedImage;
  readonly bridge: PinnedImage;
  readonly chatUi: PinnedImage;
}

type Block = Record<string, unknown>;

/**
 * The settings of an example on this machine: stub images, free ports, a network of its own, and no
 * systemd. All else is as it stands there, so servers wait in their start gates for memory that this
 * machine lacks.
 */
async function settingsHere(
  file: string,
  images: Images,
  engines: readonly string[],
): Promise<Record<string, Block>> {
  const { config } = parse(readFileSync(join("docs/examples", file), "utf8")) as { config: Block };
  const machines = Object.entries(config[MACHINES] as Record<string, Block>);
  const here = machines.map(async ([name, machine], index) => {
    const { home: _, simpleServer, ...rest } = machine;
    const servers = Object.entries((rest.inferenceServers ?? {}) as Record<string, Block>);
    const placed = servers.map(async ([key, server]) => [key, await serverHere(server, images)]);
    return [
      name,
      {
        ...rest,
        dockerHost: engines[index],
        network: `net-x${await freePort()}`,
        elevate: "none",
        ...(servers.length > 0 && {
          inferenceServers: Object.fromEntries(await Promise.all(placed)),
        }),
        ...(await serviceHere("bridge", rest.bridge, images.bridge)),
        ...(await serviceHere("chatUi", rest.chatUi, images.chatUi)),
        ...(isRecord(simpleServer) && { simpleServer: { ...simpleServer, pull: false } }),
      },
    ];
  });
  return Object.fromEntries(await Promise.all(here));
}

async function serverHere(server: Block, { vllm }: Images): Promise<Block> {
  const digest = digestOf(vllm);
  return {
    ...server,
    image: vllm.reference,
    versions: { ...(server.versions as Block), digest },
    port: await freePort(),
    // A daemon inside a sandbox may not lift the limit.
    lockedMemoryBytes: 65536,
    stopGraceSeconds: 3,
  };
}

const serviceHere = async (key: string, block: unknown, { reference }: PinnedImage) =>
  isRecord(block) ? { [key]: { ...block, image: reference, port: await freePort() } } : {};

describeEngineWithGpus("each stack file of docs/examples/, applied", () => {
  const second = new DaemonProxy(join(temporaryFolder("examples-"), "second.sock"));
  let images: Images;

  beforeAll(async () => {
    await second.start();
    const [vllm, bridge, chatUi] = await Promise.all([
      pinnedImage(),
      pinnedImage({
        ...{ programs: { litellm: WAIT }, entrypoint: ["litellm"] },
        ...{ repository: "berriai/litellm", tag: "v1.103.0" },
      }),
      pinnedImage({
        ...{ programs: { bash: WAIT }, entrypoint: ["bash"], command: ["start.sh"] },
        ...{ repository: "open-webui/open-webui", tag: "v0.11.3" },
      }),
    ]);
    images = { vllm, bridge, chatUi };
  });
  afterAll(() => second.stop());

  describe.each(EXAMPLES)("%s", (file) => {
    let workspace: Workspace;
    let containers: string[];

    beforeAll(async () => {
      const machines = await settingsHere(file, images, [DAEMON, `unix://${second.path}`]);
      const settings = parseEngineConfig({ [MACHINES]: JSON.stringify(machines) });
      containers = plan(settings, { home: "/home/me" }).machines.flatMap((machine) =>
        machine.containers.map(({ name }) => name),
      );
      workspace = await Workspace.open({
        program: machinesProgram(),
        config: { [MACHINES]: machines },
        env: { LOCAL_SERVING_BRIDGE_KEY: "sk-NoOutputMayHoldThis" },
      });
    });
    afterAll(() => workspace.close());

    it("runs every container of its plan", async () => {
      const up = await workspace.up("--skip-preview");
      expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
      const made = up.steps.filter(({ type }) => type === "docker:index/container:Container");
      expect(made).toHaveLength(containers.length);
      const states = ["inspect", "--format", "{{.State.Running}}", ...containers];
      expect(new Set((await mustRun("docker", states)).split("\n"))).toEqual(new Set(["true"]));
    });
  });
});
