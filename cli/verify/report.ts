import { headed } from "@local-serving/base/commandLine/layout";
import {
  CLEAR_LINE,
  forTerminal,
  type ProgressStream,
  styled,
} from "@local-serving/base/commandLine/output";
import type { Cause } from "../rules/report";
import { reportText } from "../rules/reportText";
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
    next: [
      ...causes.map(({ probes, cause, advice }) => `${named(probes)}: ${cause} ${advice}`),
      ...nextSteps(results, causes),
    ],
  };
}

/** Probes that a step names; of more only their number is said. */
const NAMED = 3;

function named(probes: readonly string[]): string {
  const more = probes.length - NAMED;
  return more <= 1 ? probes.join(", ") : `${probes.slice(0, NAMED).join(", ")} and ${more} more`;
}

type Label = (result: Pick<ProbeResult, "name" | "target">) => string;

const byName: Label = ({ name }) => name;

/** Each step of what no cause explains, with the probes that ask for it. */
const nextSteps = (
  results: readonly ProbeResult[],
  causes: readonly Cause[],
  label: Label = byName,
): string[] =>
  namesBy("fix", asking(results, causes), label).map(([fix, names]) => `${names}: ${fix}`);

/** Names of probes, with their target where a name isn't enough. */
function distinct(results: readonly ProbeResult[]): Label {
  const asked = results.filter(({ status }) => status !== "skip");
  return ({ name, target }) =>
    asked.some((each) => each.name === name && each.target !== target)
      ? `${name} (${target})`
      : name;
}

/** Results whose own fix is a next step: failures, then what passed and could be better. */
function asking(results: readonly ProbeResult[], causes: readonly Cause[]): ProbeResult[] {
  const open = results.filter((each) => each.fix !== "" && !isExplained(each, causes));
  return ["fail", "pass"].flatMap((status) => open.filter((each) => each.status === status));
}

const isExplained = ({ name, target }: ProbeResult, causes: readonly Cause[]): boolean =>
  causes.some((cause) => cause.target === target && cause.probes.includes(name));

/** Each text of these results once, with the probes that say it. */
function namesBy(
  key: "fix" | "detail",
  results: readonly ProbeResult[],
  label: Label,
): [text: string, names: string][] {
  return [...new Set(results.map((each) => each[key]))].map((text) => {
    const same = results.filter((each) => each[key] === text);
    return [text, same.map(label).join(", ")];
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
  const { pass, fail, skip } = summaryOf(results, causes);
  const next = nextSteps(results, causes, distinct(results));
  return [
    ...causes.flatMap((cause) => [reportText(cause), ""]),
    ...targets.flatMap((target) => {
      const here = results.filter((result) => result.target === target);
      const skipped = here.filter((result) => result.status === "skip");
      return [
        headed(styled("bold", target), [
          ...here
            .filter((result) => result.status !== "skip")
            .map(
              ({ name, status, detail }) => `${MARKS[status]()} ${name.padEnd(width)}  ${detail}`,
            ),
          ...namesBy("detail", skipped, byName).map(
            ([reason, names]) => `${MARKS.skip()} ${reason}: ${names}`,
          ),
        ]),
        "",
      ];
    }),
    `${pass} passed, ${fail} failed, ${skip} skipped`,
    ...notAsked(results),
    ...(pass + fail === 0 ? [NOTHING_ASKED] : []),
    ...(next.length === 0
      ? []
      : [
          "",
          headed(
            styled("bold", "What to do next"),
            next.map((each) => `- ${each.replaceAll("\n", "\n    ")}`),
          ),
        ]),
  ].join("\n");
}

/** A run that asked nothing is no proof: a script must not go on as if it were one. */
const NOTHING_ASKED = "Every probe was skipped, so this run proves nothing (exit code 1).";

/** What was not asked at all, and why. */
function notAsked(results: readonly ProbeResult[]): string[] {
  const targets = [...new Set(results.map(({ target }) => target))];
  return targets.flatMap((target) => {
    const own = results.filter((each) => each.target === target);
    const [reason, ...others] = new Set(own.map(({ detail }) => detail));
    const skipped = own.length > 1 && own.every(({ status }) => status === "skip");
    return skipped && others.length === 0 ? [`Not asked: ${target}: ${reason}`] : [];
  });
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
