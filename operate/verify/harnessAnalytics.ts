import type { EffectiveValue } from "../../harness/analytics/layers";
import { Api } from "./api";
import type { HarnessTarget } from "./harnessTargets";
import { NoAnswer } from "./http";
import { textOr } from "./json";
import { BadAnswer, fail, type Verdict } from "./probe";

/** Values of the session-analytics file, the defaults below it, by dotted name. */
export type AnalyticsValues = ReadonlyMap<string, EffectiveValue>;

/** Judges by the session-analytics file on the machine; one that can't be judged by is a fault. */
export async function byAnalytics(
  target: HarnessTarget,
  judge: (values: AnalyticsValues) => Promise<Verdict>,
): Promise<Verdict> {
  const { analytics, machine } = target;
  const fix = `npm run up writes ${machine.harness?.analytics} from \`machines.${machine.name}.harness\`; what was edited is kept beside it.`;
  if ("unreadable" in analytics) return fail(analytics.unreadable, fix);
  const { faults, values } = analytics.content;
  const error = faults.find(({ severity }) => severity === "error");
  return error === undefined ? judge(values) : fail(`${error.path}: ${error.message}`, fix);
}

/** A text among the values; "" where it is none. */
export function textAt(values: AnalyticsValues, name: string): string {
  return textOr(values.get(name)?.value);
}

/** A server's surface at an address of the file, which may end in a slash. */
export function apiAt(
  url: string,
  timeoutSeconds: number,
  headers: Readonly<Record<string, string>> = {},
): Api {
  return new Api(url.replace(/\/+$/, ""), timeoutSeconds, headers);
}

/** A server that does not answer is a fault of this question alone: the next one may go to another server. */
export async function asked(question: () => Promise<Verdict>, fix: string): Promise<Verdict> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof NoAnswer || error instanceof BadAnswer) return fail(error.message, fix);
    throw error;
  }
}
