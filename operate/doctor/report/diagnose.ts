import { isDeepStrictEqual } from "node:util";
import { parseStackFile } from "../../../components/settings";
import { attempt } from "../../../faults/defined";
import { valueAt } from "../../../faults/schemaFaults";
import { redact } from "../../programs/redact";
import type { StackFileOptions } from "../../stack/stackFile";
import { forStack } from "../../stack/typed";
import { applyEdits, type Edit, unifiedDiff } from "../../stackEdit/applyEdits";
import { diagnoses } from "../diagnoses";
import type { Diagnosis } from "../diagnoses/known";
import { unexplained } from "../diagnoses/unexplained";
import { APPLY, type Explanation } from "../diagnosis";
import type { Facts, Stack } from "../facts";

/** One trouble, or something that looks like one. */
export interface DiagnosisReport {
  readonly id: string;
  /** `note`: it looks like trouble and is harmless. */
  readonly severity: "note" | "trouble";
  readonly cause: string;
  readonly evidence: string;
  /** A unified diff of the stack file where there is one, else words. */
  readonly change: string;
  /** The same change as data; empty where the stack file stays as it is. */
  readonly edits: readonly Edit[];
  readonly advice: string;
  readonly command: string;
  readonly source: string;
  /**
   * Whether something reports it before anything starts: the plan, a policy, the preflight;
   * `caughtBy` says which.
   */
  readonly caughtByPlan: boolean;
  readonly caughtBy: string;
}

/**
 * Every trouble that the facts show; what no diagnosis explains is reported as unknown. Commands
 * are written for the stack that was chosen. Pure.
 */
export function diagnose(facts: Facts, chosen: StackFileOptions = {}): DiagnosisReport[] {
  const explainedBy = (some: readonly Diagnosis[]) =>
    some.flatMap((diagnosis) => {
      const explanation = diagnosis.explain(facts);
      return explanation === undefined ? [] : [{ diagnosis, explanation }];
    });
  const known = explainedBy(diagnoses);
  const troubles = known.filter(({ diagnosis }) => diagnosis.harmless !== true);
  const isExplained = troubles.some(({ diagnosis }) => diagnosis.aside !== true);
  const lines = troubles.map(({ explanation }) => explanation.evidence);
  const unknown = explainedBy(unexplained).filter(
    ({ explanation }) => !lines.includes(explanation.evidence),
  );
  const all = [...(isExplained ? [] : unknown), ...troubles];
  // What is harmless would only hide what is not.
  return (all.length > 0 ? all : known).map(({ diagnosis, explanation }) => {
    const { id, source, caughtBy = "nothing catches it earlier", harmless } = diagnosis;
    const { cause, evidence, advice = "", command = APPLY } = explanation;
    const { change, edits } = changeOf(facts.stack, explanation);
    return {
      id,
      severity: harmless === true ? "note" : "trouble",
      cause: redact(cause),
      evidence: redact(evidence),
      change: redact(change),
      edits,
      advice: redact(advice),
      command: forStack(redact(command), chosen),
      source,
      caughtByPlan: diagnosis.caughtBy !== undefined,
      caughtBy,
    };
  });
}

/** The change of the real stack file; one that would make it unreadable is put in words instead. */
function changeOf(stack: Stack | undefined, { edits = [], advice }: Explanation) {
  if (edits.length === 0)
    return { change: advice ?? "No setting to change.", edits: [] as readonly Edit[] };
  if (stack === undefined) return { change: inWords(edits), edits };
  const open = edits.filter(({ path: [, machine, ...below], value }) => {
    return machine !== stack.machine || !isDeepStrictEqual(valueAt(stack.settings, below), value);
  });
  if (open.length === 0)
    return {
      change: `The stack file has it already (${inWords(edits)}), but what runs is older. Apply it.`,
      edits: [] as readonly Edit[],
    };
  const changed = applyEdits(stack.text, open);
  const isReadable = attempt(() => parseStackFile(stack.file, changed)) !== undefined;
  // Where it isn't, something else has to be declared first; the advice says what.
  return {
    change: isReadable ? unifiedDiff(stack.file, stack.text, changed) : inWords(open),
    edits: open,
  };
}

function inWords(edits: readonly Edit[]): string {
  return edits
    .map(
      ({ path, value }) =>
        `${path.join(".")}${value === undefined ? ": remove it" : `: ${JSON.stringify(value)}`}`,
    )
    .join("\n");
}

/**
 * Diagnoses for people: what it is, how it is known, what to change, what to run. `notes` say what
 * was not read.
 */
export function doctorText(
  reports: readonly DiagnosisReport[],
  looked: readonly string[],
  notes: readonly string[] = [],
): string {
  const at = looked.length === 0 ? "" : `Looked at: ${looked.join(", ")}.\n`;
  const troubles = reports.filter(({ severity }) => severity === "trouble").length;
  const count =
    troubles === 0
      ? `No trouble found${notes.length === 0 ? "" : " in what could be read"}`
      : troubles === 1
        ? "1 diagnosis"
        : `${troubles} diagnoses`;
  return [`${at}${count}.`, ...reports.map(section)].join("\n\n");
}

function section(report: DiagnosisReport): string {
  const lines = [
    `${report.id}${report.severity === "note" ? " (harmless)" : ""}: ${report.cause}`,
    `  evidence   ${indented(report.evidence)}`,
    `  change     ${indented(report.change)}`,
    ...(report.advice === "" || report.advice === report.change
      ? []
      : [`  note       ${indented(report.advice)}`]),
    `  next       ${report.command}`,
    `  caught by  ${report.caughtBy}`,
    `  source     ${report.source}`,
  ];
  return lines.join("\n");
}

/** A diff keeps its own lines and starts on a new one, so that it can be copied. */
function indented(text: string): string {
  return text.startsWith("--- ")
    ? `(apply with \`git apply\` or \`patch -p1\`)\n${text.trimEnd()}`
    : text.replaceAll("\n", "\n             ");
}
