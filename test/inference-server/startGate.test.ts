import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { utilizationOf } from "../../components/inference-server/argv/utilization";
import {
  gatedEntrypoint,
  instanceAFromContainer,
  START_GATE,
} from "../../components/inference-server/startGate";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";

/** The gate counts its sleeps of five seconds. */
const SLEEPS_A_MINUTE = 12;
const COUNT = 'echo "$1" >> "$OUT.sleeps"';
const TOTAL_GIB = 100;
const KIB_PER_GIB = 1024 ** 2;
/** 0.45 of 100 GiB; with an A of 0.3 both are 75 GiB. */
const ARGUMENTS = ["org/m", "--served-model-name", "m", "--gpu-memory-utilization", "0.45", "--port", "8001"];

let folder: string;
let gate: Gate | undefined;
let instanceA: Server | undefined;

beforeEach(() => {
  folder = temporaryFolder("start-gate-");
  program("vllm", 'printf "vllm %s\\n" "$*"; printf "%s\\n" "$@" > "$OUT"; exec /bin/sleep 60');
});
afterEach(() => {
  endGroup(gate?.child.pid);
  instanceA?.close();
  [gate, instanceA] = [undefined, undefined];
});

/** The gate, what it became, and a sleep of its that is left. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}

interface Gate {
  readonly child: ChildProcess;
  said(): string;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** The gate under dash, with a /proc/meminfo of its own; its sleeps take no time unless `slow`. */
function start(declared?: string, slow = false): Gate {
  if (!slow) program("sleep", `${COUNT}; exec /bin/sleep 0.01`);
  const script = START_GATE.replace("/proc/meminfo", join(folder, "meminfo")).replaceAll(
    "/run/local-serving/instance-a",
    join(folder, "instance-a"),
  );
  declare(declared);
  const child = spawn("dash", ["-c", script, "start-gate", ...ARGUMENTS], {
    detached: true,
    env: { PATH: `${folder}:${process.env.PATH ?? ""}`, OUT: join(folder, "arguments") },
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on("exit", (code, signal) => resolve(code ?? signal));
  });
  gate = { child, ended, said: () => text };
  return gate;
}

/** What the gate's sleeps were asked for; none where it never slept. */
function sleeps(): string[] {
  const file = join(folder, "arguments.sleeps");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

/** What is declared of instance A, as the gate reads it; nothing where there is no file. */
function declare(text: string | undefined): void {
  if (text === undefined) return;
  writeFileSync(join(folder, "unfinished-a"), text);
  renameSync(join(folder, "unfinished-a"), join(folder, "instance-a"));
}

function program(name: string, body: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, name), 0o755);
}

function available(gib: number): void {
  const kib = (amount: number) => Math.round(amount * KIB_PER_GIB);
  const text = `MemTotal: ${kib(TOTAL_GIB)} kB\nMemFree: 1 kB\nMemAvailable: ${kib(gib)} kB\n`;
  writeFileSync(join(folder, "unfinished"), text);
  // Moved into place: the kernel's own file is never half written.
  renameSync(join(folder, "unfinished"), join(folder, "meminfo"));
}

async function listen(status: number): Promise<string> {
  const server = createServer((_, answer) => answer.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  instanceA = server;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/health`;
}

const started = (of: Gate) => expect.poll(of.said).toContain("vllm serve org/m");
const DEAD = "http://127.0.0.1:9/health";
const A = (url: string, seconds = 1800) => `a_share=0.3\na_seconds=${seconds}\na_url=${url}\n`;

describe("the start gate", () => {
  it("A absent by design: starts at once with room for B alone, with vLLM's own arguments", async () => {
    available(45);
    const it = start("# There is none.\n");
    await started(it);
    expect(it.said()).toBe(`vllm serve ${ARGUMENTS.join(" ")}\n`);
    expect(readFileSync(join(folder, "arguments"), "utf8")).toBe(`${["serve", ...ARGUMENTS].join("\n")}\n`);
  });

  it("B first, with room for both: starts at once beside a declared A that is not there yet", async () => {
    available(75);
    const it = start(A(DEAD));
    await started(it);
    expect(it.said()).not.toContain("start gate");
  });

  it("A first: starts at once when it answers and there is room for B's own share", async () => {
    available(45);
    const it = start(A(await listen(200)));
    await started(it);
    expect(it.said()).not.toContain("start gate");
  });

  it.each([
    ["B first, and not room for both", 74.9, DEAD],
    ["A first, and too little for B", 44.9, "answers"],
    ["A absent by design, and too little for B", 44.9, ""],
  ])("%s: waits", async (_, gib, url) => {
    available(gib);
    const declared = url === "" ? undefined : A(url === "answers" ? await listen(200) : url);
    const it = start(declared);
    await expect.poll(it.said).toContain("start gate: ");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(it.said()).not.toContain("vllm");
  });

  it("does not take an A that answers 503 for a living one", async () => {
    available(60);
    const it = start(A(await listen(503)));
    await expect.poll(it.said).toContain("waiting for instance A");
    expect(it.said()).not.toContain("vllm serve org/m");
  });

  it("never enough: waits for ever, and says so in one line a minute", async () => {
    available(30);
    const minutes = 3;
    // The last of them takes long, so that nothing moves while we look.
    program(
      "sleep",
      `${COUNT}; [ $(wc -l < "$OUT.sleeps") -le ${minutes * SLEEPS_A_MINUTE} ] || exec /bin/sleep 60`,
    );
    const it = start(undefined, true);
    await expect.poll(() => sleeps().length).toBe(minutes * SLEEPS_A_MINUTE + 1);
    const line = "start gate: waiting for 45.00 GiB (0.45 of the memory), 30.00 GiB are available\n";
    // The first at once; the last may still be in the pipe.
    await expect.poll(it.said).toBe(line.repeat(1 + minutes));
    expect(new Set(sleeps())).toEqual(new Set(["5"]));
  });

  it("with room it costs nothing: no sleep, no request, no process that stays", async () => {
    program("curl", 'echo "curl was run"');
    available(75);
    const it = start(A(DEAD));
    await started(it);
    expect(it.said()).toBe(`vllm serve ${ARGUMENTS.join(" ")}\n`);
    expect(sleeps()).toEqual([]);
    const pid = String(it.child.pid);
    expect(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")).toBe("");
  });

  it("a server that crashes in a loop: each start goes through the gate, and the loop ends where memory is gone", async () => {
    program("vllm", 'echo "vllm serve org/m"; exit 1');
    for (let crash = 0; crash < 3; crash += 1) {
      available(45);
      const it = start();
      expect(await it.ended).toBe(1);
      // Its last words may still be in the pipe.
      await expect.poll(it.said).toBe("vllm serve org/m\n");
    }
    available(44);
    const it = start();
    await expect.poll(it.said).toContain("start gate: waiting for 45.00 GiB");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(it.said()).not.toContain("vllm");
  });

  it("ended and started again, as by a restart of the daemon: waits again", async () => {
    available(60);
    for (const time of [1, 2]) {
      const it = start(A(DEAD));
      await expect.poll(it.said).toContain("waiting for instance A");
      it.child.kill("SIGTERM");
      expect(await it.ended, `time ${time}`).toBe(143);
      expect(it.said()).not.toContain("vllm serve org/m");
    }
  });

  it("memory that frees slowly: opens when it is enough", async () => {
    available(30);
    const it = start();
    await expect.poll(it.said).toContain("30.00 GiB are available");
    for (const gib of [35, 40, 44.99]) available(gib);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(it.said()).not.toContain("vllm");
    available(45.01);
    await started(it);
    expect(it.said()).toMatch(/start gate: open after \d+ s, 45\.01 GiB are available/);
  });

  it("hears a corrected declaration while it waits", async () => {
    available(60);
    const it = start(A(DEAD));
    await expect.poll(it.said).toContain("or for 75.00 GiB");
    declare("# There is none.\n");
    await started(it);
  });

  it("B first: opens when A comes up", async () => {
    available(60);
    const url = await listen(503);
    const it = start(A(url));
    await expect.poll(it.said).toContain(`does not answer ${url}, or for 75.00 GiB`);
    instanceA?.removeAllListeners("request").on("request", (_, answer) => answer.end());
    await started(it);
  });

  it("A declared but dead: starts once its time is over and memory has been steady for a minute", async () => {
    available(60);
    const it = start(A(DEAD, 120));
    await started(it);
    expect(it.said()).toContain(
      "start gate: instance A did not answer for 120 s, and 60.00 GiB have been available for a minute: starting without it",
    );
  });

  it("A declared and loading: waits on, since memory that falls is not steady", async () => {
    available(74);
    const it = start(A(DEAD, 60));
    await expect.poll(it.said).toContain("waiting for instance A");
    for (let gib = 72; gib >= 50; gib -= 2) {
      available(gib);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(it.said()).not.toContain("vllm serve org/m");
  });

  it("says of an A on loopback that it can't be asked", async () => {
    available(60);
    const it = start("a_share=0.3\na_seconds=1800\n");
    await expect.poll(it.said).toContain("does not answer (it listens on loopback only), or for 75.00 GiB");
  });

  it("holds nobody up where meminfo can't be read", async () => {
    const it = start();
    await started(it);
    expect(it.said()).toContain("start gate: MemAvailable is not readable here; starting without it\n");
  });

  it("`docker stop`: ends at once on TERM, as it sleeps five seconds", async () => {
    available(30);
    const it = start(undefined, true);
    await expect.poll(it.said).toContain("start gate: waiting");
    it.child.kill("SIGTERM");
    expect(await it.ended).toBe(143);
  });

  it("leaves the server its own signals", async () => {
    available(45);
    const it = start();
    await started(it);
    it.child.kill("SIGTERM");
    expect(await it.ended).toBe("SIGTERM");
  });
});

describe("the gate in a plan", () => {
  const planned = (instanceA: unknown) => plan(stack({ instanceA }), { home: "/home/me" }).machines[0];

  it("lets the policies and the preflight read the server's share through it", () => {
    const container = planned({ gpuMemoryUtilization: 0.45 })?.containers[0];
    expect(container?.entrypoint).toEqual(["/bin/sh", "-c", START_GATE, "start-gate"]);
    expect(utilizationOf([...gatedEntrypoint(), ...(container?.command ?? [])])).toBe(0.45);
  });

  it("knows of A by its share, address and time, and of nothing where there is none", () => {
    const file = (instanceA: unknown) => planned(instanceA)?.files.find((each) => each.role === "start-gate");
    const about =
      "# Made by local-serving from instanceA in the stack file, for the start gate: change it there.\n";
    expect(file({ gpuMemoryUtilization: 0.45, port: 8100, readyWithinMinutes: 10 })).toEqual({
      role: "start-gate",
      path: "/home/me/.local/share/local-serving/dgx/start-gate/instance-a",
      mode: "0644",
      text: `${about}a_share=0.45\na_seconds=600\na_url=http://host.docker.internal:8100/health\n`,
    });
    expect(file({ gpuMemoryUtilization: 0.45, listen: "127.0.0.1" })?.text).toBe(
      `${about}a_share=0.45\na_seconds=1800\n`,
    );
    expect(file("none")?.text).toBe(`${about}# There is none.\n`);
  });

  it("is the same container whatever is declared of A: a correction restarts nothing", () => {
    const containers = [
      "none",
      { gpuMemoryUtilization: 0.2, port: 9000 },
      { gpuMemoryUtilization: 0.45 },
    ].map((instanceA) => planned(instanceA)?.containers);
    expect(containers[0]).toEqual(containers[1]);
    expect(containers[1]).toEqual(containers[2]);
    expect(containers[0]?.[0]?.mounts).toContainEqual({
      type: "bind",
      source: "/home/me/.local/share/local-serving/dgx/start-gate",
      target: "/run/local-serving",
      readOnly: true,
    });
  });

  it.each([
    ["0.0.0.0", "http://host.docker.internal:8000"],
    ["192.168.1.4", "http://192.168.1.4:8000"],
    ["127.0.0.1", undefined],
  ])("reaches an A on %s at %s", (listen, url) => {
    expect(instanceAFromContainer({ listen, port: 8000 })).toBe(url);
  });
});
