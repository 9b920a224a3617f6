import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { keepPassed } from "../../../cli/verify/lastVerify";
import { environmentIn } from "../../../components/host/systemdText";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import type { PlannedContainer } from "../../../components/planned/container";
import { loadStackFile } from "../../../components/settings/load";
import { type HostProcess, startInstanceA } from "../../engine/instanceA";
import { TOTAL_GIB } from "../../engine/stackConfig";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";
import { FakeSsh } from "../../layers/fakeSsh";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker, inspectedAsPlanned } from "../fakeDocker";
import { runServing } from "../runServing";

const SECRET = "THE0secret0that0nobody0may0see";
const B = "vllm-model-8001";

let instanceA: HostProcess;
let portA: number;
const processes: ChildProcess[] = [];
beforeAll(async () => {
  portA = await freePort();
  instanceA = await startInstanceA(portA, 0.02);
});
afterAll(() => {
  instanceA.stop();
  for (const each of processes) each.kill("SIGKILL");
});

/** A process with these variables. */
function runningWith(env: Readonly<Record<string, string>>): string {
  const child = spawn("/bin/sleep", ["600"], { env, stdio: "ignore" });
  processes.push(child);
  return String(child.pid);
}

/**
 * A machine in a folder of its own, on which everything is as it was applied, until a test changes
 * that.
 */
class Machine {
  readonly home = temporaryFolder("drift-");
  readonly file = join(this.home, "Pulumi.dgx.yaml");
  readonly plan: MachinePlan;
  readonly ssh = new FakeSsh();
  readonly env = { HOME: this.home, XDG_STATE_HOME: join(this.home, "state") };
  /** What Docker has, by name. */
  readonly containers = new Map<string, ReturnType<typeof inspectedAsPlanned>>();
  /** Docker's networks. */
  networks = ["bridge", "local-serving"];
  /** What systemd says of Ollama's unit; `undefined` where there is no systemd. */
  unit: Record<string, string> | undefined;

  constructor(more: Record<string, unknown> = {}) {
    this.declare(more);
    const [machine] = plan(loadStackFile(this.file), { home: this.home }).machines;
    if (machine?.simpleServer.mode !== "host") throw new Error("no machine with an Ollama");
    this.plan = machine;
    for (const { path, mode, text } of machine.files) this.write(path, mode, text);
    for (const { path, mode } of machine.secretFiles) this.write(path, mode, SECRET);
    for (const container of machine.containers)
      this.containers.set(container.name, inspectedAsPlanned(container));
    const { text } = machine.simpleServer.dropIn;
    const lines = [...text.matchAll(/^Environment=(.*)$/gm)].map(([, words]) => words);
    this.unit = {
      ...{
        Environment: `OTHER=${SECRET} ${lines.join(" ")}`,
        ActiveState: "active",
        NeedDaemonReload: "no",
      },
      MainPID: runningWith({ ...environmentIn(text), OTHER: SECRET }),
    };
  }

  declare(machine: Record<string, unknown>, server: Record<string, unknown> = {}): void {
    const dgx = {
      totalGiB: TOTAL_GIB,
      instanceA: { gpuMemoryUtilization: 0.02, port: portA },
      inferenceServers: {
        b: serverInput({
          gpuMemoryUtilization: 0.02,
          huggingFaceTokenVariable: "HF_TOKEN",
          ...server,
        }),
      },
      bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" },
      chatUi: CHAT_UI,
      clients: { codex: {} },
      simpleServer: { mode: "host", systemdDirectory: join(this.home, "systemd"), keepAlive: "5m" },
      ...("dockerHost" in machine ? { home: this.home } : {}),
      ...machine,
    };
    writeFileSync(this.file, stringify({ config: { "local-serving:machines": { dgx } } }));
  }

  write(path: string, mode: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, Number.parseInt(mode, 8));
  }

  path(role: string): string {
    const found = [...this.plan.files, ...this.plan.secretFiles].find((each) => each.role === role);
    if (found === undefined) throw new Error(`no file ${role}`);
    return found.path;
  }

  /** Another container than planned runs under the name of one. */
  runs(name: string, change: Partial<PlannedContainer>, state: Record<string, unknown> = {}): void {
    const planned = this.plan.containers.find((each) => each.name === name);
    if (planned === undefined) throw new Error(`no container ${name}`);
    this.containers.set(name, inspectedAsPlanned({ ...planned, ...change }, state));
  }

  async drift(...args: string[]) {
    const inspect = this.plan.containers.map(({ name }) => {
      const found = this.containers.get(name);
      const answer = found
        ? { out: JSON.stringify([found]) }
        : { err: `Error: No such container: ${name}\n`, code: 1 };
      return [`inspect --type container ${name}`, answer] as const;
    });
    const networks = this.networks.map((name) => `${name} ${"e".repeat(64)}\n`).join("");
    const docker = new FakeDocker({
      ...Object.fromEntries(inspect),
      "network ls": { out: networks },
    });
    const says = Object.entries(this.unit ?? {}).map(([name, value]) => `${name}=${value}`);
    writeFileSync(join(docker.folder, "unit"), `${says.join("\n")}\n`);
    const systemctl = this.unit === undefined ? "exit 1" : `cat '${join(docker.folder, "unit")}'`;
    writeFileSync(join(docker.folder, "systemctl"), `#!/bin/sh\n${systemctl}\n`, { mode: 0o755 });
    const PATH = `${this.ssh.folder}:${docker.env.PATH}`;
    return runServing(["status", "--against", "applied", "--file", this.file, ...args], {
      ...this.env,
      PATH,
    });
  }

  async found() {
    const { code, out } = await this.drift("--format", "json");
    expect(out).not.toContain(SECRET);
    return { code, ...JSON.parse(out.replaceAll(` --file ${this.file}`, "")) };
  }
}

describe("serving status --against applied", () => {
  it("finds nothing where everything is as it was applied, and exits 0", async () => {
    const machine = new Machine();
    expect(await machine.drift()).toEqual({ code: 0, out: "dgx: as it was applied\n", err: "" });
    expect(await machine.found()).toEqual({
      code: 0,
      version: 1,
      machines: [{ machine: "dgx", drifts: [], ahead: false, unread: [] }],
      mend: [],
    });
  });

  const REPLACES = (resource: string) => `serving up --replace '**::dgx-${resource}'`;
  const ANEW = [`docker rm --force ${B}`, "serving up --refresh"];
  const portText = (ip: string) => `http://${ip}:8001`;
  type Case = [
    name: string,
    inject: (machine: Machine) => void,
    drift: object,
    mend: readonly string[],
  ];
  const container = (what: string, planned: string | null, found: string | null) => ({
    ...{ kind: "container", where: B, what, planned, found },
  });
  it.each<Case>([
    [
      "a container that is gone",
      (machine) => machine.containers.delete(B),
      { ...container("container", "running", "not there"), says: "is not there" },
      ["serving up --refresh"],
    ],
    [
      "a container that is stopped",
      (machine) => machine.runs(B, {}, { Status: "exited" }),
      { ...container("status", "running", "exited"), says: "is exited" },
      ["serving start b"],
    ],
    [
      "another image",
      (machine) => machine.runs(B, { image: "other:latest" }),
      { what: "image", found: "other:latest" },
      ANEW,
    ],
    [
      "another argument",
      (machine) => machine.runs(B, { command: commandWith(machine, "262144", "4096") }),
      {
        ...container("--max-model-len", "262144", "4096"),
        says: "has --max-model-len 4096, but 262144 is planned",
      },
      ANEW,
    ],
    [
      "an argument with a secret",
      (machine) => machine.runs(B, { command: [...commandWith(machine), "--api-key", SECRET] }),
      {
        ...container("--api-key", null, "<redacted>"),
        says: "has --api-key <redacted>, which is not planned",
      },
      ANEW,
    ],
    [
      "a variable of another value",
      (machine) => machine.runs(B, { env: { ...envOf(machine), MAX_JOBS: "64" } }),
      container("env MAX_JOBS", "2", "64"),
      ANEW,
    ],
    [
      "a variable that is gone",
      (machine) => machine.runs(B, { env: { MAX_JOBS: "2" } }),
      {
        ...container("env FLASHINFER_WORKSPACE_BASE", "/jit-cache/flashinfer", null),
        says: expect.stringMatching(/^lacks env FLASH/),
      },
      ANEW,
    ],
    [
      "another port",
      (machine) => machine.runs(B, { ports: [{ ip: "0.0.0.0", host: 8001, container: 8001 }] }),
      container("ports", portText("127.0.0.1"), portText("0.0.0.0")),
      ANEW,
    ],
    [
      "another entrypoint",
      (machine) => machine.runs(B, { entrypoint: ["vllm"] }),
      { what: "entrypoint", found: "vllm" },
      ANEW,
    ],
    [
      "another cache",
      (machine) => machine.runs(B, { mounts: [] }),
      { what: "mount /root/.cache/huggingface", found: null },
      ANEW,
    ],
    [
      "a restart policy that somebody changed",
      (machine) => machine.runs(B, { restart: "no" as "unless-stopped" }),
      container("restart", "unless-stopped", "no"),
      [`docker update --restart unless-stopped ${B}`],
    ],
    [
      "a network that it was taken off",
      (machine) => machine.runs(B, { network: "bridge" }),
      container("network", "local-serving", "bridge"),
      [`docker network connect --alias ${B} local-serving ${B}`],
    ],
    [
      "a network that was removed, while it runs",
      (machine) => {
        machine.networks = ["bridge"];
        machine.runs(B, { network: "bridge" });
      },
      {
        ...container("network", "local-serving", "removed"),
        says: "needs the network local-serving, which was removed",
      },
      ["serving up --refresh"],
    ],
    [
      "a file of a client that was edited",
      (machine) => machine.write(machine.path("codex-config"), "0644", "mine\n"),
      { kind: "client", what: "text", says: "was changed on the machine" },
      [REPLACES("codex-config")],
    ],
    [
      "a launcher that is gone",
      (machine) => rmSync(machine.path("launcher-codex")),
      { kind: "client", what: "file", found: "missing" },
      [REPLACES("launcher-codex")],
    ],
    [
      "a launcher that nobody may run",
      (machine) => chmodSync(machine.path("launcher-codex"), 0o644),
      { kind: "client", what: "mode", planned: "0755", found: "0644" },
      [REPLACES("launcher-codex")],
    ],
    [
      "the start gate's file",
      (machine) => machine.write(machine.path("start-gate"), "0644", ""),
      { kind: "file", what: "text" },
      [REPLACES("start-gate")],
    ],
    [
      "the bridge's file, which it reads once",
      (machine) => machine.write(machine.path("bridge-config"), "0644", "model_list: []\n"),
      { kind: "file", what: "text" },
      [REPLACES("bridge-config"), "docker restart litellm-8787"],
    ],
    [
      "a secret's mode",
      (machine) => chmodSync(machine.path("bridge-key"), 0o644),
      { kind: "file", what: "mode", planned: "0600", found: "0644" },
      [REPLACES("bridge-key"), "docker restart litellm-8787"],
    ],
    [
      "a token that is gone",
      (machine) => rmSync(machine.path("hugging-face-token-b")),
      { kind: "file", what: "file", found: "missing" },
      [REPLACES("b-token")],
    ],
    [
      "Ollama that was started before its drop-in",
      (machine) => {
        const env = environmentIn(dropInOf(machine));
        machine.unit = {
          ...machine.unit,
          MainPID: runningWith({ ...env, OLLAMA_KEEP_ALIVE: "24h" }),
        };
      },
      {
        kind: "simple-server",
        where: "ollama.service",
        what: "env OLLAMA_KEEP_ALIVE",
        planned: "5m",
        found: "24h",
      },
      ["sudo systemctl daemon-reload", "sudo systemctl restart ollama.service"],
    ],
    [
      "Ollama with a drop-in that wins over ours",
      (machine) => {
        const Environment = (machine.unit?.Environment ?? "").replace(
          "KEEP_ALIVE=5m",
          "KEEP_ALIVE=24h",
        );
        machine.unit = { ...machine.unit, Environment, MainPID: "0" };
      },
      { kind: "simple-server", what: "env OLLAMA_KEEP_ALIVE", planned: "5m", found: "24h" },
      ["systemctl cat ollama.service"],
    ],
    [
      "Ollama that doesn't run",
      (machine) => {
        machine.unit = { ActiveState: "inactive", MainPID: "0" };
      },
      { kind: "simple-server", what: "status", planned: "active", found: "inactive" },
      ["sudo systemctl daemon-reload", "sudo systemctl restart ollama.service"],
    ],
  ])("finds %s, and what mends it", async (_, inject, drift, mend) => {
    const machine = new Machine();
    inject(machine);
    const { code, machines } = await machine.found();
    expect([code, machines[0].unread, machines[0].ahead]).toEqual([1, [], false]);
    expect(machines[0].drifts[0]).toMatchObject({ ...drift, mend });
  });

  it("finds an instance A that runs otherwise or not at all, and a memory that isn't the machine's", async () => {
    const machine = new Machine({
      totalGiB: TOTAL_GIB + 1,
      instanceA: { gpuMemoryUtilization: 0.3, port: portA },
    });
    const { code, machines, mend } = await machine.found();
    expect(code).toBe(1);
    expect(machines[0].drifts).toMatchObject([
      { kind: "instance-a", what: "instanceA.gpuMemoryUtilization", planned: "0.3", found: "0.02" },
      {
        kind: "memory",
        what: "totalGiB",
        planned: String(TOTAL_GIB + 1),
        found: String(TOTAL_GIB),
      },
    ]);
    expect(machines[0].drifts[0].says).toContain(
      `Instance A on port ${portA} runs with utilization 0.02, but 0.3 is declared.`,
    );
    expect(machines[0].drifts[1].says).toContain(`Set \`totalGiB: ${TOTAL_GIB}\`.`);
    expect(mend).toEqual(["serving up"]);
    const otherwise = {
      ...{ gpuMemoryUtilization: 0.02, port: portA, toolParser: "hermes" },
      ...{ servedModelName: "old", keyVariable: "none" },
    };
    expect((await new Machine({ instanceA: otherwise }).found()).machines[0].drifts).toMatchObject([
      { kind: "instance-a", what: "instanceA.toolParser", planned: "hermes", found: "none" },
      {
        kind: "instance-a",
        what: "instanceA.servedModelName",
        planned: "old",
        found: "org/host-model",
      },
    ]);
    const gone = new Machine({ instanceA: { gpuMemoryUtilization: 0.02, port: 1 } });
    expect((await gone.found()).machines[0].drifts).toMatchObject([
      {
        kind: "instance-a",
        what: "instanceA",
        says: expect.stringContaining("Nothing listens on port 1"),
      },
    ]);
  });

  it("finds several things at once, and mends them by one update", async () => {
    const machine = new Machine();
    machine.containers.delete("open-webui-8080");
    machine.runs(B, { image: "other:latest", env: {} });
    machine.write(machine.path("codex-config"), "0644", "mine\n");
    rmSync(machine.path("bridge-config"));
    const { code, out } = await machine.drift();
    expect(code).toBe(1);
    const lines = out.split("\n");
    expect(lines[0]).toMatch(/^dgx: 1\d things differ from what was applied$/);
    expect(lines.filter((line) => line.startsWith(`  ${B} `))).toHaveLength(6);
    expect(lines).toContain(`  ${B} has image other:latest, but ${serverInput().image} is planned`);
    expect(out).toMatch(/\n {2}vllm-model-8001 differs in \d+ more things\n/);
    expect(lines).toContain("  open-webui-8080 is not there");
    expect(out.slice(out.indexOf("What fixes it:"))).toBe(
      [
        "What fixes it:",
        `  docker rm --force ${B}`,
        "  serving up --refresh --replace '**::dgx-bridge-config' --replace '**::dgx-codex-config'",
        "  docker restart litellm-8787\n",
      ].join("\n"),
    );
  });

  it("says the commands by hand where nothing of ours may write as root, and an update where it may", async () => {
    const byHand = new Machine();
    rmSync(byHand.path("simple-server-dropin"));
    expect((await byHand.found()).mend).toEqual(byHand.plan.commands);
    const asRoot = new Machine({
      simpleServer: {
        mode: "host",
        systemdDirectory: join(temporaryFolder(), "systemd"),
        keepAlive: "5m",
      },
      elevate: ["sudo", "-n"],
    });
    rmSync(asRoot.path("simple-server-dropin"));
    expect((await asRoot.found()).mend).toEqual([
      "serving up --replace '**::dgx-simple-server-drop-in' --replace '**::dgx-simple-server-drop-in-restart'",
    ]);
  });

  it("reads a machine over ssh, and mends it there", async () => {
    const machine = new Machine({ dockerHost: "ssh://me@dgx" });
    expect(await machine.found()).toMatchObject({
      code: 0,
      machines: [{ drifts: [], unread: [] }],
    });
    machine.runs(B, { image: "other:latest" });
    machine.write(machine.path("codex-config"), "0644", "mine\n");
    const { code, mend } = await machine.found();
    expect([code, mend]).toEqual([
      1,
      [
        `ssh -t ssh://me@dgx 'docker rm --force ${B}'`,
        "serving up --refresh --replace '**::dgx-codex-config'",
      ],
    ]);
  });

  it("says what it could not read, and fails", async () => {
    const machine = new Machine();
    machine.unit = undefined;
    const { code, machines } = await machine.found();
    expect([code, machines[0].drifts]).toEqual([1, []]);
    expect(machines[0].unread).toEqual(["systemd doesn't say what ollama.service runs with."]);
    const { out } = await runServing(["status", "--against", "applied", "--file", machine.file], {
      PATH: machine.home,
      HOME: machine.home,
    });
    expect(out).toContain("dgx: what could be read is as it was applied");
    expect(out).toContain("  not read: No `docker` on PATH: install the Docker client.");
  });

  it("says that nothing is applied, and fails", async () => {
    const machine = new Machine();
    rmSync(machine.path("applied-plan"));
    const { code, out, err } = await machine.drift();
    expect([code, out, err]).toEqual([1, "", "Nothing is applied yet: run `serving up`.\n"]);
  });

  it("notes a stack file with changes that aren't applied, and finds no drift in that", async () => {
    const machine = new Machine();
    machine.declare({}, { maxModelLen: 131_072 });
    expect(await machine.drift()).toEqual({
      code: 0,
      out: "dgx: as it was applied\n  The stack file has changes that aren't applied: `serving plan --against applied` shows them.\n",
      err: "",
    });
  });
});

const dropInOf = ({ plan }: Machine) =>
  plan.files.find(({ role }) => role === "simple-server-dropin")?.text ?? "";
const planned = (machine: Machine) => machine.plan.containers.find(({ name }) => name === B);
const envOf = (machine: Machine) => planned(machine)?.env ?? {};
const commandWith = (machine: Machine, from = "", to = from) =>
  (planned(machine)?.command ?? []).map((word) => (word === from ? to : word));

describe("serving status --against verified", () => {
  const against = ["--against", "verified"];

  it("says that nothing has passed yet", async () => {
    const { code, err } = await new Machine().drift(...against);
    expect(code).toBe(2);
    expect(err).toContain("no `serving verify` of Pulumi.dgx.yaml has passed as a whole yet");
  });

  it("finds nothing where what passed runs, whatever the stack file says by now", async () => {
    const machine = new Machine();
    keepPassed(machine.file, readFileSync(machine.file, "utf8"), machine.env);
    expect(await machine.drift(...against)).toMatchObject({
      code: 0,
      out: "dgx: as it was verified\n",
    });
    machine.declare({}, { maxNumSeqs: 7 });
    expect(await machine.drift(...against)).toMatchObject({
      code: 0,
      out: "dgx: as it was verified\n  The stack file has changes that aren't verified: `serving plan --against verified` shows them.\n",
    });
  });

  it("takes what passed as the remedy where something else runs", async () => {
    const machine = new Machine();
    const now = readFileSync(machine.file, "utf8");
    machine.declare({}, { maxNumSeqs: 7 });
    keepPassed(machine.file, readFileSync(machine.file, "utf8"), machine.env);
    writeFileSync(machine.file, now);
    const { code, out } = await machine.drift(...against);
    expect(code).toBe(1);
    expect(out).toMatch(/^dgx: \d+ things? differs? from what was verified\n/);
    expect(out).toMatch(
      /\nWhat fixes it:\n {2}cp \S+\/verified-\w+\.yaml \S+ && serving up\b.*\n$/,
    );
  });
});
