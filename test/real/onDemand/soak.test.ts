import { randomInt } from "node:crypto";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeOnDemand } from "./available";
import { type Answered, answers, ask, NOBODY } from "./client";
import { kill } from "./processes";
import { container, GIB, KEYS, type Key, model, type Rig, SETS, startRig } from "./rig";

const REQUESTS = Number(process.env.ON_DEMAND_REQUESTS ?? 2000);
/** Fewer are enough on a computer that takes longer. */
const LONGEST_MINUTES = Number(process.env.ON_DEMAND_MINUTES ?? 30);
const CLIENTS = 8;
/** Seconds between two kills, at least and at most. */
const KILLS_EVERY = [3, 9] as const;
/** A container that nothing has room for is gone by then: a look, a stop and its grace. */
const BEYOND_SECONDS = 60;
/** What a kill may still do to a request that begins so many seconds after it. */
const AFTERMATH_SECONDS = 3;
/** Until the next look, what its start was killed for is stopped for another one. */
const AFTERMATH_OF: Readonly<Record<string, number>> = { start: 40, daemon: 8 };

interface Kill {
  readonly what: string;
  /** Undefined where it concerns all. */
  readonly key: Key | undefined;
  readonly at: number;
  done: number;
}

interface Asked extends Answered {
  readonly key: Key;
  readonly stream: boolean;
  readonly began: number;
  readonly ended: number;
}

const inSet = (keys: readonly Key[]) => SETS.some((set) => keys.every((key) => set.includes(key)));
const pick = <Item>(items: readonly Item[]) => items[randomInt(items.length)] as Item;

describeOnDemand("models on demand: requests in any order while everything is killed", () => {
  let rig: Rig;
  const kills: Kill[] = [];
  const asked: Asked[] = [];
  const faults: string[] = [];
  let going = true;
  let latest = 0;

  beforeAll(async () => {
    rig = await startRig();
    rig.declare({ startWithin: 30, retryAfter: 5 });
    rig.unit.start();
    while (!(await answers(rig.address))) await sleep(100);
  });
  afterAll(() => rig?.close());

  /** What a client does: one request after the other; where nothing listens it waits a second. */
  async function client() {
    while (asked.length < REQUESTS && Date.now() < latest) {
      const key = pick(KEYS);
      const stream = randomInt(3) === 0;
      const began = Date.now();
      const answer = await ask(rig.address, key, { stream, tenths: randomInt(stream ? 30 : 8) });
      if (answer.status === NOBODY) await sleep(500);
      else asked.push({ ...answer, key, stream, began, ended: Date.now() });
    }
  }

  const processOf = (...words: string[]) =>
    rig.unit
      .processes()
      .filter(({ args }) => words.every((word) => args.some((each) => each.endsWith(word))));
  /** One of these, if there are any. */
  const one = (keys: readonly Key[]) => (keys.length === 0 ? undefined : pick(keys));
  const docker = (...words: string[]) => rig.daemon.docker(...words);
  const daemonEnds = async () => {
    await (randomInt(2) === 0 ? rig.daemon.kill() : rig.daemon.stop());
    await sleep(randomInt(2000));
    await rig.daemon.start();
  };
  const unitRestarts = async () => {
    await rig.unit.stop();
    rig.unit.start();
  };
  /** What concerns all. */
  const all: Readonly<Record<string, () => unknown>> = {
    "llama-swap": () => processOf("llama-swap", "-config").map(({ pid }) => kill(pid)),
    run: () => kill(rig.unit.pid()),
    unit: unitRestarts,
    daemon: daemonEnds,
  };
  /** What concerns one server. */
  const its: Readonly<Record<string, (key: Key) => unknown>> = {
    start: (key) => processOf("on-demand.py", "start", container(key)).map(({ pid }) => kill(pid)),
    container: (key) => docker("kill", container(key)),
    engine: async (key) => (await programOf(key)).map((pid) => kill(pid)),
    "stop by hand": (key) => docker("stop", container(key)),
    "start by hand": (key) => docker("start", container(key)),
    replacement: async (key) => {
      await docker("rm", "--force", container(key));
      await rig.create(key);
    },
    "can't start": (key) => {
      rig.behave(key, { fails: "ValueError: not today" });
      setTimeout(() => rig.behave(key, {}), 8000);
    },
  };
  const programOf = async (key: Key) =>
    (await rig.daemon.docker("top", container(key), "-o", "pid,args"))
      .split("\n")
      .filter((line) => line.includes("/opt/stub.cjs"))
      .map((line) => Number(line.trim().split(" ")[0]));

  async function killer() {
    while (going) {
      await sleep(1000 * KILLS_EVERY[0] + randomInt(1000 * (KILLS_EVERY[1] - KILLS_EVERY[0])));
      const what = pick([...Object.keys(all), ...Object.keys(its)]);
      const running = await rig.running().catch(() => []);
      const key = what in all ? undefined : what === "start by hand" ? pick(KEYS) : one(running);
      if (key === undefined && what in its) continue;
      const killed: Kill = { what, key, at: Date.now(), done: Number.POSITIVE_INFINITY };
      kills.push(killed);
      // A container that is gone meanwhile: the next kill finds another.
      try {
        await (key === undefined ? all[what]?.() : its[what]?.(key));
      } catch {}
      killed.done = Date.now();
    }
  }

  /** Every fifth of a second: what is open fits, and what is beyond a set isn't so for long. */
  async function sampler() {
    let beyondSince: number | undefined;
    let samples = 0;
    let longest = 0;
    while (going) {
      const open = rig.open();
      if (!inSet(open)) faults.push(`open beyond a set at ${Date.now()}: ${open.join(" ")}`);
      const running = await rig.running().catch(() => undefined);
      samples += 1;
      if (running !== undefined) {
        beyondSince = inSet(running) ? undefined : (beyondSince ?? Date.now());
        longest = Math.max(longest, beyondSince === undefined ? 0 : Date.now() - beyondSince);
      }
      await sleep(200);
    }
    return { samples, longestBeyondMs: longest };
  }

  const killedWhile = ({ key, began, ended }: Asked) =>
    kills.some(
      (each) =>
        (each.key === undefined || each.key === key) &&
        each.at <= ended + 500 &&
        began <= each.done + 1000 * (AFTERMATH_OF[each.what] ?? AFTERMATH_SECONDS),
    );

  /** What is wrong with an answer, `undefined` where it is its own model's or one sentence. */
  function judged(each: Asked): string {
    if (each.status === 200) {
      if (!each.whole) return "stream cut";
      const own = each.text.match(/org\/model-\w/g) ?? [];
      return own.every((name) => name === model(each.key)) && own.length > 0 ? "own" : "another's";
    }
    if (each.status === 0) return "no answer";
    if (each.status === 503 && each.text.includes(`${model(each.key)} did not start: `))
      return "sentence";
    return `${each.status} ${each.text.slice(0, 120)}`;
  }

  it("each is answered by its own model or with a sentence, and memory is never beyond the ledger", async () => {
    const since = Date.now();
    latest = since + LONGEST_MINUTES * 60_000;
    const watched = sampler();
    const killing = killer();
    await Promise.all(Array.from({ length: CLIENTS }, client));
    going = false;
    await killing;
    const { samples, longestBeyondMs } = await watched;
    const kinds: Record<string, number> = {};
    for (const each of asked) kinds[judged(each)] = (kinds[judged(each)] ?? 0) + 1;
    const by = (items: readonly string[]) =>
      Object.fromEntries(items.map((item) => [item, items.filter((each) => each === item).length]));
    const report = {
      requests: asked.length,
      seconds: Math.round((Date.now() - since) / 1000),
      kinds,
      kills: by(kills.map(({ what }) => what)),
      events: by(rig.events().map(({ event }) => String(event))),
      samples,
      longestBeyondMs,
      slowest: Math.max(...asked.map(({ seconds }) => seconds)),
      memory: GIB,
      faults,
    };
    const kept = process.env.ON_DEMAND_REPORT;
    if (kept !== undefined) {
      mkdirSync(kept, { recursive: true });
      writeFileSync(join(kept, "report.json"), JSON.stringify(report, null, 2));
      writeFileSync(
        join(kept, "asked.json"),
        JSON.stringify(asked.map((each) => ({ ...each, judged: judged(each) }))),
      );
      writeFileSync(join(kept, "kills.json"), JSON.stringify(kills));
      cpSync(join(rig.folder, "state/swaps.jsonl"), join(kept, "swaps.jsonl"));
      cpSync(join(rig.folder, "unit.log"), join(kept, "unit.log"));
    }
    console.log(JSON.stringify(report, null, 2));
    expect(faults).toEqual([]);
    expect(longestBeyondMs).toBeLessThan(BEYOND_SECONDS * 1000);
    const unkilled = asked.filter(
      (each) => !["own", "sentence"].includes(judged(each)) && !killedWhile(each),
    );
    expect(unkilled.map((each) => [judged(each), each.key, each.began, each.ended])).toEqual([]);
    expect(kinds["another's"]).toBeUndefined();
  });
});
