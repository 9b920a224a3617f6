import { keptAnswers } from "@local-serving/base/faults/keptAnswers";
import { type Invocations, serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { isText, type Word } from "@local-serving/vllm/argv/unknown";
import { START_GATE } from "../../components/inference-server";

type Variables = ReadonlyMap<string, Word>;

/** A server is declared twice, and like machines start it alike: a script is read once. */
const invocations = keptAnswers<Invocations>(100);

/** The servers that a command line starts. */
export function invocationsOf(words: readonly Word[], variables: Variables): Invocations {
  const short = withoutGate(words, variables);
  const key = JSON.stringify([
    short.map(spelled),
    [...variables].map(([...each]) => each.map(spelled)),
  ]);
  return invocations(key, () => serverInvocations(short, variables));
}

/** Tells a word that is not known from a text of the same letters. */
const spelled = (word: Word) => (isText(word) ? word : [word.description]);

/** What the start gate starts, once it does. A test reads the whole gate and finds the same. */
const STARTED_BY_GATE = 'vllm serve "$@"';

/**
 * Puts what the start gate starts in its place: reading the gate, which each of our servers has,
 * takes longer than all other policies do. A gate that may use one of the variables is read whole.
 */
function withoutGate(words: readonly Word[], variables: Variables): readonly Word[] {
  const [shell, option, script, ...parameters] = words;
  const isGate = shell === "/bin/sh" && option === "-c" && script === START_GATE;
  if (!isGate || [...variables.keys()].some((name) => START_GATE.includes(name))) return words;
  return [shell, option, STARTED_BY_GATE, ...parameters];
}
