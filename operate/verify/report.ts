import { styleText } from "node:util";
import type { ProbeResult } from "./probe";

/** Counts by status, and what a person should do next, each thing once. */
export interface Summary {
  readonly pass: number;
  readonly fail: number;
  readonly skip: number;
  readonly next: readonly string[];
}

export function summaryOf(results: readonly ProbeResult[]): Summary {
  const count = (status: string) => results.filter((result) => result.status === status).length;
  const next = results
    .filter((result) => result.fix !== "")
    .sort((a, b) => Number(b.status === "fail") - Number(a.status === "fail"))
    .map((result) => result.fix);
  return { pass: count("pass"), fail: count("fail"), skip: count("skip"), next: [...new Set(next)] };
}

const MARKS = {
  pass: () => styleText("green", "pass"),
  fail: () => styleText("red", "FAIL"),
  skip: () => styleText("dim", "skip"),
} as const;

/** Every verdict, grouped by what was probed, then what to do next. */
export function verifyText(results: readonly ProbeResult[]): string {
  const targets = [...new Set(results.map((result) => result.target))];
  const width = Math.max(0, ...results.map((result) => result.name.length));
  const { pass, fail, skip, next } = summaryOf(results);
  return [
    ...targets.flatMap((target) => [
      styleText("bold", target),
      ...results.filter((result) => result.target === target).flatMap((result) => lines(result, width)),
      "",
    ]),
    `${pass} passed, ${fail} failed, ${skip} skipped`,
    ...(next.length === 0
      ? []
      : ["", styleText("bold", "What to do next"), ...next.map((each) => `  - ${each}`)]),
  ].join("\n");
}

function lines({ name, status, detail, fix }: ProbeResult, width: number): string[] {
  const line = `  ${MARKS[status]()} ${name.padEnd(width)}  ${detail}`;
  return fix === "" ? [line] : [line, `       ${" ".repeat(width)}  ${styleText("cyan", "fix:")} ${fix}`];
}
