import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { makeImage } from "../../docker/makeImage";
import { describeEngineWithDocker } from "../../engine/available";
import { Workspace } from "../../engine/workspace";
import type { Finished } from "../../layers/run";
import { type Client, type Machine, makeClient, startMachine } from "./machine";

const PORT_A = 8999;
/** Stands for LiteLLM: it stays up, and that is all. */
const STAYS = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";
const INSTANCE_A = `require("node:http").createServer((_, r) => r.end()).listen(${PORT_A}, "0.0.0.0")`;

const said = ({ stdout, stderr }: Finished) => stdout + stderr;

describeEngineWithDocker("two machines over ssh, driven from a third place", () => {
  let client: Client;
  let first: Machine;
  let second: Machine;
  let workspace: Workspace;
  let image: string;

  const configure = (clients: readonly string[], services: Readonly<Record<string, unknown>>) => {
    const machine = ({ dockerHost }: Machine) => ({
      ...{ totalGiB: 121.63, dockerHost, operatingSystemGiB: 4 },
      instanceA: {
        port: PORT_A,
        gpuMemoryUtilization: 0.3,
        servedModelName: "old",
        maxModelLen: 131072,
      },
    });
    const asked = Object.fromEntries(clients.map((key) => [key, { server: "instance-a" }]));
    workspace.configure({
      "local-serving:machines": {
        first: { ...machine(first), clients: asked },
        second: { ...machine(second), ...services },
      },
    });
  };
  const launcher = (name: string) => join(first.own, `root/.local/bin/local-${name}`);
  const containers = () => second.inside("docker", "ps", "--format", "{{.Names}}");

  beforeAll(async () => {
    client = await makeClient();
    const layer = inject("dockerLayer");
    const programs = { litellm: STAYS };
    const made = { repository: "berriai/litellm", tag: "v1", entrypoint: ["litellm"], programs };
    image = (await makeImage(layer, made)).reference;
    const registry = layer.missing === undefined ? layer.registry : "";
    first = await startMachine(client, registry);
    second = await startMachine(client, registry);
    for (const machine of [first, second])
      machine.keep(
        "node",
        "-e",
        INSTANCE_A,
        "vllm",
        "serve",
        "org/m",
        "--gpu-memory-utilization",
        "0.3",
      );
    client.knows(first.hostKey, second.hostKey);
    workspace = await Workspace.open({ env: { PATH: client.path } });
    configure(["codex"], { clients: { pi: { server: "instance-a" } } });
  });
  afterAll(async () => {
    await workspace?.close();
    await Promise.all([first?.close(), second?.close()]);
    await client?.close();
  });

  it("are set up by one update, each its own part", async () => {
    const up = await workspace.up("--continue-on-error");
    expect(up.code, said(up)).toBe(0);
    expect(existsSync(launcher("codex"))).toBe(true);
    expect(existsSync(join(second.own, "root/.local/bin/local-pi"))).toBe(true);
    expect(existsSync(join(second.own, "root/.local/bin/local-codex"))).toBe(false);
    expect(existsSync(launcher("pi"))).toBe(false);
  });

  it("finish the one that stays, when the other is cut off in the middle", async () => {
    configure(["codex", "opencode"], { bridge: { image, port: 8997, servers: ["instance-a"] } });
    const updating = workspace.up("--continue-on-error");
    while (!existsSync(launcher("opencode"))) await sleep(50);
    await second.cable("down");
    const up = await updating;
    expect(up.code).not.toBe(0);
    expect(said(up)).toMatch(/second-\S+.*\*\*\w+ failed\*\*/);
    expect(said(up)).not.toMatch(/first-\S+.*\*\*\w+ failed\*\*/);
  });

  it("are finished by the next update", async () => {
    await second.cable("up");
    const up = await workspace.up("--continue-on-error");
    expect(up.code, said(up)).toBe(0);
    expect(await containers()).toBe("litellm-8997");
    const touched = up.steps.filter(({ op }) => op !== "same").map(({ name }) => name);
    expect(touched.filter((name) => name.startsWith("first"))).toEqual([]);
  });

  it("are taken down together", async () => {
    const down = await workspace.destroy("--continue-on-error");
    expect(down.code, said(down)).toBe(0);
    expect(await second.inside("docker", "ps", "--all", "--quiet")).toBe("");
    expect(existsSync(join(first.own, "root/.local"))).toBe(false);
  });
});
