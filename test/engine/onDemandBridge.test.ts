import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { statusOf } from "../docker/statusOf";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { type UnitPrograms, unitPrograms } from "./on-demand/unitPrograms";
import { expectQuiet, succeeded } from "./quiet";
import { type StackParts, stackConfig } from "./stackConfig";
import type { Update } from "./update";
import { Workspace } from "./workspace";

const KEY = "s3cret-NoOutputMayHoldThis";
const OTHER_KEY = "s3cret-NorMayItHoldThisOne";

/** Stands for LiteLLM and Open WebUI: it stays up, and that is all. */
const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";

describeEngineWithGpus("models on demand behind a bridge", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let bridgeImage: PinnedImage;
  let chatUiImage: PinnedImage;
  let programs: UnitPrograms;
  let folder: string;
  let port: number;
  let bridgePort: number;
  let chatUiPort: number;
  // Test files share one daemon, and each network needs addresses of its own.
  const net = (fourth: number) => `10.213.${parts.portB % 250}.${fourth}`;
  const config = (subnet: string) =>
    stackConfig(
      parts,
      { start: "onRequest" },
      {
        instanceA: "none",
        onDemand: {
          port,
          program: programs.program,
          keyVariable: "ON_DEMAND_KEY",
          subnet,
        },
        bridge: { image: bridgeImage.reference, port: bridgePort, servers: ["b"] },
        chatUi: { image: chatUiImage.reference, port: chatUiPort, connections: ["b"] },
      },
    );
  const network = () => `net-${parts.unique}-on-demand`;
  const atHome = (...names: string[]) => join(workspace.home, ...names);
  const machine = (...names: string[]) => atHome(".local/share/local-serving/dgx", ...names);
  const bridge = () => `litellm-${bridgePort}`;
  const inspect = async (container: string, format: string) =>
    (await mustRun("docker", ["inspect", "--format", format, container])).trim();
  const server = () => inspect(`vllm-model-${parts.unique}-${parts.portB}`, "{{.Id}}");
  const restarts = () =>
    programs.calls(workspace.home).filter((call) => call.includes(" restart ")).length;
  /** What changed, without the machine's facts and its copy of the plan. */
  const steps = ({ steps: all }: Update) =>
    [...new Set(all.map(({ op, name }) => `${op} ${name}`))]
      .filter((step) => !/ dgx$| dgx-applied-plan$/.test(step))
      .sort();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "on-demand-"));
    programs = unitPrograms(folder);
    const portB = await freePort();
    [port, bridgePort, chatUiPort] = [await freePort(), await freePort(), await freePort()];
    parts = { image: await pinnedImage(), portA: await freePort(), portB, unique: `e${portB}` };
    bridgeImage = await pinnedImage({
      ...{ programs: { litellm: WAIT }, entrypoint: ["litellm"] },
      ...{ repository: "berriai/litellm", tag: "v1.103.0" },
    });
    chatUiImage = await pinnedImage({
      ...{ programs: { bash: WAIT }, entrypoint: ["bash"], command: ["start.sh"] },
      ...{ repository: "open-webui/open-webui", tag: "v0.12.4" },
    });
    workspace = await Workspace.open({
      config: config(`${net(0)}/28`),
      env: { PATH: `${programs.bin}:${process.env.PATH}`, ON_DEMAND_KEY: KEY },
    });
    succeeded(await workspace.up("--skip-preview"));
  });
  afterAll(async () => {
    await workspace?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it("are asked over a network of their own, on whose first address llama-swap listens", async () => {
    expect(await statusOf(`http://${net(1)}:${port}/health`)).toBe(200);
    expect(await statusOf(`http://127.0.0.1:${port}/health`)).not.toBe(200);
    const networks = JSON.parse(await inspect(bridge(), "{{json .NetworkSettings.Networks}}"));
    expect(Object.keys(networks).sort()).toEqual([`net-${parts.unique}`, network()]);
    await expectQuiet(workspace);
  });

  it("reach llama-swap from both containers and the machine, with the key, and from nowhere else", async () => {
    const url = `http://${net(1)}:${port}/running`;
    const asks = (key: string) =>
      `fetch("${url}", { headers: { authorization: "Bearer " + ${key} }, signal: AbortSignal.timeout(5000) }).then((r) => console.log(r.status), () => console.log("no way"))`;
    const keyInside = 'require("fs").readFileSync("/run/secrets/on-demand-key", "utf8")';
    const within = async (container: string, key: string) =>
      (await mustRun("docker", ["exec", container, "node", "-e", asks(key)])).trim();
    for (const container of [bridge(), `open-webui-${chatUiPort}`])
      expect(await within(container, keyInside), container).toBe("200");
    expect((await mustRun("node", ["-e", asks(JSON.stringify(KEY))])).trim()).toBe("200");
    // The stand-in of llama-swap asks for no key.
    if (process.env.LLAMA_SWAP !== undefined)
      expect(await within(bridge(), '"another"')).toBe("401");
    const elsewhere = ["run", "--rm", "--network", "none", "--entrypoint", "node"];
    const args = [bridgeImage.reference, "-e", asks(JSON.stringify(KEY))];
    expect((await mustRun("docker", [...elsewhere, ...args])).trim()).toBe("no way");
  });

  it("have a key that only its file and the bridge's mount hold", async () => {
    const file = machine("secrets/on-demand-key");
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([KEY, 0o600]);
    const seen = [
      await mustRun("docker", ["inspect", bridge()]),
      await workspace.state(),
      JSON.stringify(await workspace.outputs()),
      ...readdirSync(machine("on-demand"))
        .filter((name) => /\.(yaml|json|py)$/.test(name))
        .map((name) => readFileSync(machine("on-demand", name), "utf8")),
      readFileSync(machine("applied-plan.json"), "utf8"),
    ];
    for (const text of seen) expect(text).not.toContain(KEY);
  });

  it("take another key: unit and bridge start anew, no server does, and no output has it", async () => {
    const before = [await inspect(bridge(), "{{.Id}}"), await server()];
    const times = restarts();
    Object.assign(workspace.env, { ON_DEMAND_KEY: OTHER_KEY });
    const update = await workspace.up("--skip-preview", "--diff");
    succeeded(update);
    expect(steps(update)).toEqual([
      ...["create-replacement", "delete-replaced", "replace"].flatMap((op) => [
        `${op} dgx-bridge`,
        `${op} dgx-chat-ui`,
      ]),
      "update dgx-on-demand-key",
      "update dgx-on-demand-unit",
    ]);
    expect(restarts()).toBe(times + 1);
    expect([await inspect(bridge(), "{{.Id}}"), await server()]).toEqual([
      expect.not.stringContaining(before[0] ?? ""),
      before[1],
    ]);
    expect(`${update.stdout}${update.stderr}${await workspace.state()}`).not.toContain(OTHER_KEY);
    await expectQuiet(workspace);
  });

  it("move to another subnet, the bridge with them", async () => {
    workspace.configure(config(`${net(16)}/28`));
    const before = await server();
    const times = restarts();
    succeeded(await workspace.up("--skip-preview"));
    expect(await statusOf(`http://${net(17)}:${port}/health`)).toBe(200);
    expect([await server(), restarts()]).toEqual([before, times + 1]);
    expect(
      await mustRun("docker", [
        "network",
        "inspect",
        "--format",
        "{{json .IPAM.Config}}",
        network(),
      ]),
    ).toContain(`"Subnet":"${net(16)}/28"`);
    await expectQuiet(workspace);
  });

  it("refuse a subnet that another network has, before anything is touched", async () => {
    const other = `${network()}-other`;
    await mustRun("docker", ["network", "create", "--subnet", `${net(32)}/28`, other]);
    try {
      workspace.configure(config(`${net(32)}/27`));
      const { code, stdout } = await workspace.up("--skip-preview");
      expect(code).not.toBe(0);
      expect(stdout).toContain(
        `The subnet ${net(32)}/27 between llama-swap and the containers that ask it overlaps the Docker network ${other} (${net(32)}/28): write another private one as \`onDemand.subnet\``,
      );
      expect(await statusOf(`http://${net(17)}:${port}/health`)).toBe(200);
    } finally {
      await mustRun("docker", ["network", "rm", other]);
      workspace.configure(config(`${net(16)}/28`));
    }
  });

  it("leave nothing where the stack goes", async () => {
    succeeded(await workspace.destroy("--skip-preview"));
    const names = await mustRun("docker", ["network", "ls", "--format", "{{.Name}}"]);
    expect(names).not.toContain(`net-${parts.unique}`);
    expect([".local", ".config"].filter((name) => existsSync(atHome(name)))).toEqual([]);
    expect(programs.calls(workspace.home).at(-1)).toBe("systemctl --user daemon-reload");
  });
});
