import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { HOST_FILE_SCRIPT, hostFileRequest } from "../../../components/host/hostFileRequest";
import { commandOn } from "../../../components/host/onMachine";
import { makeImage } from "../../docker/makeImage";
import { describeEngineWithDocker } from "../../engine/available";
import { Workspace } from "../../engine/workspace";
import { describeLayer } from "../../layers/describeLayer";
import { type Finished, run } from "../../layers/run";
import { type Client, type Machine, machineMissing, makeClient, startMachine } from "./machine";

const KEY = "s3cret-NoOutputMayHoldThis";
const PORT_A = 8999;
const PORT_BRIDGE = 8998;
/** Stands for LiteLLM: it stays up, and that is all. */
const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";
/** How instance A looks to who reads its command line. */
const INSTANCE_A = `require("node:http").createServer((_, r) => r.end(JSON.stringify({ data: [{ id: "old" }] }))).listen(${PORT_A}, "0.0.0.0")`;

const said = ({ stdout, stderr }: Finished) => stdout + stderr;

const missing = machineMissing();
const describeMachine = (name: string, tests: () => void) =>
  missing === undefined ? describeEngineWithDocker(name, tests) : describeLayer("docker", missing, name, tests);

describeMachine("a machine over ssh", () => {
  let client: Client;
  let machine: Machine;
  let workspace: Workspace;
  let image: string;

  const settings = (more: Record<string, unknown> = {}) => ({
    totalGiB: 121.63,
    dockerHost: machine.dockerHost,
    operatingSystemGiB: 4,
    instanceA: { port: PORT_A, gpuMemoryUtilization: 0.3, servedModelName: "old", maxModelLen: 131072 },
    bridge: { image, port: PORT_BRIDGE, servers: ["instance-a"], keyVariable: "BRIDGE_KEY" },
    clients: { codex: { server: "instance-a" } },
    ...more,
  });
  const configure = (more?: Record<string, unknown>) =>
    workspace.configure({ "local-serving:machines": { dgx: settings(more) } });
  /** A path of the machine, as seen from here. */
  const there = (path: string) => join(machine.own, path);
  const STATE = "/root/.local/share/local-serving/dgx";
  const PROFILE = "/root/.codex/local-serving.config.toml";

  beforeAll(async () => {
    client = await makeClient();
    const layer = inject("dockerLayer");
    image = (
      await makeImage(layer, {
        repository: "berriai/litellm",
        tag: "v1",
        entrypoint: ["litellm"],
        programs: { litellm: WAIT },
      })
    ).reference;
    machine = await startMachine(client, layer.missing === undefined ? layer.registry : "");
    machine.keep("node", "-e", INSTANCE_A, "vllm", "serve", "org/m", "--gpu-memory-utilization", "0.3");
    workspace = await Workspace.open({ env: { PATH: client.path, BRIDGE_KEY: KEY } });
    configure();
  });
  afterAll(async () => {
    await workspace?.close();
    await machine?.close();
    await client?.close();
  });

  const command = (...args: string[]) =>
    run("node", ["bundle/serving.cjs", ...args], { cwd: workspace.project, env: workspace.env });
  const serving = (...args: string[]) => command(...args, "--stack", workspace.stack);

  it("is refused while its host key is unknown, then while it is another one, and nothing is made", async () => {
    const unknown = await workspace.up();
    expect(said(unknown)).toContain("No host key of dgx");
    expect(said(unknown)).toContain(`ssh root@${new URL(machine.dockerHost).hostname}`);
    const [address = ""] = machine.hostKey.split(" ");
    client.knows(`${address} ${readFileSync(`${client.key}.pub`, "utf8").trim()}`);
    const changed = await workspace.up();
    expect(said(changed)).toContain("The host key of dgx");
    expect(existsSync(there(STATE))).toBe(false);
    client.knows(machine.hostKey);
  });

  it("is refused while its login is, and nothing is made", async () => {
    const authorized = there("root/.ssh/authorized_keys");
    const keys = readFileSync(authorized, "utf8");
    writeFileSync(authorized, "");
    const denied = await workspace.up();
    writeFileSync(authorized, keys);
    expect(said(denied)).toContain("refuses the login: Permission denied (publickey");
    expect(existsSync(there(STATE))).toBe(false);
  });

  it("is looked at by init, which writes the stack file here and nothing there", async () => {
    const before = await machine.inside("find", "/root", "-type", "f");
    const init = await command("init", "--on", machine.dockerHost, "--name", "there", "--yes", "--format", "json");
    expect(init.stdout, init.stderr).not.toBe("");
    const { file, facts } = JSON.parse(init.stdout);
    expect(facts).toMatchObject({
      dockerHost: machine.dockerHost,
      memory: { totalGiB: 121.63, availableGiB: 119.21 },
      docker: { reachable: true, ours: [] },
      servers: [{ port: PORT_A, share: 0.3, shareFrom: "argv" }],
      modelCache: { path: "/root/.cache/huggingface", usual: true, models: [] },
    });
    expect(facts).not.toHaveProperty("home");
    const written = readFileSync(file, "utf8");
    expect(written).toContain(`dockerHost: ${machine.dockerHost}\n`);
    expect(written).toContain("gpuMemoryUtilization: 0.3\n");
    expect((await command("plan", "--file", file)).code).toBe(0);
    rmSync(file);
    expect(await machine.inside("find", "/root", "-type", "f")).toBe(before);
  });

  it("is set up from here: every file there and none here, the container in its Docker", async () => {
    mkdirSync(there("root/.codex"), { recursive: true });
    writeFileSync(there(PROFILE), "# my own\n");
    const up = await workspace.up();
    expect(up.code, said(up)).toBe(0);
    expect(said(up)).not.toContain(KEY);
    expect(readFileSync(there(PROFILE), "utf8")).toContain("model");
    expect(readFileSync(there(`${STATE}/applied-plan.json`), "utf8")).toContain('"dockerHost"');
    const names = await machine.inside("docker", "ps", "--format", "{{.Names}}");
    expect(names).toBe(`litellm-${PORT_BRIDGE}`);
    expect(existsSync(join(workspace.home, ".codex"))).toBe(false);
    expect(existsSync(PROFILE)).toBe(false);
    expect(
      (await machine.inside("find", STATE, "-type", "f", "-name", "bridge-key*", "-printf", "%m %s\n")).trim(),
    ).toBe(`600 ${KEY.length}`);
  });

  it("is looked at from here by verify, doctor and inventory", async () => {
    const only = ["--only", "files,containers,network-closed,instance-a,memory", "--format", "json"];
    const verified = await serving("verify", ...only);
    expect(verified.stdout, verified.stderr).not.toBe("");
    const { probes } = JSON.parse(verified.stdout) as {
      probes: readonly { name: string; status: string; detail: string }[];
    };
    const statusOf = Object.fromEntries(probes.map(({ name, status }) => [name, status]));
    expect(statusOf, JSON.stringify(probes)).toEqual({
      ...{ files: "pass", containers: "pass", "network-closed": "pass", "instance-a": "pass", memory: "pass" },
    });
    expect(probes.find(({ name }) => name === "memory")?.detail).toContain("of 121.6 GiB available");
    const { notes, looked } = JSON.parse((await serving("doctor", "--format", "json")).stdout) as {
      notes: readonly string[];
      looked: readonly string[];
    };
    expect(looked).toEqual(expect.arrayContaining(["meminfo", "listening sockets", "1 containers"]));
    expect(notes.join()).not.toContain("another computer");
    expect((await serving("inventory")).stdout).toContain(`litellm-${PORT_BRIDGE}`);
  });

  it("changes nothing when nothing changed, and only what a change touches", async () => {
    const same = await workspace.up();
    expect(same.steps.map(({ op }) => op).filter((op) => op !== "same")).toEqual([]);
    configure({ clients: { codex: { server: "instance-a" }, opencode: { server: "instance-a" } } });
    const more = await workspace.up();
    expect(more.code, said(more)).toBe(0);
    expect(existsSync(there("root/.local/bin/local-opencode"))).toBe(true);
    expect(more.steps.filter(({ op }) => /replace|delete/.test(op))).toEqual([]);
  });

  it("moves the clients' files here and back, and none stays behind", async () => {
    const here = join(workspace.home, ".codex/local-serving.config.toml");
    configure({ clients: { on: "here", codex: { server: "instance-a" } } });
    const moved = await workspace.up();
    expect(moved.code, said(moved)).toBe(0);
    expect(readFileSync(here, "utf8")).toContain(`http://${new URL(machine.dockerHost).hostname}:${PORT_A}/v1`);
    expect(existsSync(join(workspace.home, ".local/bin/local-codex"))).toBe(true);
    expect(readFileSync(there(PROFILE), "utf8")).toBe("# my own\n");
    expect(existsSync(there("root/.local/bin"))).toBe(false);
    configure();
    const back = await workspace.up();
    expect(back.code, said(back)).toBe(0);
    expect(existsSync(here)).toBe(false);
    expect(existsSync(join(workspace.home, ".local/bin"))).toBe(false);
    expect(readFileSync(there(PROFILE), "utf8")).toContain("model");
  });

  it("reads it, and not this computer, before it changes anything", async () => {
    configure({ instanceA: { port: PORT_A, gpuMemoryUtilization: 0.2, servedModelName: "old", maxModelLen: 131072 } });
    const refused = await workspace.up();
    expect(said(refused)).toContain(`Instance A on port ${PORT_A} runs with utilization 0.3, and 0.2 is declared`);
    configure({ totalGiB: 64 });
    expect(said(await workspace.up())).toContain("121.63");
    configure();
  });

  it("keeps a file whole when the connection is cut while it is written", async () => {
    const path = "/root/cut/file";
    const request = hostFileRequest({ path, mode: "0600", holder: "urn:pulumi:a::b::c", content: "x".repeat(200_000) });
    const words = commandOn(machine, ["sh", "-c", HOST_FILE_SCRIPT, "host-file", "write"]);
    const writing = spawn(words[0] ?? "", words.slice(1), {
      env: { ...process.env, PATH: client.path },
      stdio: ["pipe", "ignore", "pipe"],
    });
    writing.stdin.write(request.slice(0, 100_000));
    const temporary = async () => machine.inside("sh", "-c", "ls -A /root/cut 2>/dev/null || :");
    while (!(await temporary()).includes("file.local-serving.")) await sleep(50);
    writing.kill("SIGKILL");
    await once(writing, "close");
    while ((await temporary()).includes("file.local-serving.")) await sleep(50);
    expect(existsSync(there(path))).toBe(false);
  });

  it("that is off is previewed all the same; `up` says how to look, and goes on when it is back", async () => {
    await run("ssh", ["-O", "exit", "--", machine.dockerHost], { env: { PATH: client.path } });
    await machine.cable("down");
    const preview = await workspace.preview();
    expect(preview.code, said(preview)).toBe(0);
    expect(said(preview)).toContain("can't be reached over ssh");
    expect((await workspace.up()).code).not.toBe(0);
    await machine.cable("up");
    const up = await workspace.up();
    expect(up.code, said(up)).toBe(0);
  });

  it("is taken down from here, and what was there before comes back", async () => {
    const down = await workspace.destroy();
    expect(down.code, said(down)).toBe(0);
    expect(readFileSync(there(PROFILE), "utf8")).toBe("# my own\n");
    expect(await machine.inside("docker", "ps", "--all", "--quiet")).toBe("");
    expect(existsSync(there("root/.local"))).toBe(false);
  });
});
