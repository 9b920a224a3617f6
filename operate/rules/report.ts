import { isDeepStrictEqual } from "node:util";
import { defined } from "../../faults/defined";
import { valueAt } from "../../faults/schemaFaults";
import { redact } from "../programs/redact";
import type { StackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { applyEdits, type Edit, unifiedDiff } from "../stackEdit/applyEdits";
import type { Picture, Stack } from "./picture";
import { RULES } from "./registry";
import { APPLY, type Explanation, explaining, type Held, isHarmless, LOOK } from "./rule";
import { tryOut } from "./tryOut";

/** One trouble, or something that looks like one. */
export interface Diagnosis {
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
  /** What was probed, where it explains failed probes, and these in the order of the run. */
  readonly target?: string;
  readonly probes?: readonly string[];
}

/** What explains failed probes of a target. */
export type Cause = Diagnosis & Required<Pick<Diagnosis, "target" | "probes">>;

/**
 * Every trouble that a picture shows. What no rule explains is said as the program itself says it,
 * and is unknown where it says nothing. Commands are written for the stack that was chosen. Pure,
 * but for the models' files that a proposed change is planned with.
 */
export function reportsOf(picture: Picture, chosen: StackFileOptions = {}): Diagnosis[] {
  const held = heldIn(picture);
  const troubles = held.filter((each) => !isHarmless(each));
  const rank = ({ rule, explanation }: Held) =>
    explanation.probes !== undefined ? 0 : rule.fallback === true ? 1 : 2;
  const all = [...troubles].sort((x, y) => rank(x) - rank(y));
  // What is harmless would only hide what is not.
  return (all.length > 0 ? all : held).map((each) => reportOf(picture, each, chosen));
}

/** What explains the failed probes of a server; what nothing explains keeps its own fix. */
export const causesOf = (picture: Picture): Cause[] =>
  heldIn(picture)
    .map((each) => reportOf(picture, each))
    .filter((each): each is Cause => each.target !== undefined && each.probes !== undefined);

function heldIn(picture: Picture): Held[] {
  let held: Held[] = [];
  for (const rule of RULES) {
    const found = [rule.explain(picture, held) ?? []].flat();
    const all = [...held, ...found.map((explanation) => ({ rule, explanation }))];
    held = all.filter((each) => !all.some((other) => hides(other, each)));
  }
  return held;
}

/** Whether a rule holds only because of another one. */
function hides(other: Held, { rule, explanation }: Held): boolean {
  const [one, two] = [other.explanation, explanation].map(
    ({ target, hit }) => target ?? hit?.log.container,
  );
  const isElsewhere = one !== undefined && two !== undefined && one !== two;
  if (rule.vague === true && explaining([other]).length > 0) return true;
  return other.rule.explains.includes(rule.id) && !isElsewhere;
}

function reportOf({ stack }: Picture, held: Held, chosen: StackFileOptions = {}): Diagnosis {
  const { id, source, caughtBy } = held.rule;
  const { cause, evidence, advice = "", otherwise, target, probes } = held.explanation;
  const { change, edits, refused = false } = changeOf(stack, held.explanation);
  const { command = refused ? (otherwise?.command ?? LOOK) : APPLY } = held.explanation;
  return {
    id,
    severity: isHarmless(held) ? "note" : "trouble",
    cause: redact(cause),
    evidence: redact(evidence),
    change: redact(change),
    edits,
    advice: redact(advice),
    command: forStack(redact(command), chosen),
    source,
    caughtByPlan: caughtBy !== undefined,
    caughtBy: caughtBy ?? "nothing catches it earlier",
    ...defined({ target, probes }),
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
