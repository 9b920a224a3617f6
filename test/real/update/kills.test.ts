import { spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { PinnedImage } from "../../docker/makeImage";
import { describeEngineWithGpus } from "../../engine/available";
import { type HostProcess, startInstanceA } from "../../engine/instanceA";
import { SHARE } from "../../engine/stackConfig";
import { VerifiedStack } from "../../engine/verifiedStack";
import { freePort } from "../../layers/freePort";
import { type SampledMemory, sampleMemory } from "./sampledMemory";
import { image, WRONG } from "./wrongImages";

/** Places at which a run is killed, evenly over all lines that it prints. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 40);

const LOOK_EVERY_MILLISECONDS = 20;

const VERIFIED = ["up", "--verified", "--again", "--yes", "--color", "never"];

describeEngineWithGpus("`serving up --verified` that is killed", () => {
  let stack: VerifiedStack;
  let instanceA: HostProcess;
  let images: Readonly<Record<"right" | "wrong", PinnedImage>>;
  let memory: SampledMemory;
  let aBefore: string;
  /** Lines that a run prints which nobody kills, by what it applies. */
  const lines = { right: 0, wrong: 0 };

  beforeAll(async () => {
    const port = await freePort();
    instanceA = await startInstanceA(port, SHARE);
    const machine = { instanceA: { port, gpuMemoryUtilization: SHARE } };
    stack = await VerifiedStack.open(await image(), { machine });
    const wrong = await WRONG["ends at once"]?.make();
    if (wrong === undefined) throw new Error("no image that ends at once");
    images = { right: await image(), wrong };
    memory = sampleMemory(stack.container);
    aBefore = instanceA.startTime();
    for (const kind of ["wrong", "right"] as const) {
      stack.configure(images[kind]);
      lines[kind] = (await untilLine(Number.POSITIVE_INFINITY)).lines;
      await backToOld();
    }
  }, 900_000);
  afterAll(async () => {
    memory.stop();
    instanceA.stop();
    await stack.close();
  });

  const said = () => join(stack.workspace.root, "said");
  const printed = () => readFileSync(said(), "utf8");

  /** Runs it until it has printed so many lines, and kills it there: alone, or all of its group. */
  async function untilLine(line: number, whole = true) {
    const { project, env } = stack.workspace;
    const output = openSync(said(), "w");
    const [program, ...words] = stack.words(...VERIFIED);
    const child = spawn(program, words, {
      ...{ cwd: project, detached: true, stdio: ["ignore", output, output] },
      env: { ...process.env, ...env },
    });
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    let isRunning = true;
    void ended.then(() => {
      isRunning = false;
    });
    const count = () => printed().split("\n").length - 1;
    while (isRunning && count() < line) await sleep(LOOK_EVERY_MILLISECONDS);
    if (isRunning && child.pid !== undefined)
      process.kill(whole ? -child.pid : child.pid, "SIGKILL");
    await ended;
    return { lines: count(), last: printed().trimEnd().split("\n").at(-1) ?? "" };
  }

  async function backToOld() {
    stack.configure();
    // What a right image leaves is the verified one; the old one is to be it again.
    for (const words of [["up", "--yes"], ["wait"], ["verify"]]) {
      const done = await stack.serving(...words);
      if (done.code !== 0) throw new Error(done.stdout + done.stderr);
    }
  }

  const rounds = Array.from({ length: ROUNDS }, (_, index) => ({
    kind: index % 3 === 2 ? ("right" as const) : ("wrong" as const),
    whole: index % 2 === 0,
    at: (index + 0.5) / ROUNDS,
  }));

  it.each(rounds)(
    "at $at of all that it prints ($kind image, all of its group: $whole): the next command finishes it",
    async ({ kind, whole, at }) => {
      stack.configure(images[kind]);
      const { last } = await untilLine(Math.floor(at * lines[kind]), whole);
      const next = await stack.serving(...VERIFIED);
      const what = `killed after: ${last}\n${next.stdout}${next.stderr}`;
      const after = (await stack.running()).image;
      const allowed = [
        stack.parts.image.reference,
        ...(kind === "right" ? [images.right.reference] : []),
      ];
      expect(allowed, what).toContain(after);
      expect(await stack.callsTools(), what).toBe(true);
      expect(stack.record() ?? "", what).not.toContain("underWay");
      expect(next.code, what).toBe(after === images[kind].reference ? 0 : 1);
      expect(memory.most(), what).toBeLessThanOrEqual(SHARE * 100);
      expect(instanceA.startTime()).toBe(aBefore);
      await backToOld();
      const same = await stack.workspace.up("--expect-no-changes");
      expect(same.code, same.stdout + same.stderr).toBe(0);
    },
    600_000,
  );
});
