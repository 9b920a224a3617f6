import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { utilizationOf } from "@local-serving/vllm/argv/memoryDemand";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GATE_OPENS, GATE_SAYS } from "../../cli/sees/gateLines";
import {
  gatedEntrypoint,
  instanceAFromContainer,
  START_GATE,
} from "../../components/inference-server/startGate";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";
import { childrenOf, runs, SHELLS, which } from "./processes";

/** The gate counts its sleeps of five seconds. */
const SLEEPS_A_MINUTE = 12;
const KIB_PER_GIB = 1024 ** 2;
const ARGUMENTS = [
  "org/m",
  "--served-model-name",
  "m",
  "--gpu-memory-utilization",
  "0.45",
  "--port",
  "8001",
];
/** What a server's image has, and no more. */
const TOOLS = ["cat", "curl", "date", "flock", "sed", "setsid"];

let folder: string;
let gates: Gate[] = [];
let instanceA: Server | undefined;

beforeEach(() => {
  folder = temporaryFolder("start-gate-");
  mkdirSync(join(folder, "shared"));
  mkdirSync(join(folder, "tools"));
  for (const tool of TOOLS) symlinkSync(which(tool), join(folder, "tools", tool));
  writeFileSync(join(folder, "hostname"), "0123456789ab\n");
  program("vllm", 'printf "%s\\n" "$@" > "$OUT"; printf "vllm %s\\n" "$*"; exec /bin/sleep 60');
  program("sleep", 'echo "$1" >> "$OUT.sleeps"; exec /bin/sleep 0.02');
});
afterEach(() => {
  for (const { child } of gates) endGroups(child.pid);
  instanceA?.close();
  [gates, instanceA] = [[], undefined];
});

/** The gate, a sleep of its that is left, and the server's own group. */
function endGroups(pid: number | undefined): void {
  const children = pid === undefined ? [] : childrenOf(pid);
  for (const each of [pid, ...children]) {
    try {
      if (each !== undefined) process.kill(-each, "SIGKILL");
    } catch {
      // Nothing of it is left, or it has no group of its own.
    }
  }
}

interface Gate {
  readonly child: ChildProcess;
  said(): string;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** A server's line: 45 GiB, six seconds to end. */
const SERVER = "floor 2048\nstarts 3\nserver b 46080 6 http://127.0.0.1:9/health\n";

/** What is declared, as the gates read it. */
function declare(text: string): void {
  writeFileSync(join(folder, "unfinished-gate"), text);
  renameSync(join(folder, "unfinished-gate"), join(folder, "gate"));
}

function program(name: string, body: string): void {
  writeFileSync(join(folder, `unfinished-${name}`), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, `unfinished-${name}`), 0o755);
  renameSync(join(folder, `unfinished-${name}`), join(folder, name));
}

/** A vLLM that runs until TERM, and then does this. */
const untilTerm = (then: string) =>
  program("vllm", `trap "${then}" TERM; echo "vllm $*"; while :; do /bin/sleep 0.05; done`);

const meminfo = (gib: number) =>
  `MemTotal: 1 kB\nMemFree: 1 kB\nMemAvailable: ${Math.round(gib * KIB_PER_GIB)} kB\n`;

function available(gib: number): void {
  writeFileSync(join(folder, "unfinished"), meminfo(gib));
  // Moved into place: the kernel's own file is never half written.
  renameSync(join(folder, "unfinished"), join(folder, "meminfo"));
}

/**
 * From now on each sleep of the gate gives the next of these; the last one stays, and the sleep
 * after it is this one.
 */
function availableInTurn(gib: readonly number[], afterwards = "exec /bin/sleep 0.02"): void {
  gib.forEach(
    (each, index) => void writeFileSync(join(folder, `meminfo.${index + 1}`), meminfo(each)),
  );
  const turn = `n=$(/bin/cat ${folder}/turn 2>/dev/null || echo 0); n=$((n + 1)); echo $n > ${folder}/turn`;
  const move = `[ ! -e ${folder}/meminfo.$n ] || /bin/mv ${folder}/meminfo.$n ${folder}/meminfo`;
  const sleep = `[ $n -le ${gib.length} ] || ${afterwards}; exec /bin/sleep 0.02`;
  program("sleep", `${turn}; ${move}; echo "$1" >> "$OUT.sleeps"; ${sleep}`);
}

async function listen(status: number): Promise<string> {
  const server = createServer((_, answer) => answer.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  instanceA = server;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/health`;
}

const started = (of: Gate, times = 1) =>
  expect.poll(() => of.said().split("vllm serve org/m").length - 1).toBe(times);
const says = (of: Gate, words: string) => expect.poll(of.said).toContain(words);
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const starts = () => readFileSync(join(folder, "shared/b.starts"), "utf8").trim().split("\n");
/** What the gate's sleeps were asked for; none where it never slept. */
const sleeps = () =>
  existsSync(join(folder, "b.sleeps"))
    ? readFileSync(join(folder, "b.sleeps"), "utf8").split("\n")
    : [];
const DEAD = "http://127.0.0.1:9/health";
/** An instance A of 30 GiB. */
const A = (url: string, seconds = 1800) => `instance-a 30720 ${seconds} ${url}\n${SERVER}`;

describe.each(SHELLS.map((shell) => [shell.join(" "), shell] as const))(
  "the start gate under %s",
  (_, shell) => {
    /** The gate with a /proc/meminfo of its own; its sleeps take no time. */
    function start(declared?: string, name = "b", whole = START_GATE): Gate {
      const places = [
        ["/proc/meminfo", "meminfo"],
        ["/run/local-serving/gate", "gate"],
        ["/var/lib/local-serving", "shared"],
        ["/etc/hostname", "hostname"],
        // busybox would take its own.
        ['sleep "$1"', 'sleep "$1"'],
      ] as const;
      const script = places.reduce(
        (text, [from, to]) => text.replaceAll(from, join(folder, to)),
        whole,
      );
      if (declared !== undefined) declare(declared);
      const [program = "", ...words] = shell;
      const child = spawn(which(program), [...words, "-c", script, name, ...ARGUMENTS], {
        detached: true,
        env: { PATH: `${folder}:${join(folder, "tools")}`, OUT: join(folder, name) },
      });
      let text = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk) => (text += String(chunk)));
      const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
        child.on("close", (code, signal) => resolve(code ?? signal));
      });
      const gate = { child, ended, said: () => text };
      gates.push(gate);
      return gate;
    }

    it.each([
      ["A absent by design, and room for B", 45, undefined],
      ["B first, and room for both", 75, DEAD],
      ["A answers, and room for B", 45, "answers"],
    ])("%s: starts at once, with vLLM's own arguments", async (_, gib, url) => {
      available(gib);
      const it = start(url === undefined ? SERVER : A(url === "answers" ? await listen(200) : url));
      await started(it);
      expect(it.said()).toBe(
        `start gate: open after 0 s, ${gib}.00 GiB are available\nvllm serve ${ARGUMENTS.join(" ")}\n`,
      );
      expect(readFileSync(join(folder, "b"), "utf8")).toBe(
        `${["serve", ...ARGUMENTS].join("\n")}\n`,
      );
    });

    it.each([
      ["B first, and not room for both", 74.9, DEAD],
      ["A first, and too little for B", 44.9, "answers"],
      ["A absent by design, and too little for B", 44.9, ""],
      ["A answers 503, and not room for both", 60, "503"],
    ])("%s: waits", async (_, gib, url) => {
      available(gib);
      const asked = url === "answers" ? await listen(200) : url === "503" ? await listen(503) : url;
      const it = start(asked === "" ? SERVER : A(asked));
      await says(it, "waiting for");
      await pause(200);
      expect(it.said()).not.toContain("vllm");
    });

    it("never enough: waits for ever, and says so in one line a minute", async () => {
      available(30);
      const it = start(SERVER);
      await expect.poll(() => sleeps().length).toBeGreaterThan(2 * SLEEPS_A_MINUTE);
      it.child.kill("SIGSTOP");
      const line = "start gate: waiting for 45.00 GiB, 30.00 GiB are available\n";
      // The first at once; of the sleeps one is under way.
      const lines = it.said().split(line);
      expect(lines.join("")).toBe("");
      expect(lines.length - 2).toBeGreaterThanOrEqual(
        Math.floor((sleeps().length - 2) / SLEEPS_A_MINUTE) - 1,
      );
      expect(lines.length - 2).toBeLessThanOrEqual(Math.ceil(sleeps().length / SLEEPS_A_MINUTE));
      expect(new Set(sleeps())).toEqual(new Set(["5", ""]));
    });

    it("waits for the file that declares it, and names the command that writes it", async () => {
      available(90);
      const it = start("floor 2048\nserver another 1 6 http://127.0.0.1:9/health\n");
      await says(it, "waiting for a line about b in ");
      expect(it.said()).toContain("which `npm run up` writes");
      declare(SERVER);
      await started(it);
    });

    it("memory that frees slowly: opens when it is enough", async () => {
      available(30);
      const it = start(SERVER);
      await says(it, "30.00 GiB are available");
      for (const gib of [35, 40, 44.99]) available(gib);
      await pause(100);
      expect(it.said()).not.toContain("vllm");
      available(45.01);
      await started(it);
      expect(it.said()).toMatch(/start gate: open after \d+ s, 45\.01 GiB are available/);
    });

    it("hears a corrected declaration while it waits: of A, and of what it takes itself", async () => {
      available(40);
      const it = start(A(DEAD));
      await says(it, "waiting for 45.00 GiB, 40.00 GiB are available");
      declare(A(DEAD).replace("46080", "30720"));
      await expect.poll(it.said, { timeout: 10_000 }).toContain("or for 60.00 GiB");
      declare(SERVER.replace("46080", "30720"));
      await started(it);
    });

    it("B first: opens when A comes up", async () => {
      available(60);
      const url = await listen(503);
      const it = start(A(url));
      await says(it, `does not answer ${url}, or for 75.00 GiB`);
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
      const falling = Array.from({ length: 25 }, (_, index) => 72 - index);
      // It looks at each of them, and at nothing more.
      availableInTurn(falling, "exec /bin/sleep 60 >/dev/null 2>&1");
      const it = start(A(DEAD, 60));
      await expect.poll(() => sleeps().length - 1).toBe(falling.length + 1);
      await says(it, "waiting for instance A");
      expect(it.said()).not.toContain("vllm serve org/m");
    });

    it("says of an A on loopback that it can't be asked", async () => {
      available(60);
      const it = start(A(""));
      await says(it, "does not answer (it listens on loopback only), or for 75.00 GiB");
    });

    it.each([
      ["is missing", undefined],
      ["has no MemAvailable", "MemTotal: 1 kB\n"],
      ["has one that is no number", "MemAvailable: all kB\n"],
    ])("holds nobody up where meminfo %s", async (_, text) => {
      if (text !== undefined) writeFileSync(join(folder, "meminfo"), text);
      const it = start(SERVER);
      await started(it);
      expect(it.said()).toContain(
        "start gate: MemAvailable is not readable here; starting without it\n",
      );
      await pause(200);
      expect(it.said()).not.toContain("stopped");
    });

    it("TERM while it waits: ends at once, as it sleeps five seconds", async () => {
      available(30);
      program("sleep", "exec /bin/sleep 60 >/dev/null 2>&1");
      const it = start(SERVER);
      await says(it, "start gate: waiting");
      it.child.kill("SIGTERM");
      expect(await it.ended).toBe(143);
    });

    it.each([
      ["SIGTERM", "SIGTERM", []],
      // A shell's background job doesn't hear INT unless it asks for it, as vLLM does.
      ["SIGINT", "SIGINT", []],
      ["SIGTERM, without setsid", "SIGTERM", ["setsid"]],
    ] as const)(
      "%s: goes to the server, whose exit code is the container's",
      async (_, signal, without) => {
        for (const tool of without) rmSync(join(folder, "tools", tool));
        available(45);
        untilTerm("echo got TERM; exit 7");
        // Its sleeps take no time here: six of them are less than a busy machine needs for a shell.
        const it = start(SERVER.replace("46080 6", "46080 6000"));
        await started(it);
        it.child.kill(signal);
        expect(await it.ended).toBe(7);
        expect(it.said()).toContain("got TERM");
        // Whoever stops a server has not seen it fail.
        expect(starts()).toEqual(["0123456789ab"]);
      },
    );

    it("kills a server that doesn't end on TERM, with its whole group, and counts by its own seconds", async () => {
      available(45);
      program(
        "vllm",
        'trap "" TERM; /bin/sh -c \'trap "" TERM; echo "vllm serve org/m"; exec /bin/sleep 60\' & wait; wait',
      );
      const it = start(SERVER);
      await started(it);
      const [server = 0] = childrenOf(it.child.pid ?? 0).filter(
        (pid) => childrenOf(pid).length > 0,
      );
      const group = [server, ...childrenOf(server)];
      expect(group).toHaveLength(2);
      it.child.kill("SIGTERM");
      expect(await it.ended).toBe(137);
      expect(it.said()).toContain("start gate: vLLM did not end in time: KILL");
      await expect.poll(() => group.filter(runs)).toEqual([]);
    });

    it("memory below the floor for three looks: stops the server, waits, and starts it again when memory is back", async () => {
      available(50);
      untilTerm("echo vllm ends; exit 0");
      const it = start(SERVER);
      await started(it);
      availableInTurn([1.9, 1.8, 50, 1.9, 1.8, 1.7, 30]);
      await says(it, "start gate: waiting for 45.00 GiB, 30.00 GiB are available");
      expect(it.said().match(/.*floor.*/g)).toEqual([
        "start gate: stopped at the floor: 1.70 GiB are available, below 2.00 GiB for 3 s; vLLM gives way and waits again",
      ]);
      expect(it.said()).toContain("vllm ends");
      available(46);
      await started(it, 2);
      expect(it.said()).toMatch(
        /start gate: open after \d+ s, 46\.00 GiB are available\nvllm serve/,
      );
      expect(starts()).toHaveLength(3);
    });

    it("takes the floor from the file: 0 is off, and a change is heard by a server that runs", async () => {
      available(50);
      const it = start(SERVER.replace("floor 2048", "floor 0"));
      await started(it);
      available(0);
      await pause(500);
      expect(it.said()).not.toContain("floor");
      available(5);
      declare(SERVER.replace("floor 2048", "floor 6144"));
      await says(it, "stopped at the floor: 5.00 GiB are available, below 6.00 GiB");
    });

    it("three starts that fail within an hour: stays closed over restarts, until a change or its own command", async () => {
      program("vllm", 'echo "vllm $*"; exit 3');
      available(50);
      const CLOSED = "start gate: closed: 3 starts within an hour failed.";
      for (let attempt = 0; attempt < 3; attempt += 1) expect(await start(SERVER).ended).toBe(3);
      const closed = async () => {
        const it = start();
        await says(it, CLOSED);
        await pause(200);
        expect(it.said()).not.toContain("vllm serve");
        return it;
      };
      const first = await closed();
      first.child.kill("SIGTERM");
      expect(await first.ended).toBe(143);
      // An hour later it is closed still.
      const file = join(folder, "shared/b.starts");
      writeFileSync(file, readFileSync(file, "utf8").replaceAll(/^\d{10}$/gm, "1700000000"));
      const it = await closed();
      const [, command = ""] = /without one: docker exec b (.*)/.exec(it.said()) ?? [];
      expect(command).toBe(`rm ${file}`);
      expect(spawnSync("/bin/sh", ["-c", command]).status).toBe(0);
      expect(await it.ended).toBe(3);
      appendFileSync(file, "spent 3\n");
      (await closed()).child.kill("SIGKILL");
      // Another budget, and another container, begin anew.
      expect(await start(SERVER.replace("starts 3", "starts 4")).ended).toBe(3);
      declare(SERVER);
      (await closed()).child.kill("SIGKILL");
      writeFileSync(join(folder, "hostname"), "ba9876543210\n");
      expect(await start().ended).toBe(3);
      expect(starts()).toEqual(["ba9876543210", expect.stringMatching(/^\d{10}$/)]);
    });

    it.each([
      ["of more than an hour ago", () => Math.floor(Date.now() / 1000) - 3601],
      ["that is still to come: a clock was wrong", () => Math.floor(Date.now() / 1000) + 9999],
    ])("counts no start %s", async (_, time) => {
      program("vllm", "exit 3");
      available(50);
      writeFileSync(join(folder, "shared/b.starts"), `0123456789ab\n${`${time()}\n`.repeat(9)}`);
      expect(await start(SERVER).ended).toBe(3);
    });

    describe("beside another server's gate", () => {
      const TWO = (port: number | string, gib = 45) =>
        `floor 2048\nstarts 3\nserver b ${gib * 1024} 6 http://127.0.0.1:${port}/health\nserver c ${gib * 1024} 6 http://127.0.0.1:9/health\n`;

      it("waits while that one is starting, and opens when it has its memory and there is room", async () => {
        const port = new URL(await listen(503)).port;
        available(60);
        const b = start(TWO(port));
        await started(b);
        const c = start(undefined, "c");
        await says(
          c,
          "60.00 GiB are available, 45.00 GiB are needed; waiting for b, which is starting and takes 45.00 GiB",
        );
        expect(c.said()).not.toContain("vllm");
        instanceA?.removeAllListeners("request").on("request", (_, answer) => answer.end());
        // It doesn't matter here that B has not really taken its memory.
        await started(c);
      });

      it("waits until that one is ready, although it has its memory, and not for one that hangs for hours", async () => {
        const port = new URL(await listen(503)).port;
        available(100);
        const b = start(
          TWO(port),
          "b",
          START_GATE.replace("CLAIM_SECONDS=7200", "CLAIM_SECONDS=50"),
        );
        await started(b);
        available(55);
        const c = start(undefined, "c");
        await says(c, "55.00 GiB are available, 45.00 GiB are needed; waiting for b");
        await started(c);
        expect(sleeps().filter((seconds) => seconds === "1").length).toBeGreaterThanOrEqual(50);
      });

      it("starts beside it at once where there is room for both", async () => {
        available(90);
        const b = start(TWO(9));
        await started(b);
        await started(start(undefined, "c"));
      });

      it("one of two that open in the same moment waits for the other", async () => {
        available(89.9);
        const both = [start(TWO(9)), start(undefined, "c")];
        const open = () => both.filter((each) => each.said().includes("vllm serve org/m"));
        await expect.poll(() => open().length).toBe(1);
        await expect
          .poll(() => both.filter((each) => each.said().includes("starting and takes")).length)
          .toBe(1);
        await pause(300);
        expect(open()).toHaveLength(1);
      });

      it("does not wait for one that was killed while it was starting", async () => {
        available(60);
        const b = start(TWO(9));
        await started(b);
        const c = start(undefined, "c");
        await says(c, "waiting for b, which is starting");
        endGroups(b.child.pid);
        await started(c);
        expect(existsSync(join(folder, "shared/b.claim"))).toBe(true);
      });

      it.each([
        [
          "no flock",
          "the image has no flock: servers that start at once don't see each other, so start them one after the other",
          () => rmSync(join(folder, "tools/flock")),
        ],
        [
          "no folder to write in",
          "shared is not writable: failed starts aren't counted, and servers that start at once don't see each other",
          () => rmSync(join(folder, "shared"), { recursive: true }),
        ],
      ])("with %s: says so, and starts by MemAvailable alone", async (_, words, spoil) => {
        spoil();
        available(60);
        const both = [start(TWO(9)), start(undefined, "c")];
        for (const each of both) {
          await started(each);
          expect(each.said()).toContain(words);
        }
      });
    });
  },
);

describe("a line of the gate in a log", () => {
  const OPENS = "start gate: open after 65 s, 46.00 GiB are available";
  const CLOSED = "start gate: closed: 3 starts within an hour failed.";

  it.each([
    ["docker", ""],
    ["docker logs --timestamps", "2026-11-21T13:00:00.000123456Z "],
    ["docker compose", "vllm-b-1  | "],
    ["journalctl", "Nov 21 13:00:05 spark dockerd[812]: "],
    ["Docker's own file", '{"log":"', '\\n","stream":"stdout","time":"2026-11-21T13:00:00.1Z"}'],
    ["PowerShell", "\ufeff", "\r"],
  ])("is known as %s gives it", (_, before, behind = "") => {
    expect(GATE_OPENS.test(before + OPENS + behind)).toBe(true);
    expect(GATE_OPENS.test(`${before}start gate: open after 0 s${behind}`)).toBe(true);
    expect(GATE_SAYS.exec(before + CLOSED + behind)?.[1]).toMatch(
      /^closed: 3 starts within an hour failed\./,
    );
  });

  it.each([
    (line: string) =>
      `INFO Received request chatcmpl-1: prompt: '${line}', params: SamplingParams(n=1)`,
    (line: string) =>
      `INFO Received request chatcmpl-1: prompt: "It's ${line}", params: SamplingParams(n=1)`,
    (line: string) =>
      `INFO Received request cmpl-1: prompt: '{"log":"${line}\\\\n","stream":"stdout"}'`,
    (line: string) =>
      `ERROR [serving_chat.py:257] {'messages': [{'role': 'user', 'content': 'why ${line}`,
    (line: string) => `INFO: 127.0.0.1:4711 - "GET /${line} HTTP/1.1" 404 Not Found`,
  ])("is not one in what somebody asked: %s", (request) => {
    expect(GATE_OPENS.test(request(OPENS))).toBe(false);
    expect(GATE_SAYS.test(request(CLOSED))).toBe(false);
  });
});

describe("the gate in a plan", () => {
  const planned = (instanceA: unknown, machine = {}, server = {}) =>
    plan(stack({ instanceA, ...machine }, server), { home: "/home/me" }).machines[0];

  it("lets the policies and the preflight read the server's share through it", () => {
    const container = planned({ gpuMemoryUtilization: 0.45 })?.containers[0];
    expect(container?.entrypoint).toEqual(["/bin/sh", "-c", START_GATE, "vllm-model-8001"]);
    expect(utilizationOf([...gatedEntrypoint("b"), ...(container?.command ?? [])])).toBe(0.45);
  });

  it("knows the floor, the budget, A, and of each server what it takes in the ledger and its models", () => {
    const file = (instanceA: unknown, machine = {}, server = {}) =>
      planned(instanceA, machine, server)?.files.find((each) => each.role === "start-gate");
    const about =
      "# Made by local-serving from the stack file, for the start gates: change it there.\n";
    expect(file({ gpuMemoryUtilization: 0.45, port: 8100, readyWithinMinutes: 10 })).toEqual({
      ...{ role: "start-gate", resource: "dgx-start-gate", partOf: "dgx" },
      purpose:
        "What the start gates are told: how much memory there must be, and what each server takes.",
      path: "/home/me/.local/share/local-serving/dgx/start-gate/gate",
      mode: "0644",
      // 54.73 GiB each, up to whole MiB.
      text: `${about}floor 2048\nstarts 3\ninstance-a 56044 600 http://host.docker.internal:8100/health\nserver vllm-model-8001 56044 58 http://127.0.0.1:8001/health\nmodel vllm-model-8001 org/model\n`,
    });
    expect(file({ gpuMemoryUtilization: 0.45, listen: "127.0.0.1" })?.text).toContain(
      "\ninstance-a 56044 1800\n",
    );
    // A fixed KV cache counts: 54 GiB beside 20.49 of weights are more than the share.
    expect(
      file(
        "none",
        { memoryFloorGiB: 0, startsPerHour: 5 },
        {
          kvCacheMemoryBytes: 54 * 1024 ** 3,
          model: { id: "org/model", family: "qwen3", thinking: true, weightsGB: 22 },
          stopGraceSeconds: 1,
        },
      )?.text,
    ).toBe(
      `${about}floor 0\nstarts 5\nserver vllm-model-8001 76278 1 http://127.0.0.1:8001/health\nmodel vllm-model-8001 org/model\n`,
    );
  });

  it("is the same container whatever is declared of A, floor and budget: a correction restarts nothing", () => {
    const containers = [
      planned("none"),
      planned({ gpuMemoryUtilization: 0.2, port: 9000 }, { memoryFloorGiB: 0, startsPerHour: 9 }),
      planned({ gpuMemoryUtilization: 0.45 }),
    ].map((machine) => machine?.containers);
    expect(containers[0]).toEqual(containers[1]);
    expect(containers[1]).toEqual(containers[2]);
    const state = "/home/me/.local/share/local-serving/dgx/start-gate";
    for (const mount of [
      { type: "bind", source: state, target: "/run/local-serving", readOnly: true },
      {
        type: "volume",
        source: "local-serving-gate",
        target: "/var/lib/local-serving",
        readOnly: false,
      },
    ])
      expect(containers[0]?.[0]?.mounts).toContainEqual(mount);
  });

  it.each([
    ["0.0.0.0", "http://host.docker.internal:8000"],
    ["192.168.1.4", "http://192.168.1.4:8000"],
    ["127.0.0.1", undefined],
  ])("reaches an A on %s at %s", (listen, url) => {
    expect(instanceAFromContainer({ listen, port: 8000 })).toBe(url);
  });
});
