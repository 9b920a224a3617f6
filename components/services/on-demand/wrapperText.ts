import { join } from "node:path";
import { NO_REASON, POINTS_ELSEWHERE } from "@local-serving/base/faults/lastWords";
import {
  BY_NAME,
  BY_VALUE,
  MOST_FALLBACKS,
  NAMES,
  PLACEHOLDERS,
  START,
  VALUES,
} from "@local-serving/base/faults/secretForms";
import { scriptText } from "@local-serving/machines/shell";

/** Where the wrapper's own file leaves room for the tables. */
const ROOM = "FORMS: dict = {}";

/** Colours are gone before the wrapper looks, and Python can't look back at what has no length. */
const PYTHON_START = "(?<![A-Za-z\\d])";

/**
 * The wrapper as it travels to a machine: without comments, and with our tables, so that it shows no
 * more secrets than we do, and as good a reason. JSON of texts, lists and maps alone is Python, too.
 */
export function wrapperText(): string {
  const script = scriptText(join(__dirname, "onDemand.py"));
  // A line for each form.
  const text = JSON.stringify(table(), null, 1).replace(/\n {3,}/g, " ");
  return script.replace(ROOM, () => `FORMS: dict = ${text}`);
}

const table = () => ({
  forms: [...BY_VALUE, ...BY_NAME].map(({ words, pattern }) => [words, forPython(pattern)]),
  names: forAllPython(NAMES),
  values: forAllPython(VALUES),
  placeholders: PLACEHOLDERS,
  fallbacks: MOST_FALLBACKS,
  noReason: NO_REASON,
  pointsElsewhere: POINTS_ELSEWHERE,
});

const forAllPython = (patterns: Readonly<Record<string, RegExp>>) =>
  Object.fromEntries(Object.entries(patterns).map(([name, each]) => [name, forPython(each)]));

/** A pattern in Python's form: its flags in front, and names of groups in its own. */
function forPython({ source, flags }: RegExp): string {
  const set = `a${flags.replace("g", "")}`;
  const plain = source
    .replaceAll(START, PYTHON_START)
    .replace(/\(\?<(?=[a-z])/g, "(?P<")
    // `$` also stands before a last line feed there.
    .replace(/(?<!\\)\$(?=[)|]|$)/g, "\\Z");
  return `(?${set})${plain}`;
}
