import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AGAIN_VARIABLE } from "@local-serving/machines/update/variables";
import { drive, EVENT_LOG, SAYS_YES } from "../engine/drive";
import { type Made, madeIn, plansAnything } from "../engine/eventLog";
import type { Task } from "./task";

/** How an update of the engine ended, and what it made or changed. */
export interface EngineRun {
  readonly code: number;
  readonly made: readonly Made[];
}

/** Variables by which the engine applies settings that were put back, where somebody wants that. */
export const againFor = (again = false): Record<string, string> =>
  again ? { [AGAIN_VARIABLE]: "1" } : {};

type Engine = Pick<Task, "stack" | "options" | "again">;

/** Runs the engine's `up` of a stack's own file, which somebody said yes to. */
export const runEngine = (task: Engine): Promise<EngineRun> =>
  withEvents(async (events) => {
    const { stack, again } = task;
    const given = { events, env: againFor(again) };
    const code = await drive("up", stack, [...withoutYes(task), "--yes"], given);
    return { code, made: code === 0 ? madeIn(events) : [] };
  });

/** Runs the engine's preview, and tells whether an update would change anything. */
export const previewEngine = (task: Engine) =>
  withEvents(async (events) => {
    const options = [...withoutYes(task), EVENT_LOG, events];
    const code = await drive("preview", task.stack, options);
    return { code, changes: plansAnything(events) };
  });

const withoutYes = ({ options }: Engine): string[] =>
  options.filter((option) => !SAYS_YES.test(option));

async function withEvents<Result>(work: (events: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "local-serving-up-"));
  try {
    return await work(join(folder, "events"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
