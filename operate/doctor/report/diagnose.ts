import { isDeepStrictEqual } from "node:util";
import { valueAt } from "../../../faults/schemaFaults";
import { redact } from "../../programs/redact";
import type { StackFileOptions } from "../../stack/stackFile";
import { forStack } from "../../stack/typed";
import { applyEdits, type Edit, unifiedDiff } from "../../stackEdit/applyEdits";
import { diagnoses } from "../diagnoses";
import { endOf, engineSaid } from "../diagnoses/engineSaid";
import type { Diagnosis } from "../diagnoses/known";
import { unexplained } from "../diagnoses/unexplained";
import { APPLY, type Explanation, LOOK } from "../diagnosis";
import type { Facts, Stack } from "../facts";
import { tryOut } from "./tryOut";

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

/** A diagnosis, and what it says here. */
interface Found {
  readonly diagnosis: Diagnosis;
  readonly explanation: Explanation;
}

/**
 * Every trouble that the facts show. What no diagnosis explains is said as the program itself says
 * it, and is unknown where it says nothing. Commands are written for the stack that was chosen.
 * Pure, but for the models' files that a proposed change is planned with.
 */
export function diagnose(facts: Facts, chosen: StackFileOptions = {}): DiagnosisReport[] {
  const known = explainedBy(facts, diagnoses);
  const troubles = known.filter((each) => !isHarmless(each));
  const explaining = troubles.filter(({ diagnosis }) => diagnosis.aside !== true);
  const said = explainedBy(facts, [engineSaid]).filter(
    () => !explaining.some(({ explanation }) => explainsTheEnd(facts, explanation)),
  );
  const lines = troubles.map(({ explanation }) => explanation.evidence);
  const unknown = explainedBy(facts, unexplained).filter(
    ({ diagnosis, explanation }) =>
      explaining.length === 0 &&
      !lines.includes(explanation.evidence) &&
      (said.length === 0 || diagnosis.id !== "unknown"),
  );
  const all = [...said, ...unknown, ...troubles];
  // What is harmless would only hide what is not.
  return (all.length > 0 ? all : known).map((found) => reportOf(facts, found, chosen));
}

const isHarmless = ({ diagnosis, explanation }: Found): boolean =>
  diagnosis.harmless === true || explanation.harmless === true;

const explainedBy = (facts: Facts, some: readonly Diagnosis[]): Found[] =>
  some.flatMap((diagnosis) => {
    const explanation = diagnosis.explain(facts);
    return explanation === undefined ? [] : [{ diagnosis, explanation }];
  });

/** Lines around what was raised that may tell more of it. */
const [BEFORE, BEHIND] = [200, 50];

/** Whether a diagnosis tells why the program ended, and not only what else it logged. */
function explainsTheEnd(facts: Facts, { hit, failsStart }: Explanation): boolean {
  const end = hit && endOf(facts, hit.log);
  if (hit === undefined || end === undefined || failsStart === true) return true;
  return (
    hit.lineNumber >= end.firstLineNumber - BEFORE && hit.firstLineNumber <= end.lineNumber + BEHIND
  );
}

function reportOf({ stack }: Facts, found: Found, chosen: StackFileOptions): DiagnosisReport {
  const { diagnosis, explanation } = found;
  const { id, source, caughtBy = "nothing catches it earlier" } = diagnosis;
  const { cause, evidence, advice = "", otherwise } = explanation;
  const { change, edits, refused = false } = changeOf(stack, explanation);
  const { command = refused ? (otherwise?.command ?? LOOK) : APPLY } = explanation;
  return {
    id,
    severity: isHarmless(found) ? "note" : "trouble",
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
}

/**
 * The change of the real stack file, planned before it is proposed. One that would make the file
 * unreadable is put in words: something else has to be declared first, and the advice says what.
 */
function changeOf(
  stack: Stack | undefined,
  { edits = [], advice, otherwise }: Explanation,
): { readonly change: string; readonly edits: readonly Edit[]; readonly refused?: true } {
  const none: readonly Edit[] = [];
  if (edits.length === 0) return { change: advice ?? "No setting to change.", edits: none };
  if (stack === undefined) return { change: inWords(edits), edits };
  const open = edits.filter(({ path: [, machine, ...below], value }) => {
    return machine !== stack.machine || !isDeepStrictEqual(valueAt(stack.settings, below), value);
  });
  if (open.length === 0) {
    const change = `The stack file has it already (${inWords(edits)}), but an older configuration runs. Apply the stack file.`;
    return { change, edits: none };
  }
  const changed = applyEdits(stack.text, open);
  const tried = tryOut(stack, changed);
  if (tried.planned === undefined) return { change: inWords(open), edits: open };
  const { against } = tried;
  if (against !== undefined) {
    const no = `No change is proposed: with ${inWords(open)} ${against}`;
    const change = otherwise === undefined ? no : `${no} ${otherwise.advice}`;
    const whole = advice === undefined ? change : `${advice} ${change}`;
    return { change: whole, edits: none, refused: true };
  }
  return { change: unifiedDiff(stack.file, stack.text, changed), edits: open };
}

function inWords(edits: readonly Edit[]): string {
  return edits
    .map(
      ({ path, value }) =>
        `${path.join(".")}${value === undefined ? ": remove it" : `: ${JSON.stringify(value)}`}`,
    )
    .join("\n");
}
