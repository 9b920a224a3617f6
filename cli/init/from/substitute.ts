import { closing } from "@local-serving/vllm/argv/closing";
import { standIn } from "../command/words";

/** The value of a variable where a file knows it. */
export type Lookup = (name: string) => string | undefined;

/** Deepest nesting of defaults that is followed. */
const DEEPEST = 20;
/** Longest `${...}` that is read, in characters. */
const LONGEST = 1000;

const BARE = /\$([A-Za-z_]\w*)/y;
const NAMED = /^([A-Za-z_]\w*)(?:(:?[-?+])([\s\S]*))?$/;

/**
 * Substitutes variables as a compose file has them: `$NAME`, `${NAME}`, `${NAME:-default}`,
 * `${NAME-default}`, `${NAME:+other}`, and `$$` for one `$`. What isn't known stays as it is written,
 * which `expansions` finds. Nothing else is evaluated.
 */
export function substituted(text: string, lookup: Lookup, depth = 0): string {
  let made = "";
  let at = 0;
  for (let next = text.indexOf("$"); next >= 0; next = text.indexOf("$", at)) {
    made += text.slice(at, next);
    const { value, length } = expansionAt(text, next, { lookup, depth });
    made += value;
    at = next + length;
  }
  return made + text.slice(at);
}

interface Reading {
  readonly lookup: Lookup;
  readonly depth: number;
}

/** What stands for the `$` at a place, and how many characters it takes. */
function expansionAt(text: string, at: number, reading: Reading) {
  if (text.startsWith("$$", at)) return { value: "$", length: 2 };
  BARE.lastIndex = at;
  const bare = BARE.exec(text);
  if (bare !== null) {
    const [whole, name = ""] = bare;
    return { value: reading.lookup(name) ?? standIn(whole), length: whole.length };
  }
  const end = text.startsWith("${", at) ? closing(text, at + 1, "{}", LONGEST) : undefined;
  if (end === undefined) return { value: "$", length: 1 };
  const whole = text.slice(at, end + 1);
  return { value: braced(whole, reading), length: whole.length };
}

/** The value of `${...}`. */
function braced(whole: string, { lookup, depth }: Reading): string {
  const [, name, operator = "", other = ""] = NAMED.exec(whole.slice(2, -1)) ?? [];
  if (name === undefined || depth > DEEPEST) return standIn(whole);
  const found = lookup(name);
  const value = operator.startsWith(":") && found === "" ? undefined : found;
  const rest = () => substituted(other, lookup, depth + 1);
  // Whether a shell that nobody sees has the variable isn't known.
  if (operator.endsWith("+")) return value === undefined ? standIn(whole) : rest();
  if (value !== undefined) return value;
  return operator.endsWith("-") ? rest() : standIn(whole);
}

/** The variables of an `.env` file; names of secrets have no value. */
export function dotEnv(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const [, name, written = ""] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/.exec(line) ?? [];
    const [, , quoted] = /^(["'])(.*?)\1/.exec(written) ?? [];
    if (name !== undefined) found.set(name, quoted ?? written.replace(/\s+#.*$/, "").trim());
  }
  return found;
}
