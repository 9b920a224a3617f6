import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HOST_FILE_SCRIPT, hostFileRequest } from "../../components/host/hostFileRequest";
import { freshFolder, IS_ROOT, NOBODY, run, snapshot, URN } from "../host/hostFileRun";

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 400);
const seed = Number(process.env.FAST_CHECK_SEED ?? Date.now() % 2 ** 31);

const word = fc.constantFrom("write" as const, "write" as const, "restore" as const);
/**
 * At which thousandth of a run's time it is killed, and whether its programs die with the shell or
 * go on.
 */
const killed = fc.record({
  word,
  at: fc.noBias(fc.integer({ min: 0, max: 1200 })),
  whole: fc.boolean(),
});
type Kill = typeof killed extends fc.Arbitrary<infer One> ? One : never;
/** Whose file they put at the path, and whether the operator can read it. */
const edited = fc.record({
  they: fc.constantFrom("readable", "unreadable", "root's", "root's, unreadable"),
});
const round = fc.record({
  before: fc.option(edited),
  deep: fc.boolean(),
  steps: fc.array(fc.oneof({ weight: 3, arbitrary: killed }, { weight: 1, arbitrary: edited }), {
    maxLength: 4,
  }),
  last: killed,
  writesAgain: fc.boolean(),
});

/** One file in a folder of the operator's, and what others put there. */
class Place {
  readonly home = freshFolder();
  readonly path: string;
  /** Texts of theirs that they have not replaced themselves. */
  readonly theirs = new Set<string>();
  /**
   * Every text of theirs: one that a killed run had kept comes back, though they replaced it
   * before ours was there.
   */
  readonly wrote: string[] = [];

  constructor(
    deep: boolean,
    readonly asNobody: boolean,
  ) {
    this.path = join(this.home, deep ? "a/b/file" : "file");
    if (asNobody) chownSync(this.home, NOBODY, NOBODY);
  }

  content(): string | undefined {
    return existsSync(this.path) ? readFileSync(this.path, "utf8") : undefined;
  }

  theyWrite({ they }: { readonly they: string }): void {
    if (!existsSync(dirname(this.path))) return;
    const unreadable = they.endsWith("unreadable") && (IS_ROOT || this.asNobody);
    this.theirs.delete(this.content() ?? "");
    const text = `theirs ${this.wrote.length + 1}`;
    this.wrote.push(text);
    this.theirs.add(text);
    rmSync(this.path, { force: true });
    writeFileSync(this.path, text);
    chmodSync(this.path, unreadable ? (they.startsWith("root") ? 0o600 : 0) : 0o644);
    if (this.asNobody && !they.startsWith("root")) chownSync(this.path, NOBODY, NOBODY);
  }

  theyMakeFolders(): void {
    mkdirSync(dirname(this.path), { recursive: true });
    if (!this.asNobody) return;
    for (let folder = dirname(this.path); folder !== this.home; folder = dirname(folder))
      chownSync(folder, NOBODY, NOBODY);
  }

  /**
   * Starts a run and kills it at some part of the time that a whole one takes; whether it was
   * killed before its end.
   */
  async killed({ word, at, whole }: Kill, content: string, takes: number): Promise<boolean> {
    const child = spawn("sh", ["-c", HOST_FILE_SCRIPT, "host-file", word], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      ...(this.asNobody ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    const end = once(child, "close");
    child.stdin.on("error", () => undefined);
    child.stdin.end(hostFileRequest({ path: this.path, mode: "0644", holder: URN, content }));
    await Promise.race([sleep((at / 1000) * takes), end]);
    if (child.exitCode === null)
      process.kill(whole ? -(child.pid ?? 0) : (child.pid ?? 0), "SIGKILL");
    await end;
    // A program that outlived its shell ends before anybody looks, as the next run would wait for
    // it.
    spawnSync("flock", ["/", "true"]);
    return child.signalCode === "SIGKILL";
  }

  run(word: "write" | "restore", content: string) {
    return run(word, { path: this.path, content }, { asNobody: this.asNobody });
  }

  losesNothing(): void {
    const kept = Object.values(snapshot(this.home)).map((entry) => entry.replace(/^\S+ \S+ /, ""));
    for (const each of this.theirs) expect(kept, `${each} is lost`).toContain(each);
  }
}

/** How long a whole run takes on this machine now. */
function timeOfARun(): number {
  const place = new Place(true, false);
  const started = performance.now();
  for (let count = 0; count < 5; count++) place.run("write", String(count));
  return (performance.now() - started) / 5;
}

type Round = typeof round extends fc.Arbitrary<infer One> ? One : never;

/**
 * Plays a round, and checks after each kill and at the end; of each run, whether it was killed
 * before its end.
 */
async function play(one: Round, asNobody: boolean, takes: number): Promise<boolean[]> {
  const place = new Place(one.deep, asNobody);
  if (one.before !== null) {
    place.theyMakeFolders();
    place.theyWrite(one.before);
  }
  const folders = Object.keys(snapshot(place.home)).filter((name) => name.endsWith("/"));
  const ended: boolean[] = [];
  for (const [index, step] of [...one.steps, one.last].entries()) {
    if ("they" in step) {
      place.theyWrite(step);
      continue;
    }
    const before = place.content();
    const text = `ours ${index}`;
    ended.push(await place.killed(step, text, takes));
    place.losesNothing();
    expect([before, text, undefined, ...place.wrote]).toContain(place.content());
  }
  if (one.writesAgain) {
    expect(place.run("write", "ours at last")).toMatchObject({ status: 0, refused: "" });
    expect(place.content()).toBe("ours at last");
  }
  expect(place.run("restore", "")).toMatchObject({ status: 0, refused: "" });
  place.losesNothing();
  const left = Object.entries(snapshot(place.home));
  expect(
    left.filter(([name, entry]) => name.includes("local-serving") || entry.includes("ours")),
  ).toEqual([]);
  if (place.theirs.size === 0) expect(left.map(([name]) => name)).toEqual(folders);
  return ended;
}

describe(`a host file's runs under kill -9 at any moment (FAST_CHECK_SEED=${seed})`, () => {
  it.skipIf(!IS_ROOT).each([
    ["root", false],
    ["nobody, which only root can run it as", true],
  ] as const)(
    `${ROUNDS} rounds as %s: nothing of theirs is lost, and the next run goes on`,
    async (_, asNobody) => await rounds(asNobody),
    3_600_000,
  );
  it.skipIf(IS_ROOT)(
    `${ROUNDS} rounds as a user who isn't root`,
    async () => await rounds(false),
    3_600_000,
  );
});

async function rounds(asNobody: boolean): Promise<void> {
  const takes = timeOfARun();
  const runs: boolean[] = [];
  for (const one of fc.sample(round, { numRuns: ROUNDS, seed })) {
    const played = await play(one, asNobody, takes).catch((error: unknown) => {
      throw new Error(`Round ${JSON.stringify(one)}`, { cause: error });
    });
    runs.push(...played);
  }
  const kills = runs.filter(Boolean).length;
  console.log(
    `${ROUNDS} rounds: ${kills} of ${runs.length} runs killed; a whole one takes ${takes.toFixed(0)} ms here.`,
  );
  expect(kills).toBeGreaterThan(ROUNDS / 2);
}
