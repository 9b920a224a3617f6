import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { say } from "@local-serving/base/commandLine/output";
import { attempt, defined } from "@local-serving/base/faults/defined";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { thisProcess } from "@local-serving/machines/update/process";
import type { FailedUpdate, Part, UnderWay } from "@local-serving/machines/update/record";
import { VERIFIED_UPDATE_VARIABLE } from "@local-serving/machines/update/variables";
import type { MachinePlan } from "../../components/plan";
import { drive, SAYS_YES } from "../engine/drive";
import { madeIn, touchedAnything } from "../engine/eventLog";
import type { PlannedStack } from "../stack/readStack";
import { forStack } from "../stack/typed";
import { sayLaunchers } from "./afterUp";
import type { EngineEnd } from "./decide";
import { keepRecord } from "./keepRecord";

/** An update by `serving up --verified`: what is applied, and how. */
export interface Task {
  readonly stack: string;
  /** Options for the engine. */
  readonly options: readonly string[];
  readonly now: PlannedStack;
  /** Fingerprint of the settings that are applied. */
  readonly settings: string;
  /** The first machine of the stack, which keeps the record. */
  readonly keeper: MachinePlan;
  /** Applies settings that were put back. */
  readonly again?: boolean;
  /** Settings that were put back before. */
  readonly failed?: FailedUpdate | undefined;
  readonly signal: AbortSignal;
}

/** What an update is about, and what is known from before. */
export interface Begun extends Pick<UnderWay, "startedAt" | "passed" | "figures" | "parts"> {
  /** Whether an earlier process may have changed something already. */
  readonly resumed: boolean;
}

/** Writes down how far the update is. */
export function writeDown(
  { keeper, settings, failed }: Task,
  step: UnderWay["step"],
  { startedAt, passed, figures, parts }: Omit<Begun, "resumed">,
  decided?: UnderWay["decided"],
): Promise<void> {
  const underWay: UnderWay = {
    step,
    startedAt,
    by: thisProcess(),
    settings,
    passed: [...passed],
    ...defined({ figures }),
    parts: parts.map((each): Part => ({ ...each })),
    ...defined({ decided }),
  };
  return keepRecord(keeper, { ...defined({ failed }), underWay });
}

/** Says something to the person; commands in it are those of this stack. */
export function tell({ stack }: Pick<Task, "stack">, text: string): void {
  say(forStack(text, { stack }));
}

/** Options that mean the stack file that somebody typed them for, and no other. */
const STAYS = /^(--policy-pack-config|--color|--parallel|-p|--non-interactive)(=|$)/;

/** The options that the way back has in common with the way forward. */
export function optionsBack(options: readonly string[]): string[] {
  return options.filter((option, index) => {
    const [before = ""] = options.slice(index - 1, index);
    const isValue = !option.startsWith("-") && STAYS.test(before) && !before.includes("=");
    return STAYS.test(option) || (index > 0 && isValue);
  });
}

/** Runs the engine's `up`, after the yes; with `from`, of that stack file instead of the stack's own. */
export async function engineUp(task: Task, from?: PlannedStack): Promise<EngineEnd> {
  const { stack, options, now } = task;
  const folder = mkdtempSync(join(tmpdir(), "local-serving-verified-"));
  const [events, copy] = [join(folder, "events"), join(folder, "Pulumi.verified.yaml")];
  const given = options.filter((option) => !SAYS_YES.test(option));
  try {
    // The engine may write to the file that it reads, and the kept one must stay as it passed.
    if (from !== undefined)
      writeFileSync(copy, withSalt(from.text, readTextFile(now.file)), { mode: 0o600 });
    const code = await drive(
      "up",
      stack,
      [...(from === undefined ? given : optionsBack(given)), "--yes"],
      {
        env: { [VERIFIED_UPDATE_VARIABLE]: from === undefined ? "forward" : "back" },
        events,
        ...(from === undefined
          ? { applied: (log: string) => sayLaunchers(now.plan.machines, madeIn(log)) }
          : {}),
        ...(from === undefined ? {} : { from: { copy, file: from.file } }),
      },
    );
    return { code, touched: touchedAnything(events) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether the stack file, which the engine reads itself, still has the settings of the plan. */
export const isAsPlanned = ({ now, settings }: Pick<Task, "now" | "settings">): boolean =>
  (fingerprintOfText(attempt(() => readTextFile(now.file)) ?? "") ?? "") === settings;

/** A kept text with the salt of the stack's secrets, if it was kept before there was one. */
export function withSalt(kept: string, today: string): string {
  const salt = /^encryptionsalt:.*$/m;
  const [line] = salt.exec(today) ?? [];
  if (line === undefined || salt.test(kept)) return kept;
  return `${kept}${kept.endsWith("\n") ? "" : "\n"}${line}\n`;
}
