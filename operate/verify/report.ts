import { CLEAR_LINE, forTerminal, type ProgressStream, styled } from "../../commandLine/output";
import type { Cause } from "./causes/cause";
import type { ProbeResult } from "./probe";

export interface VerifyProgress {
  /** Before each probe that really runs. */
  readonly starts: (name: string, target: string, about: string) => void;
  readonly ended: (result: ProbeResult) => void;
}

/** Counts by status, and the next steps for a person, each once. */
export type Summary = Readonly<Record<ProbeResult["status"], number>> & {
  readonly next: readonly string[];
};

export function summaryOf(results: readonly ProbeResult[], causes: readonly Cause[] = []): Summary {
  const count = (status: string) => results.filter((result) => result.status === status).length;
  return {
    pass: count("pass"),
    fail: count("fail"),
    skip: count("skip"),
    next: nextSteps(results, causes),
  };
}

/** Probes that a step names; of more only their number is said. */
const NAMED = 3;

function named(probes: readonly string[]): string {
  const more = probes.length - NAMED;
  return more <= 1 ? probes.join(", ") : `${probes.slice(0, NAMED).join(", ")} and ${more} more`;
}

/** What explains failures comes first, then each step with the probes that ask for it. */
function nextSteps(results: readonly ProbeResult[], causes: readonly Cause[]): string[] {
  const open = results.filter((each) => !isExplained(each, causes));
  const asking = ["fail", "pass"].flatMap((status) =>
    open.filter((each) => each.status === status && each.fix !== ""),
  );
  return [
    ...causes.map(({ probes, cause, advice }) => `${named(probes)}: ${cause} ${advice}`),
    ...namesBy("fix", asking).map(([fix, names]) => `${names}: ${fix}`),
  ];
}

const isExplained = ({ name, target }: ProbeResult, causes: readonly Cause[]): boolean =>
  causes.some((cause) => cause.target === target && cause.probes.includes(name));

/** Each text of these results once, with the probes that say it. */
function namesBy(
  key: "fix" | "detail",
  results: readonly ProbeResult[],
): [text: string, names: string][] {
  return [...new Set(results.map((each) => each[key]))].map((text) => {
    const same = results.filter((each) => each[key] === text);
    return [text, same.map(({ name }) => name).join(", ")];
  });
}

const MARKS = {
  pass: () => styled("green", "pass"),
  fail: () => styled("red", "FAIL"),
  skip: () => styled("dim", "skip"),
} as const;

/** What explains failures, then every verdict, grouped by target, then the next steps. */
export function verifyText(results: readonly ProbeResult[], causes: readonly Cause[] = []): string {
  const targets = [...new Set(results.map((result) => result.target))];
  const shown = results.filter((result) => result.status !== "skip");
  const width = Math.max(0, ...shown.map((result) => result.name.length));
  const { pass, fail, skip, next } = summaryOf(results, causes);
  return [
    ...causes.flatMap(causeLines),
    ...targets.flatMap((target) => {
      const here = results.filter((result) => result.target === target);
      const skipped = here.filter((result) => result.status === "skip");
      return [
        styled("bold", target),
        ...here
          .filter((result) => result.status !== "skip")
          .flatMap((result) => lines(result, width, isExplained(result, causes))),
        ...namesBy("detail", skipped).map(
          ([reason, names]) => `  ${MARKS.skip()} ${reason}: ${names}`,
        ),
        "",
      ];
    }),
    `${pass} passed, ${fail} failed, ${skip} skipped`,
    ...(next.length === 0
      ? []
      : [
          "",
          styled("bold", "What to do next"),
          ...next.map((each) => `  - ${each.replaceAll("\n", "\n    ")}`),
        ]),
  ].join("\n");
}

function causeLines({ target, cause, advice, probes }: Cause): string[] {
  return [
    `${styled("bold", target)}: ${cause}`,
    `  ${styled("cyan", "fix:")} ${advice}`,
    `  It explains ${probes.join(", ")}.`,
    "",
  ];
}

function lines(
  { name, status, detail, fix }: ProbeResult,
  width: number,
  explained: boolean,
): string[] {
  const line = `  ${MARKS[status]()} ${name.padEnd(width)}  ${detail}`;
  // A probe that passed may still propose something.
  const label = status === "fail" ? "fix:" : "better:";
  // Lines to copy are printed once, under the next steps.
  const short = fix.includes("\n") ? "see below" : fix;
  return fix === "" || explained
    ? [line]
    : [line, `       ${" ".repeat(width)}  ${styled("cyan", label)} ${short}`];
}

/**
 * On a terminal the running probe on one line that comes and goes; elsewhere a line for each probe
 * that ended.
 */
export function verifyProgress(stream: ProgressStream): VerifyProgress {
  const terminal = stream.isTTY === true;
  return {
    starts: (name, target, about) => {
      if (terminal)
        stream.write(
          `${CLEAR_LINE}${forTerminal(`${target}: ${name} (${about}) ...`).slice(0, 100)}`,
        );
    },
    ended: ({ name, target, status, seconds }) => {
      if (terminal) stream.write(CLEAR_LINE);
      else if (status !== "skip")
        stream.write(forTerminal(`${target}: ${name} ${status} (${seconds.toFixed(1)} s)\n`));
    },
  };
}
