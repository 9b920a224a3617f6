import { isDeepStrictEqual } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import { orInputFault } from "@local-serving/base/faults/fault";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { startVerdictOf } from "../../components/memory";
import { redact } from "../programs/redact";
import type { StackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { applyEdits, type Edit, unifiedDiff } from "../stackEdit/applyEdits";
import type { Picture, Stack } from "./picture";
import { RULES } from "./registry";
import { APPLY, type Explanation, explaining, type Held, isHarmless, LOOK } from "./rule";

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
  /** What was probed, or the container whose log tells it. */
  readonly target?: string;
  /** The failed probes that it explains, in the order of the run. */
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
  const rank = ({ rule, explanation }: Held) => {
    if (rule.is === "version") return 0;
    return explanation.probes !== undefined ? 1 : rule.is === "fallback" ? 2 : 3;
  };
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
    const found = rule.explain(picture, held).map((explanation) => ({ rule, explanation }));
    const all = [...held, ...found];
    held = all.filter((each) => !all.some((other) => hides(other, each)));
  }
  return held;
}

/** Whether a rule holds only because of another one. */
function hides(other: Held, { rule, explanation }: Held): boolean {
  const [one, two] = [other.explanation.target, explanation.target];
  if (rule.is === "vague" && explaining([other]).length > 0) return true;
  return other.rule.explains.includes(rule.id) && (one ?? two) === (two ?? one);
}

function reportOf({ stack }: Picture, held: Held, chosen: StackFileOptions = {}): Diagnosis {
  const { id, source, caughtBy } = held.rule;
  const { cause, evidence, advice = "", otherwise, target, probes } = held.explanation;
  const { change, edits, refused = false } = changeOf(stack, held.explanation);
  const { command = refused ? (otherwise?.command ?? LOOK) : APPLY } = held.explanation;
  return {
    id,
    severity: isHarmless(held) ? "note" : "trouble",
    cause: readable(redact(cause)),
    evidence: readable(redact(evidence)),
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

/** Characters of a line that anybody reads to its end. */
const LONGEST_LINE = 600;

const readable = (text: string): string =>
  text
    .split("\n")
    .map((line) => (line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}...`))
    .join("\n");

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

/** A change of the stack file as the plan sees it. */
interface Tried {
  /** `undefined` where the file can't be read with it. */
  readonly planned: Stack | undefined;
  /** Why it must not be proposed: what the plan says that it did not say before. */
  readonly against?: string | undefined;
}

/** Plans a changed stack file, and says what the plan complains of that it accepted before. */
function tryOut(stack: Stack, text: string): Tried {
  const planned = orInputFault(() => stack.planned(text));
  if (planned instanceof Error) return { planned: undefined };
  const refusal = planned.refusals.find(
    ({ name }) => !stack.refusals.some((before) => before.name === name),
  );
  if (refusal !== undefined)
    return { planned, against: `the policy ${refusal.name} refuses: ${refusal.message}` };
  const full = Object.keys(planned.plan.kv).find(
    (name) => lacksRoom(planned, name) && !lacksRoom(stack, name),
  );
  if (full !== undefined)
    return { planned, against: `${full} would not start: its KV cache lacks the room.` };
  const inert = planned.warnings.find(
    ({ code, message }) =>
      code === "same-parser" && !stack.warnings.some((before) => before.message === message),
  );
  return { planned, against: inert && `nothing changes: ${inert.message}` };
}

/** Whether the plan is sure that a server has no room for one request of its window. */
function lacksRoom({ plan }: Stack, container: string): boolean {
  const kv = plan.kv[container];
  return kv != null && startVerdictOf(kv) === "cannot start";
}
