import { UNKNOWN } from "./unknown";
import { ALIASES, LISTS, LONG_OPTIONS, SWITCHES } from "./vllmFlags";
import { isText, SOME_WORDS, type Word } from "./words";

/** What vLLM makes of its arguments. */
export interface ServerArguments {
  /** The model: positional, or `--model`; `undefined` when none is given. */
  readonly model: Word | undefined;
  /** Values of each option by its full name; of a repeated option the last one counts. A switch has `on` or `off`. */
  readonly options: ReadonlyMap<string, readonly Word[]>;
  /** Why the arguments can't be read for certain, in words for a person. */
  readonly unreadable: readonly string[];
}

/** Whether a switch such as `enable-auto-tool-choice` is on. */
export function isOn(args: ServerArguments, name: string): boolean {
  return args.options.get(name)?.[0] === "on";
}

/**
 * Reads an argv with vLLM's own leniency: `--flag=value`, underscores for dashes, abbreviations that fit one option only,
 * repeated flags, short names, `--no-...`, several values behind `--served-model-name`.
 */
export function readServerArguments(words: readonly Word[]): ServerArguments {
  const options = new Map<string, readonly Word[]>();
  const unreadable: string[] = [];
  const positional: Word[] = [];
  let index = 0;

  const values = (): Word[] => {
    const taken: Word[] = [];
    while (index < words.length && !isOption(words[index])) taken.push(words[index++] ?? UNKNOWN);
    return taken;
  };
  const oneValue = (): Word[] => {
    const next = words[index];
    if (next === undefined || isOption(next)) return [];
    index++;
    return [next];
  };

  while (index < words.length) {
    const word = words[index++];
    if (word === "--") {
      positional.push(...words.slice(index));
      break;
    }
    if (!isText(word)) {
      unreadable.push(`argument ${index} is not known before the update, so it may be any option`);
      continue;
    }
    if (!isOption(word)) {
      positional.push(word);
      continue;
    }
    const { name, explicit, candidates } = resolve(word);
    if (candidates !== undefined) {
      unreadable.push(`\`${flagOf(word)}\` may mean ${candidates.map((each) => `--${each}`).join(" or ")}`);
    } else if (name.startsWith("no-") && SWITCHES.has(name.slice(3))) {
      options.set(name.slice(3), ["off"]);
    } else if (SWITCHES.has(name)) {
      options.set(name, ["on"]);
    } else if (explicit !== undefined) {
      options.set(name, [explicit]);
    } else {
      options.set(name, LISTS.has(name) ? values() : oneValue());
    }
    if (options.get(name)?.includes(SOME_WORDS)) {
      unreadable.push(`what stands behind \`${flagOf(word)}\` is not known and may hold further options`);
    }
  }
  if (options.has("config")) unreadable.push("`--config` takes options from a file that can't be read here");
  const model = options.get("model")?.[0] ?? positional[0];
  return { model, options, unreadable };
}

const EXACT: ReadonlySet<string> = new Set(LONG_OPTIONS);

function isOption(word: Word | undefined): boolean {
  // A negative number is a value, as argparse has it.
  return isText(word) && /^-./.test(word) && !/^-(\d+|\d*\.\d+)$/.test(word);
}

function flagOf(word: string): string {
  return word.split("=", 1)[0] ?? word;
}

/** The option that a word means; `candidates` when an abbreviation fits several. */
function resolve(word: string): { name: string; explicit?: string; candidates?: readonly string[] } {
  const equals = word.indexOf("=");
  const flag = equals < 0 ? word : word.slice(0, equals);
  const explicit = equals < 0 ? {} : { explicit: word.slice(equals + 1) };
  if (!flag.startsWith("--")) {
    if (/^-O.+/.test(word)) return { name: "optimization-level", explicit: word.slice(2) };
    return { name: ALIASES.get(flag) ?? flag, ...explicit };
  }
  // `--compilation-config.level 3` sets one key of an option that takes JSON; underscores behind the dot stay.
  const [base = "", ...inner] = flag.slice(2).split(".");
  const written = base.replaceAll("_", "-");
  if (inner.length > 0) return { name: `${written}.${inner.join(".")}`, ...explicit };
  const fitting = EXACT.has(written)
    ? [written]
    : LONG_OPTIONS.filter((option) => option.startsWith(written));
  if (fitting.length > 1) return { name: written, candidates: fitting };
  const name = fitting[0] ?? written;
  return { name: ALIASES.get(`--${name}`) ?? name, ...explicit };
}
