import { isDeepStrictEqual } from "node:util";
import { parseStackFile } from "../../components/settings/load";
import { valueAt } from "../../faults/schemaFaults";
import { redact } from "../redact";
import { applyEdits, type Edit } from "../stackEdit/applyEdits";
import { unifiedDiff } from "../stackEdit/unifiedDiff";
import { diagnoses } from "./diagnoses";
import type { Diagnosis, Finding } from "./diagnosis";
import type { Evidence, Stack } from "./evidence";
import { failedProbes } from "./failedProbes";
import { unknownTrouble } from "./unknown";

/** A diagnosis as it is printed. */
export interface DiagnosisReport {
  readonly id: string;
  /** `note`: it looks like trouble and is harmless. */
  readonly severity: "trouble" | "note";
  readonly cause: string;
  readonly evidence: string;
  /** A unified diff of the stack file where there is one, else words. */
  readonly change: string;
  /** The same change as data; empty where the stack file stays as it is. */
  readonly edits: readonly Edit[];
  readonly advice: string;
  readonly command: string;
  readonly source: string;
  /** Whether the plan, a policy or the preflight would have said it before anything started, and which. */
  readonly caughtByPlan: boolean;
  readonly caughtBy: string;
}

/** Every diagnosis that the evidence gives; unknown trouble is said to be unknown. Pure. */
export function diagnose(evidence: Evidence): DiagnosisReport[] {
  const found = diagnoses.flatMap((diagnosis) => {
    const finding = diagnosis.judge(evidence);
    return finding === undefined ? [] : [{ diagnosis, finding }];
  });
  const troubles = found.filter(({ diagnosis }) => diagnosis.harmless !== true);
  const explained = troubles.some(({ diagnosis }) => diagnosis.aside !== true);
  const more = explained ? [] : [failedProbes(evidence), unknownTrouble(evidence)];
  const reports = [
    ...more.flatMap((each) => (each === undefined ? [] : [report(evidence, each.about, each.finding)])),
    ...troubles.map(({ diagnosis, finding }) => report(evidence, diagnosis, finding)),
  ];
  // What is harmless would only stand in the way of what is not.
  return reports.length > 0
    ? reports
    : found.map(({ diagnosis, finding }) => report(evidence, diagnosis, finding));
}

function report(
  { stack }: Evidence,
  diagnosis: Pick<Diagnosis, "id" | "source" | "caughtBy" | "harmless">,
  finding: Finding,
): DiagnosisReport {
  const { change, edits } = changeOf(stack, finding);
  return {
    id: diagnosis.id,
    severity: diagnosis.harmless === true ? "note" : "trouble",
    cause: redact(finding.cause),
    evidence: redact(finding.evidence),
    change: redact(change),
    edits,
    advice: redact(finding.advice ?? ""),
    command: redact(finding.command),
    source: diagnosis.source,
    caughtByPlan: diagnosis.caughtBy !== false,
    caughtBy: diagnosis.caughtBy === false ? "nothing before it happens" : diagnosis.caughtBy,
  };
}

/** The change against the real stack file; one that would not be read afterwards is put in words instead. */
function changeOf(stack: Stack | undefined, { edits = [], advice }: Finding) {
  if (edits.length === 0)
    return { change: advice ?? "Nothing in the stack file.", edits: [] as readonly Edit[] };
  if (stack === undefined) return { change: inWords(edits), edits };
  const open = edits.filter((edit) => !isSo(stack, edit));
  if (open.length === 0)
    return {
      change: `The stack file has it already (${inWords(edits)}): what runs is older. Apply it.`,
      edits: [] as readonly Edit[],
    };
  const changed = applyEdits(stack.text, open);
  try {
    parseStackFile(stack.file, changed);
  } catch {
    // Something else has to be declared first; the advice says what.
    return { change: inWords(open), edits: open };
  }
  return { change: unifiedDiff(nameOf(stack.file), stack.text, changed), edits: open };
}

function isSo(stack: Stack, { path, value }: Edit): boolean {
  const [, machine = "", ...below] = path;
  return machine === stack.machine && isDeepStrictEqual(valueAt(stack.settings, below), value);
}

function inWords(edits: readonly Edit[]): string {
  return edits
    .map(
      ({ path, value }) =>
        `${path.join(".")}${value === undefined ? ": take it away" : `: ${JSON.stringify(value)}`}`,
    )
    .join("\n");
}

function nameOf(file: string): string {
  return file.split("/").at(-1) ?? file;
}
