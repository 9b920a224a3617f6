import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { makeImage } from "../../docker/makeImage";
import { describeEngineWithDocker } from "../../engine/available";
import { writeStackFile } from "../../engine/stackFile";
import { Workspace } from "../../engine/workspace";
import { describeLayer } from "../../layers/describeLayer";
import { run } from "../../layers/run";
import { type Client, type Machine, machineMissing, makeClient, startMachine } from "./machine";
import { Terminal } from "./terminal";

const PORT_A = 8999;
/** Stands for LiteLLM: it stays up, and that is all. */
const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";
const INSTANCE_A = `require("node:http").createServer((_, r) => r.end(JSON.stringify({ data: [{ id: "old" }] }))).listen(${PORT_A}, "0.0.0.0")`;
/** A GPU that is warmer and faster each time. */
const NVIDIA_SMI = `#!/bin/sh
n=$(cat /run/looks 2>/dev/null || echo 0)
echo $((n + 1)) >/run/looks
echo "96, $((2000 + n)), $((60 + n)), 31.40, Not Active, Not Active, Not Active"
`;

const CTRL_C = "\u0003";
const SIGINT = 2;
/** ANSI: hides the cursor. */
const HIDES_THE_CURSOR = "\u001b[?25l";

const missing =
  machineMissing() ??
  (spawnSync("python3", ["--version"]).error === undefined ? undefined : "no python3");
const describeMachine = (name: string, tests: () => void) =>
  missing === undefined
    ? describeEngineWithDocker(name, tests)
    : describeLayer("docker", missing, name, tests);

describeMachine("status --watch", () => {
  let client: Client;
  let machine: Machine;
  let workspace: Workspace;
  /** A stack file for the machine itself. */
  let boxFile: string;

  beforeAll(async () => {
    client = await makeClient();
    const layer = inject("dockerLayer");
    const { reference: image } = await makeImage(layer, {
      repository: "berriai/litellm",
      tag: "v1",
      entrypoint: ["litellm"],
      programs: { litellm: WAIT },
    });
    machine = await startMachine(client, layer.missing === undefined ? layer.registry : "");
    client.knows(machine.hostKey);
    writeFileSync(join(machine.own, "bin/nvidia-smi"), NVIDIA_SMI, { mode: 0o755 });
    machine.keep(
      "node",
      "-e",
      INSTANCE_A,
      "vllm",
      "serve",
      "old",
      "--gpu-memory-utilization",
      "0.3",
    );
    workspace = await Workspace.open({
      env: { PATH: client.path, BRIDGE_KEY: "s3cret-NoOutputMayHoldThis" },
    });
    const dgx = {
      totalGiB: 121.63,
      operatingSystemGiB: 4,
      instanceA: {
        port: PORT_A,
        gpuMemoryUtilization: 0.3,
        servedModelName: "old",
        maxModelLen: 131072,
      },
      bridge: { image, port: 8998, servers: ["instance-a"], keyVariable: "BRIDGE_KEY" },
    };
    workspace.configure({
      "local-serving:machines": { dgx: { ...dgx, dockerHost: machine.dockerHost } },
    });
    boxFile = join(workspace.root, "Pulumi.box.yaml");
    writeStackFile(boxFile, { "local-serving:machines": { dgx } });
    const up = await workspace.up();
    expect(up.code, up.stdout + up.stderr).toBe(0);
  });
  afterAll(async () => {
    await workspace?.close();
    await machine?.close();
    await client?.close();
  });

  const onLaptop = (...words: string[]) =>
    new Terminal(words, { cwd: workspace.project, env: { ...process.env, ...workspace.env } });
  const watching = () =>
    onLaptop("node", "bundle/serving.cjs", "status", "--watch", "--stack", workspace.stack);
  const watchingOnTheBox = () => {
    const program = join(workspace.project, "bundle/serving.cjs");
    const words = ["node", program, "status", "--watch", "--file", boxFile];
    return onLaptop("ssh", "-tt", machine.dockerHost, ...words);
  };
  /** What the GPU's line says on the next screens. */
  const nextScreens = async (terminal: Terminal, count: number) => {
    const seen: (string | undefined)[] = [];
    while (seen.length < count) {
      await terminal.wrote("drift: as it was applied", terminal.written.length);
      seen.push(terminal.lines().find((line) => line.includes("GPU")));
    }
    return seen;
  };
  const handshakes = () =>
    readFileSync(join(machine.folder, "sshd.log"), "utf8").split("Accepted publickey").length - 1;
  /** Every ssh of the laptop's but the one that all share for a minute. */
  const sshOfTheLaptop = async () => {
    const { stdout } = await run("pgrep", ["--list-full", "--full", client.folder]);
    return stdout.split("\n").filter((line) => line.includes("ssh") && !line.endsWith("[mux]"));
  };
  const screenOf = (look: number) => [
    "dgx",
    "  MemAvailable 119.2 of 121.6 GiB",
    `  GPU 96 % busy, ${2000 + look} MHz, ${60 + look} °C, 31.4 W`,
    "              state     for",
    expect.stringMatching(/^ {2}bridge {6}starting {2}\d+ s$/),
    "  instance-a  ready",
    "  drift: as it was applied",
  ];
  const gpuLines = (first: number, count: number) =>
    Array.from({ length: count }, (_, at) => screenOf(first + at)[2]);

  it("shows a machine over ssh again and again, without a new login, until Ctrl-C", async () => {
    const terminal = watching();
    expect(await nextScreens(terminal, 1)).toEqual(gpuLines(0, 1));
    const before = handshakes();
    expect(await nextScreens(terminal, 3)).toEqual(gpuLines(1, 3));
    expect(terminal.lines()).toEqual(screenOf(3));
    expect(handshakes() - before).toBe(0);
    terminal.type(CTRL_C);
    expect(await terminal.closed()).toEqual({ code: null, signal: SIGINT, sane: true });
    expect(terminal.written).not.toContain(HIDES_THE_CURSOR);
    expect(terminal.lines().slice(-2)).toEqual(["  drift: as it was applied", "^C"]);
    expect(await sshOfTheLaptop()).toEqual([]);
  });

  it("goes on where the connection was lost, and says so where it doesn't come back", async () => {
    const terminal = watching();
    await nextScreens(terminal, 1);
    await client.cut();
    const tunnel = await run("pgrep", ["--full", `${client.folder}/config -N`]);
    process.kill(Number(tunnel.stdout), "SIGKILL");
    await nextScreens(terminal, 2);
    await machine.cable("down");
    const from = terminal.written.length;
    await terminal.wrote("No answer for 5 s: this is what was seen before.", from);
    expect(terminal.lines()).toContain("  instance-a  ready");
    await terminal.wrote("can't be reached over ssh", from);
    const { dockerHost } = machine;
    expect(terminal.lines().join(" ").replace(/ +/g, " ")).toBe(
      `dgx dgx (${dockerHost}) can't be reached over ssh: no answer within 30 s. Try \`${dockerHost.replace("ssh://", "ssh ")}\`.`,
    );
    await machine.cable("up");
    await nextScreens(terminal, 2);
    terminal.type(CTRL_C);
    expect(await terminal.closed()).toEqual({ code: null, signal: SIGINT, sane: true });
    expect(await sshOfTheLaptop()).toEqual([]);
  });

  it("is run on the machine itself through ssh -tt, until Ctrl-C", async () => {
    writeFileSync(join(machine.own, "run/looks"), "0");
    const terminal = watchingOnTheBox();
    expect(await nextScreens(terminal, 4)).toEqual(gpuLines(0, 4));
    expect(terminal.lines()).toEqual(screenOf(3));
    terminal.type(CTRL_C);
    // ssh has no code of its own for a program that a signal ended.
    expect(await terminal.closed()).toEqual({ code: 255, signal: null, sane: true });
    expect(terminal.written).not.toContain(HIDES_THE_CURSOR);
    expect(await watchersOnTheBox()).toBe("");
    expect(await sshOfTheLaptop()).toEqual([]);
  });

  it("ends on the machine when the terminal there is lost", async () => {
    const terminal = watchingOnTheBox();
    await nextScreens(terminal, 1);
    expect(await watchersOnTheBox()).not.toBe("");
    await machine.inside("pkill", "--full", "sshd: root@pts");
    expect(await terminal.closed()).toEqual({ code: 255, signal: null, sane: true });
    while ((await watchersOnTheBox()) !== "") await sleep(50);
  });

  const watchersOnTheBox = () =>
    machine.inside("sh", "-c", "pgrep --full '[s]erving.cjs status --watch' || :");
});
