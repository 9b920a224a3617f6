import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandOn } from "@local-serving/machines/onMachine";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { hostOf } from "../../../cli/sees/host";
import { HOST_FILE_SCRIPT, hostFileRequest } from "../../../components/host/hostFileRequest";
import { COMMIT, MODEL, StandInHub } from "../../cli/fetch/standInHub";
import { hubToolImage } from "../../docker/hubTool";
import { makeImage } from "../../docker/makeImage";
import { describeEngineWithDocker } from "../../engine/available";
import { Workspace } from "../../engine/workspace";
import { describeLayer } from "../../layers/describeLayer";
import { type Finished, run } from "../../layers/run";
import { listening } from "../../stand-in/listening";
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
  missing === undefined
    ? describeEngineWithDocker(name, tests)
    : describeLayer("docker", missing, name, tests);

describeMachine("a machine over ssh", () => {
  let client: Client;
  let machine: Machine;
  let workspace: Workspace;
  let image: string;

  const settings = (more: Record<string, unknown> = {}) => ({
    totalGiB: 121.63,
    dockerHost: machine.dockerHost,
    operatingSystemGiB: 4,
    instanceA: {
      port: PORT_A,
      gpuMemoryUtilization: 0.3,
      servedModelName: "old",
      maxModelLen: 131072,
    },
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
    const init = await command(
      "init",
      "--on",
      machine.dockerHost,
      "--name",
      "there",
      "--yes",
      "--format",
      "json",
    );
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

  it("fetches an image there, and not here", async () => {
    const before = await serving("fetch", "--check", "--format", "json");
    expect(JSON.parse(before.stdout), before.stderr).toMatchObject({
      complete: false,
      missing: { images: [{ image, bytes: expect.any(Number) }], models: [] },
      disks: [{ paths: [join(machine.folder, "data")] }],
    });
    const fetched = await serving("fetch");
    expect([fetched.code, fetched.stdout]).toEqual([
      0,
      expect.stringContaining("dgx has every image and model"),
    ]);
    expect(
      await machine.inside("docker", "image", "inspect", "--format", "{{.Id}}", image),
    ).toContain("sha256:");
  });

  it("fetches a model there: the token on stdin, on from where the connection was lost, nothing left by Ctrl-C", async ({
    skip,
  }) => {
    const tool = await hubToolImage("over-ssh", [
      "huggingface_hub==1.16.0",
      "typer<0.21",
      "click<8.3",
    ]);
    if (tool === undefined) return skip("huggingface_hub can't be installed from PyPI");
    const hub = new StandInHub(60_000_000);
    hub.behaviour = { bytesPerSecond: 12e6, token: "hf_GoodGoodGood1" };
    const server = await listening(
      createServer((request, response) => void hub.answer(request, response)),
      0,
      "0.0.0.0",
    );
    // The other end of the machine's cable.
    const here = new URL(machine.dockerHost).hostname.replace(/\d+$/, (last) =>
      String(Number(last) - 1),
    );
    const file = join(workspace.project, "Pulumi.fetch.yaml");
    const b = {
      model: { id: MODEL },
      servedModelName: "model",
      image: tool.reference,
      versions: {
        vllm: "0.30.0",
        transformers: "5.12.1",
        evidence: "read",
        digest: tool.digest,
        source: "test",
      },
      ...{ gpuMemoryUtilization: 0.45, maxModelLen: 4096, huggingFaceTokenVariable: "MY_TOKEN" },
    };
    const dgx = {
      totalGiB: 121.63,
      dockerHost: machine.dockerHost,
      instanceA: "none",
      inferenceServers: { b },
    };
    writeFileSync(file, JSON.stringify({ config: { "local-serving:machines": { dgx } } }));
    const env = {
      ...workspace.env,
      HF_ENDPOINT: `http://${here}:${server.port}`,
      MY_TOKEN: "hf_GoodGoodGood1",
    };
    const containers = () =>
      machine.inside("docker", "ps", "--all", "--quiet", "--filter", "name=local-serving-fetch");
    const cache = there("root/.cache/huggingface/hub/models--org--model");
    const fetching = async (whileItLoads: (child: ChildProcess) => Promise<unknown>) => {
      const child = spawn("node", ["bundle/serving.cjs", "fetch", "--file", file], {
        cwd: workspace.project,
        env,
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text) => (output += String(text)));
      const ended = once(child, "close");
      while (child.exitCode === null && (await containers()) === "") await sleep(100);
      await sleep(3000);
      await whileItLoads(child);
      const [code, signal] = await ended;
      return { code, signal, output };
    };
    const ctrlC = await fetching(async (child) => child.kill("SIGINT"));
    expect([ctrlC.signal, await containers()], ctrlC.output).toEqual(["SIGINT", ""]);
    const cut = await fetching(() => client.cut());
    const after = await run("node", ["bundle/serving.cjs", "fetch", "--file", file, "--check"], {
      cwd: workspace.project,
      env,
    });
    await server.close();
    rmSync(file);
    expect(after.stdout).toContain("dgx has every image and model");
    expect([cut.code, await containers()], cut.output).toEqual([0, ""]);
    expect(cut.output).toContain("The connection to dgx was lost.");
    expect(ctrlC.output + cut.output).not.toContain("GoodGood");
    const config = join(cache, "snapshots", COMMIT, "config.json");
    expect(existsSync(config)).toBe(true);
    // What a stopped tool had in hand is asked for again, twice at most.
    expect(hub.sent).toBeLessThan(120_000_000 + 4 * 10 * 1024 ** 2);
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
      (
        await machine.inside(
          "find",
          STATE,
          "-type",
          "f",
          "-name",
          "bridge-key*",
          "-printf",
          "%m %s\n",
        )
      ).trim(),
    ).toBe(`600 ${KEY.length}`);
  });

  it("is looked at from here by verify, doctor and inventory", async () => {
    const only = [
      "--only",
      "files,containers,network-closed,instance-a,memory",
      "--format",
      "json",
    ];
    const verified = await serving("verify", ...only);
    expect(verified.stdout, verified.stderr).not.toBe("");
    const { probes } = JSON.parse(verified.stdout) as {
      probes: readonly { name: string; status: string; detail: string }[];
    };
    const statusOf = Object.fromEntries(probes.map(({ name, status }) => [name, status]));
    expect(statusOf, JSON.stringify(probes)).toEqual({
      ...{
        files: "pass",
        containers: "pass",
        "network-closed": "pass",
        "instance-a": "pass",
        memory: "pass",
      },
    });
    expect(probes.find(({ name }) => name === "memory")?.detail).toContain(
      "of 121.6 GiB available",
    );
    const { notes, looked } = JSON.parse((await serving("doctor", "--format", "json")).stdout) as {
      notes: readonly string[];
      looked: readonly string[];
    };
    expect(looked).toEqual(
      expect.arrayContaining(["meminfo", "listening sockets", "1 containers"]),
    );
    expect(notes.join()).not.toContain("another computer");
    expect((await serving("inventory")).stdout).toContain(`litellm-${PORT_BRIDGE}`);
  });

  it("lets go of a log there that is followed no more", async () => {
    vi.stubEnv("PATH", client.path);
    const lines: string[] = [];
    const following = hostOf(machine.dockerHost).follow(
      `litellm-${PORT_BRIDGE}`,
      new Date().toISOString(),
      (line) => lines.push(line),
    );
    const followers = () => machine.inside("sh", "-c", "pgrep -f '[d]ocker logs --follow' || :");
    while ((await followers()) === "") await sleep(50);
    expect(following.ended()).toBe(false);
    following.stop();
    vi.unstubAllEnvs();
    const until = Date.now() + 5000;
    while ((await followers()) !== "" && Date.now() < until) await sleep(100);
    expect(await followers()).toBe("");
  });

  it("needs a sudo that asks nothing for Ollama's drop-in, and writes nothing without it", async () => {
    machine.keep(
      "node",
      "-e",
      'require("node:http").createServer((_, r) => r.end(`{"version":"0.34.4"}`)).listen(11434, "127.0.0.1")',
    );
    mkdirSync(there("etc/systemd/system"), { recursive: true });
    writeFileSync(there("etc/systemd/system/ollama.service"), "[Service]\nExecStart=/bin/true\n");
    mkdirSync(there("root/models"));
    const simpleServer = { mode: "host", serviceUser: "root", modelsDirectory: "/root/models" };
    configure({ simpleServer, elevate: ["sudo", "-n"] });
    const sudo = there("bin/sudo");
    writeFileSync(sudo, "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n", {
      mode: 0o755,
    });
    const dropIns = () =>
      machine.inside("sh", "-c", "ls /etc/systemd/system/ollama.service.d 2>/dev/null || :");
    const refused = await workspace.up();
    expect(refused.code).not.toBe(0);
    expect(said(refused)).toContain("sudo: a password is required");
    expect(await dropIns()).toBe("");
    writeFileSync(sudo, '#!/bin/sh\nshift\nexec "$@"\n');
    const calls = there("root/systemctl");
    writeFileSync(there("bin/systemctl"), '#!/bin/sh\necho "$*" >>/root/systemctl\n', {
      mode: 0o755,
    });
    const up = await workspace.up();
    expect(up.code, said(up)).toBe(0);
    expect(await dropIns()).toMatch(/\.conf$/);
    expect(readFileSync(calls, "utf8")).toBe("daemon-reload\nrestart -- ollama.service\n");
    expect(existsSync("/etc/systemd/system/ollama.service.d")).toBe(false);
    const { probes } = JSON.parse(
      (await serving("verify", "--only", "ollama-version,ollama-directory", "--format", "json"))
        .stdout,
    );
    expect(probes.map(({ name, status }: Record<string, string>) => `${name} ${status}`)).toEqual([
      "ollama-version pass",
      "ollama-directory pass",
    ]);
    configure();
    expect((await workspace.up()).code).toBe(0);
    expect(await dropIns()).toBe("");
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
    const clients = { codex: { server: "instance-a" }, opencode: { server: "instance-a" } };
    configure({ clients: { ...clients, on: "here" } });
    const moved = await workspace.up();
    expect(moved.code, said(moved)).toBe(0);
    expect(readFileSync(here, "utf8")).toContain(
      `http://${new URL(machine.dockerHost).hostname}:${PORT_A}/v1`,
    );
    expect(existsSync(join(workspace.home, ".local/bin/local-codex"))).toBe(true);
    expect(readFileSync(there(PROFILE), "utf8")).toBe("# my own\n");
    expect(existsSync(there("root/.local/bin"))).toBe(false);
    configure({ clients });
    const back = await workspace.up();
    expect(back.code, said(back)).toBe(0);
    expect(existsSync(here)).toBe(false);
    expect(existsSync(join(workspace.home, ".local/bin"))).toBe(false);
    expect(readFileSync(there(PROFILE), "utf8")).toContain("model");
  });

  it("reads it, and not this computer, before it changes anything", async () => {
    configure({
      instanceA: {
        port: PORT_A,
        gpuMemoryUtilization: 0.2,
        servedModelName: "old",
        maxModelLen: 131072,
      },
    });
    const refused = await workspace.up();
    expect(said(refused)).toContain(
      `Instance A on port ${PORT_A} runs with utilization 0.3, and 0.2 is declared`,
    );
    configure({ totalGiB: 64 });
    expect(said(await workspace.up())).toContain("121.63");
    configure();
  });

  it("keeps a file whole when the connection is cut while it is written", async () => {
    const path = "/root/cut/file";
    const request = hostFileRequest({
      path,
      mode: "0600",
      holder: "urn:pulumi:a::b::c",
      content: "x".repeat(200_000),
    });
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
    await client.cut();
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
