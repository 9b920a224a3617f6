import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { Outcome } from "@local-serving/base/commandLine/command";
import {
  errorAt,
  type Fault,
  faultLine,
  hasErrors,
  listed,
  UnreadableInput,
} from "@local-serving/base/faults/fault";
import { counted } from "@local-serving/base/faults/quoting";

/** What `serving harness check` prints as JSON. A command may add keys. */
type CheckResult = {
  readonly valid: boolean;
  readonly issues: readonly Fault[];
  readonly resolved: unknown;
};

/** A check's result from its faults. It is valid without an error, and only then resolved. */
export function checkResult(faults: readonly Fault[], resolved: unknown): CheckResult {
  const valid = !hasErrors(faults);
  return { valid, issues: faults, resolved: valid ? (resolved ?? null) : null };
}

/** What a check prints beside its faults. */
interface Beside {
  /** Lines above the last one. */
  readonly lines?: readonly string[];
  /** What the last line adds to its verdict, such as what nobody checked. */
  readonly end?: string;
}

/** A checked file: its faults, and whether it is valid. */
export function checkOutcome(
  file: string,
  result: CheckResult,
  { lines = [], end = "" }: Beside = {},
): Outcome {
  const verdict = `${file}: ${verdictOf(result)}${end}`;
  return {
    result: { ...result, issues: listed(result.issues) },
    text: [...issueLines(result.issues, file), ...lines, verdict].join("\n"),
    failed: !result.valid,
  };
}

/** Valid or not, and how many warnings there are. */
function verdictOf({ valid, issues }: CheckResult): string {
  const errors = issues.filter(({ severity }) => severity === "error").length;
  const warnings = issues.length - errors;
  const verdict = valid ? "valid" : counted(errors, "fault");
  return warnings === 0 ? verdict : `${verdict}, ${counted(warnings, "warning")}`;
}

/**
 * Faults as lines for people. A fault without a line is not in the file but in a variable or
 * argument.
 */
export const issueLines = (issues: readonly Fault[], file: string): string[] =>
  listed(issues).map(
    (issue) =>
      `${issue.severity}: ${faultLine(issue, issue.line === undefined ? undefined : file)}`,
  );

/**
 * Checks a file. If it can't be read, that is a result too: a script always finds one document on
 * stdout.
 * @param whenMissing what to do where there is no such file, as the end of the sentence
 */
export async function checked(
  file: string,
  check: () => Outcome | Promise<Outcome>,
  whenMissing = "",
): Promise<Outcome> {
  try {
    if (isStackFile(file)) throw new UnreadableInput(file, stackFileHint(file));
    return await check();
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    const { input, reason, place } = error;
    const issue = {
      ...errorAt("", "unreadable", reason),
      ...(input === file ? {} : { file: input }),
      ...place,
    };
    const result: CheckResult = { valid: false, issues: [issue], resolved: null };
    const advice = input === file && !existsSync(file) ? whenMissing : "";
    return { result, text: `${error.message}${advice}`, failed: "unreadable" };
  }
}

/** Whether a file is named like a Pulumi stack file, which the harness doesn't read. */
export const isStackFile = (file: string): boolean => /^Pulumi\..+\.ya?ml$/.test(basename(file));

export const stackFileHint = (file: string): string =>
  `this is a stack file; check it with \`serving plan --file ${file}\``;
