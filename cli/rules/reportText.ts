import { headed } from "@local-serving/base/commandLine/layout";
import { counted } from "@local-serving/base/faults/quoting";
import type { Diagnosis } from "./report";

/**
 * Diagnoses for people: what it is, how it is known, what to change, what to run. `notes` say what
 * was not read.
 */
export function doctorText(
  reports: readonly Diagnosis[],
  looked: readonly string[],
  notes: readonly string[] = [],
): string {
  const at = looked.length === 0 ? "" : `Looked at: ${looked.join(", ")}.\n`;
  const troubles = reports.filter(({ severity }) => severity === "trouble").length;
  const count =
    troubles === 0
      ? `No trouble found${notes.length === 0 ? "" : " in what could be read"}`
      : counted(troubles, "diagnosis", "diagnoses");
  return [`${at}${count}.`, ...reports.map(reportText)].join("\n\n");
}

/** A report for people: what it is, how it is known, what to change, what to run. */
export function reportText(report: Diagnosis): string {
  const { target, probes } = report;
  const head = `${report.id}${report.severity === "note" ? " (harmless)" : ""}: ${report.cause}`;
  return headed(head, [
    `evidence   ${indented(report.evidence)}`,
    ...(probes === undefined ? [] : [`explains   ${probes.join(", ")} of ${target}`]),
    `change     ${indented(report.change)}`,
    // Words of a change may begin with the advice.
    ...(report.advice === "" || report.change.startsWith(report.advice)
      ? []
      : [`note       ${indented(report.advice)}`]),
    `next       ${report.command}`,
    `caught by  ${report.caughtBy}`,
    `source     ${report.source}`,
  ]);
}

/** A diff keeps its own lines and starts on a new one, so that it can be copied. */
function indented(text: string): string {
  return text.startsWith("--- ")
    ? `(apply with \`git apply\` or \`patch -p1\`)\n${text.trimEnd()}`
    : text.replaceAll("\n", "\n             ");
}
