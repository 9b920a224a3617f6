import { EXIT } from "../../commandLine/exit";
import { type Format, printResult } from "../../commandLine/output";
import { type Fault, faultLine, hasErrors, UnreadableInput } from "../../faults/fault";

/** What `serving config check` prints as JSON; a command may add keys. */
export interface CheckResult {
  readonly valid: boolean;
  readonly issues: readonly Fault[];
  /** What the file comes to; `null` when it has faults. */
  readonly resolved: unknown;
}

/** A check's result from its faults: valid while there is no error, and only then resolved. */
export function checkResult(faults: readonly Fault[], resolved: unknown): CheckResult {
  const valid = !hasErrors(faults);
  return { valid, issues: faults, resolved: valid ? (resolved ?? null) : null };
}

/** Prints a check's result and sets the exit code. */
export function reportCheck(
  format: Format,
  file: string,
  result: CheckResult,
  more: readonly string[] = [],
): void {
  printResult(format, result, () => {
    const count = result.issues.filter(({ severity }) => severity === "error").length;
    const verdict = result.valid ? "valid" : `${count} ${count === 1 ? "fault" : "faults"}`;
    return [...issueLines(result.issues, file), ...more, `${file}: ${verdict}`].join("\n");
  });
  process.exitCode = result.valid ? EXIT.fine : EXIT.faults;
}

/** The issues as a person reads them. One without a line is not about the file, but about what lies over it. */
export function issueLines(issues: readonly Fault[], file: string): string[] {
  return issues.map(
    (issue) => `${issue.severity}: ${faultLine(issue, issue.line === undefined ? undefined : file)}`,
  );
}

/** Runs a check; a file that can't be read is reported as a result too, so that a script finds one on stdout. */
export async function reportUnreadable(
  format: Format,
  file: string,
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    const issue: Fault = {
      path: "",
      code: "unreadable",
      message: error.reason,
      severity: "error",
      ...(error.input === file ? {} : { file: error.input }),
      ...error.place,
    };
    printResult(format, { valid: false, issues: [issue], resolved: null }, () => error.message);
    process.exitCode = EXIT.wrongUse;
  }
}
