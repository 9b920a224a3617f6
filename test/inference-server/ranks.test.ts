import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GATE_OPENS } from "../../cli/sees/gateLines";
import { START_GATE } from "../../components/inference-server/startGate";
import { temporaryFolder } from "../layers/temporaryFolder";
import { childrenOf, runs, SHELLS, which } from "./processes";

/** What a server's image has, and no more. */
const TOOLS = ["cat", "curl", "date", "flock", "mkdir", "python3", "rm", "sed", "setsid"];
/** In this test's seconds another rank's look may take long. */
const GATE = START_GATE.replace("ALONE_SECONDS=30", "ALONE_SECONDS=60").replace(
  "SILENT_SECONDS=60",
  "SILENT_SECONDS=15",
);
const GATE_PORT = 29502;
const PORT = 8001;

/** Moved into place: nobody reads half a file. */
function put(path: string, text: string, mode = 0o644): void {
  writeFileSync(`${path}.unfinished`, text);
  chmodSync(`${path}.unfinished`, mode);
  renameSync(`${path}.unfinished`, path);
}

/**
 * A process and all that it started, however often that was handed on, as long as each parent is
 * there.
 */
const family = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(family)];

const kill = (pids: readonly number[]) => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
};

interface Declared {
  readonly gib?: number;
  readonly starts?: number;
}

/**
 * A rank's container on a machine of its own, restarted as Docker restarts it, `unless-stopped`.
 */
class Rank {
  private child: ChildProcess | undefined;
  private restarts = false;
  private text = "";
  /** Exit codes of the containers so far. */
  readonly ended: (number | NodeJS.Signals | null)[] = [];

  constructor(
    private readonly folder: string,
    private readonly shell: readonly string[],
    readonly index: number,
    private readonly addresses: readonly string[],
    private mark = "4f2a",
  ) {
    for (const each of ["shared", "tools", "net/link0"])
      mkdirSync(join(folder, each), { recursive: true });
    for (const tool of TOOLS) symlinkSync(which(tool), join(folder, "tools", tool));
    this.program("sleep", "exec /bin/sleep 0.02");
    this.engine("while :; do /bin/sleep 0.05; done");
    this.link("up");
    this.available(50);
    this.declare();
  }

  private at = (name: string) => join(this.folder, name);

  program(name: string, body: string): void {
    put(this.at(name), `#!/bin/sh\n${body}\n`, 0o755);
  }
  /** What its vLLM does. TERM ends it. */
  engine(body: string): void {
    this.program(
      "vllm",
      `trap "exit 0" TERM; echo $$ > ${this.at("vllm.pid")}; echo "vllm $*"; ${body}`,
    );
  }
  link(state: string): void {
    put(this.at("net/link0/operstate"), `${state}\n`);
  }
  available(gib: number): void {
    put(this.at("meminfo"), `MemAvailable: ${gib * 1024 ** 2} kB\n`);
  }
  declare({ gib = 45, starts = 3 }: Declared = {}): void {
    const [own = "", ...others] = [
      ...this.addresses.slice(this.index),
      ...this.addresses.slice(0, this.index),
    ];
    const lines = [
      "floor 2048",
      `starts ${starts}`,
      `server b ${gib * 1024} 600 http://${this.addresses[0]}:${PORT}/health`,
      `rank b ${this.index} ${own} ${GATE_PORT} link0`,
      ...others.map(
        (address) => `peer b dgx${this.addresses.indexOf(address) + 1} ${address} ${GATE_PORT}`,
      ),
      // Another server's.
      `server c 1 6 http://127.0.0.1:9/health\nrank c 0 192.0.2.1 1 none0\npeer c dgx9 192.0.2.2 1`,
    ];
    put(this.at("gate"), `${lines.join("\n")}\n`);
  }
  /** What `serving up` does to a container that changed. */
  async replace(mark: string): Promise<void> {
    await this.stop();
    this.mark = mark;
    rmSync(this.at("own"), { recursive: true, force: true });
    this.start();
  }
  start(script = GATE): void {
    this.restarts = true;
    const places = [
      ["/proc/meminfo", "meminfo"],
      ["/run/local-serving/gate", "gate"],
      ["/var/lib/local-serving", "shared"],
      ["/tmp/start-gate", "own"],
      ["/sys/class/net", "net"],
      // busybox would take its own.
      ['sleep "$1"', 'sleep "$1"'],
    ] as const;
    const text = places.reduce((all, [from, to]) => all.replaceAll(from, this.at(to)), script);
    const [program = "", ...words] = this.shell;
    const child = spawn(
      which(program),
      [...words, "-c", text, "b", "org/m", "--node-rank", String(this.index)],
      {
        detached: true,
        env: { PATH: `${this.folder}:${this.at("tools")}`, LOCAL_SERVING_RANKS: this.mark },
      },
    );
    this.child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (this.text += String(chunk)));
    child.on("exit", (code, signal) => {
      this.child = undefined;
      this.ended.push(code ?? signal);
      if (this.restarts) this.start(script);
    });
  }
  /** All of the container at once, as `docker kill` or an end for memory. */
  kill(): void {
    const { pid } = this.child ?? {};
    if (pid === undefined) return;
    // Nothing is started behind the look at what there is.
    this.child?.kill("SIGSTOP");
    kill([...family(pid), -pid]);
  }
  /** By default as if its machine were gone. */
  async stop(end = () => this.kill()): Promise<void> {
    const started = this.child?.pid === undefined ? [] : family(this.child.pid);
    this.restarts = false;
    end();
    await expect
      .poll(() => [
        ...started.filter(runs),
        ...(this.child === undefined ? [] : ["not told of its end"]),
      ])
      .toEqual([]);
  }
  term = () => this.stop(() => this.child?.kill("SIGTERM"));
  private enginePid = () => Number(readFileSync(this.at("vllm.pid"), "utf8"));
  /** Its vLLM alone. */
  killEngine(): void {
    kill([this.enginePid()]);
  }
  /** As vLLM does when its engine dies in service: it ends with 0. */
  endEngine(): void {
    process.kill(this.enginePid(), "SIGTERM");
  }

  said = () => this.text;
  opened = () => this.text.split("\n").filter((line) => GATE_OPENS.test(line)).length;
  /** Starts that were counted. */
  starts = () => {
    const file = this.at("shared/b.starts");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").slice(1).length : 0;
  };
  claims = () => spawnSync("flock", ["-n", this.at("shared/b.claim"), "true"]).status !== 0;
}

let ranks: Rank[] = [];
const servers: (Server | ReturnType<typeof createHttpServer>)[] = [];

afterEach(async () => {
  await Promise.all(ranks.map((each) => each.stop()));
  for (const each of servers.splice(0)) each.close();
});

describe.each(SHELLS.map((shell) => [shell.join(" "), shell] as const))(
  "the gates of two ranks under %s",
  (_, shell) => {
    let one: Rank;
    let two: Rank;
    let addresses: string[];

    beforeEach(() => {
      // Loopback addresses of this test's own.
      const net = `127.${randomInt(1, 255)}.${randomInt(0, 255)}`;
      addresses = [`${net}.2`, `${net}.3`];
      const folder = temporaryFolder("ranks-");
      ranks = addresses.map(
        (_, index) => new Rank(join(folder, `dgx${index + 1}`), shell, index, addresses),
      );
      [one, two] = ranks as [Rank, Rank];
    });

    const says = (rank: Rank, words: string | RegExp) => expect.poll(rank.said).toMatch(words);
    /** Both have started vLLM so often, each a counted start, and run it. */
    const run = async (times: number) => {
      await expect.poll(() => ranks.map((each) => each.opened())).toEqual([times, times]);
      await expect
        .poll(() => ranks.map((each) => each.said().split("vllm serve org/m").length - 1))
        .toEqual([times, times]);
      expect(ranks.map((each) => each.starts())).toEqual([times, times]);
    };
    /** Has spent no start, and holds no memory but for a moment. */
    const idle = async (rank: Rank) => {
      await expect.poll(rank.claims).toBe(false);
      expect([rank.opened(), rank.starts()]).toEqual([0, 0]);
    };
    const both = async (script = GATE) => {
      for (const each of ranks) each.start(script);
      await run(1);
    };
    const url = () => `http://${addresses[0]}:${PORT}/health`;
    /** The API of the head, as both gates ask it. */
    const health = async (status: number) => {
      let times = 0;
      const server = createHttpServer((_, answer) => {
        times += 1;
        answer.writeHead(status).end();
      });
      await new Promise<void>((resolve) => server.listen(PORT, addresses[0], resolve));
      servers.push(server);
      return {
        answer: (next: number) => {
          status = next;
        },
        times: () => times,
      };
    };

    it("a rank that was never started: the other waits for it by name, and spends no start and no memory", async () => {
      one.start();
      await says(
        one,
        `start gate: waiting for the rank on dgx2: its gate at ${addresses[1]}:${GATE_PORT} does not answer\n`,
      );
      await idle(one);
      two.start();
      await run(1);
      expect(ranks.map((each) => each.claims())).toEqual([true, true]);
      expect(one.said()).toContain("vllm serve org/m --node-rank 0\n");
    });

    it("a rank that is killed while it starts: both start again", async () => {
      await both();
      two.kill();
      await says(
        one,
        "start gate: stopped for the rank on dgx2: it has ended; vLLM ends here too, and starts again with all ranks\n",
      );
      await run(2);
      expect([one.ended, two.ended]).toEqual([[], ["SIGKILL"]]);
    });

    it("a rank left over from an earlier start: the head waits until it has ended", async () => {
      await both();
      two.engine('trap "" TERM; while :; do /bin/sleep 0.05; done');
      two.killEngine();
      await run(2);
      one.kill();
      await says(two, "stopped for the rank on dgx1: it has ended");
      await says(
        one,
        /waiting for the rank on dgx2: it can't start, (?:it is in an earlier start|its vLLM is ending)\n/,
      );
      await says(two, "start gate: vLLM did not end in time: KILL");
      await run(3);
    });

    it("TERM ends all of a rank, the listener too, whether it waits or runs, and is no failed start", async () => {
      one.start();
      await says(one, "waiting for the rank on dgx2");
      await one.term();
      expect(one.ended).toEqual([143]);
      await both();
      await two.term();
      expect(two.ended).toEqual([0]);
      expect(two.starts()).toBe(0);
      await says(one, /stopped for the rank on dgx2: [\s\S]*waiting for the rank on dgx2: /);
      await one.term();
      expect(one.ended).toEqual([143, 143]);
    });

    // What follows is the same in every shell.
    if (shell !== SHELLS[0]) return;

    it("a rank that is killed in service: the head's vLLM ends, and both start again", async () => {
      await health(200);
      await both();
      two.kill();
      one.killEngine();
      await run(2);
      expect(one.ended).toEqual([137]);
    });

    it("a head that is killed: the rank that stays alive is ended, and starts again with it", async () => {
      await both();
      await one.stop();
      await says(
        two,
        /stopped for the rank on dgx1: its gate at \S+ does not answer; vLLM ends here too/,
      );
      await says(two, "waiting for the rank on dgx1");
      expect([two.opened(), two.starts()]).toEqual([1, 1]);
      one.start();
      await run(2);
    });

    it("a link that is down: both stop, wait and start again when it is back", async () => {
      await both();
      one.link("down");
      await says(
        one,
        "stopped for the link: link0 is down; vLLM ends here too, and starts again with all ranks",
      );
      await says(two, "stopped for the rank on dgx1: it has ended");
      await says(one, "waiting for the link: link0 is down");
      await says(
        two,
        "waiting for the rank on dgx1: it can't start, waiting for the link: link0 is down",
      );
      expect(ranks.map((each) => each.opened())).toEqual([1, 1]);
      one.link("up");
      await run(2);
    });

    it("other arguments: refused before a start, on both", async () => {
      await two.replace("0bad");
      one.start();
      for (const [rank, other] of [
        [one, "dgx2"],
        [two, "dgx1"],
      ] as const)
        await says(
          rank,
          `waiting for the rank on ${other}: it has other arguments, another image or another environment; \`npm run up\` replaces both\n`,
        );
      for (const each of ranks) await idle(each);
      await two.replace("4f2a");
      await run(1);
    });

    it("a change of both, one after the other: the old start ends as soon as the first is replaced", async () => {
      await both();
      await two.replace("5c11");
      await says(
        one,
        /stopped for the rank on dgx2: it(?: has other arguments|s gate at \S+ does not answer)/,
      );
      await says(two, "waiting for the rank on dgx1: it has other arguments");
      await one.replace("5c11");
      await expect.poll(() => ranks.map((each) => each.opened())).toEqual([2, 2]);
      // New containers have new budgets.
      expect(ranks.map((each) => each.starts())).toEqual([1, 1]);
    });

    it("too little memory for one: neither starts, and both say why", async () => {
      two.available(30);
      for (const each of ranks) each.start();
      await says(two, "waiting for 45.00 GiB, 30.00 GiB are available");
      await says(
        one,
        "waiting for the rank on dgx2: it can't start, waiting for 45.00 GiB, 30.00 GiB are available\n",
      );
      for (const each of ranks) await idle(each);
      two.available(50);
      await run(1);
    });

    it("memory that runs out on one: both give way", async () => {
      await both();
      two.available(1);
      await says(two, "stopped at the floor: 1.00 GiB are available");
      await says(one, "stopped for the rank on dgx2: it has ended");
      await says(
        one,
        "waiting for the rank on dgx2: it can't start, waiting for 45.00 GiB, 1.00 GiB are available",
      );
      two.available(50);
      await run(2);
    });

    it("starts that fail: both close after their budget, and open by the command that the gate names", async () => {
      two.engine("exit 1");
      for (const each of ranks) each.start();
      await says(two, "closed: 3 starts within an hour failed.");
      await says(
        one,
        /closed: 3 starts within an hour failed\.|waiting for the rank on dgx2: it can't start, closed: 3 starts/,
      );
      expect(two.starts()).toBe(4);
      expect(two.said().split("vllm serve").length - 1).toBe(3);
      const [before] = [one.opened()];
      expect(before).toBeLessThanOrEqual(3);
      two.engine("while :; do /bin/sleep 0.05; done");
      for (const each of ranks) {
        each.declare({ starts: 9 });
      }
      await expect.poll(() => two.opened()).toBe(4);
      await expect.poll(() => one.opened()).toBe(before + 1);
    });

    it("an engine that dies and exits with 0: the container is restarted, and both start again", async () => {
      await both();
      one.endEngine();
      await run(2);
      expect(one.ended).toEqual([0]);
    });

    it("a head that never answers within the time of a start: its worker ends it", async () => {
      await both(GATE.replace("START_SECONDS=3600", "START_SECONDS=30"));
      await says(
        two,
        `stopped for the head: ${url()} has not answered for 15 s; vLLM ends here too, and starts again with all ranks`,
      );
      await run(2);
    });

    it("a head that stops answering: its worker ends it, as it does not one that has yet to answer", async () => {
      const asked = await health(503);
      await both();
      // More than it takes to end one that has answered.
      await expect.poll(asked.times).toBeGreaterThan(8);
      expect(two.said()).not.toMatch(/stopped|the head answers/);
      asked.answer(200);
      await says(two, "start gate: the head answers\n");
      asked.answer(503);
      await says(two, `stopped for the head: ${url()} has not answered for 15 s`);
      await says(one, "stopped for the rank on dgx2: ");
      await run(2);
    });

    it("a firewall that lets one see the other, and not the other way: neither starts", async () => {
      one.program(
        "curl",
        `case "$*" in *${addresses[1]}:*) exit 7 ;; esac; exec /usr/bin/curl "$@"`,
      );
      for (const each of ranks) each.start();
      await says(
        one,
        `waiting for the rank on dgx2: its gate at ${addresses[1]}:${GATE_PORT} does not answer\n`,
      );
      await says(
        two,
        `waiting for the rank on dgx1: it does not see this one at ${addresses[1]}:${GATE_PORT} yet (does a firewall stop it?)\n`,
      );
      for (const each of ranks) await idle(each);
      one.program("curl", 'exec /usr/bin/curl "$@"');
      await run(1);
    });

    it("a port that is taken: says so, and starts when it is free", async () => {
      const other = createServer((asked) => asked.destroy());
      await new Promise<void>((resolve) => other.listen(GATE_PORT, addresses[0], resolve));
      for (const each of ranks) each.start();
      await says(
        one,
        `waiting for the link: the gate can't listen on ${addresses[0]}:${GATE_PORT} (does link0 have that address, and is the port free?)\n`,
      );
      for (const each of ranks) await idle(each);
      other.close();
      await run(1);
    });
  },
);
