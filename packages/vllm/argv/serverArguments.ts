import { type EngineData, newestEngineData } from "../engineData";
import { isText, SOME_WORDS, type Word } from "./unknown";

/** What vLLM makes of its arguments. */
export interface ServerArguments {
  /** The arguments themselves. */
  readonly words: readonly Word[];
  /** The model: positional, or `--model`; `undefined` when none is given. */
  readonly model: Word | undefined;
  /** Words of no option beside the model: vLLM refuses to start with them. */
  readonly surplus: readonly Word[];
  /**
   * Values of each option by its full name; of a repeated option the last one counts. A switch has
   * `on` or `off`.
   */
  readonly options: ReadonlyMap<string, readonly Word[]>;
  /** Why the arguments can't be read for certain, in words for a person. */
  readonly unreadable: readonly string[];
  /** Long flags, as they are written, that this version of vLLM doesn't have. */
  readonly unknownFlags: readonly string[];
  /** Switches with a value behind `=`: vLLM refuses to start with them. */
  readonly valuedSwitches: readonly ValuedSwitch[];
}

/** A switch with a value (`--enforce-eager=False`). */
export interface ValuedSwitch {
  readonly written: string;
  /** The spelling that means it; without one it is left out. */
  readonly instead?: string;
}

/** Whether a switch such as `enable-auto-tool-choice` is on. */
export const isOn = (args: ServerArguments, name: string): boolean =>
  args.options.get(name)?.[0] === "on";

/**
 * Reads an argv with vLLM's own leniency: `--flag=value`, underscores for dashes, abbreviations
 * that fit one option only, repeated flags, short names, `--no-...`, several values behind
 * `--served-model-name`.
 *
 * @param engine what its version takes; the newest that is known where nothing tells the version
 */
export function readServerArguments(
  words: readonly Word[],
  engine: EngineData = newestEngineData(),
): ServerArguments {
  const known = readings.get(engine) ?? new WeakMap<readonly Word[], ServerArguments>();
  readings.set(engine, known);
  const args = known.get(words) ?? argumentsIn(words, engine);
  known.set(words, args);
  return args;
}

/** What was read of each argv by each version: a plan and its policies ask for one many times. */
const readings = new WeakMap<EngineData, WeakMap<readonly Word[], ServerArguments>>();

function argumentsIn(words: readonly Word[], engine: EngineData): ServerArguments {
  const read: Reading = {
    options: new Map(),
    unreadable: [],
    unknownFlags: [],
    positional: [],
    valuedSwitches: [],
  };
  const { options, unreadable, positional, unknownFlags, valuedSwitches } = read;
  for (let index = 0; index < words.length; ) {
    const word = words[index++];
    if (word === "--") {
      positional.push(...words.slice(index));
      break;
    }
    if (!isText(word))
      unreadable.push(`argument ${index} is not known before the update, so it may be any option`);
    else if (isOption(word)) index += readOption(word, { words, index }, engine, read);
    else positional.push(word);
  }
  if (options.has("config"))
    unreadable.push("`--config` takes options from a file that can't be read here");
  const model = options.get("model")?.[0] ?? positional[0];
  const surplus = positional.slice(1);
  return { words, model, surplus, options, unreadable, unknownFlags, valuedSwitches };
}

/** What has been read of an argv so far. */
interface Reading {
  readonly options: Map<string, readonly Word[]>;
  readonly unreadable: string[];
  readonly unknownFlags: string[];
  readonly positional: Word[];
  readonly valuedSwitches: ValuedSwitch[];
}

/**
 * Adds one option with its values, and returns how many words these are. `index` is that of the
 * word behind the option.
 */
function readOption(
  word: string,
  { words, index }: { readonly words: readonly Word[]; readonly index: number },
  engine: EngineData,
  { options, unreadable, unknownFlags, valuedSwitches }: Reading,
): number {
  const here = resolve(word, optionTable(engine));
  // vLLM refuses to start with an option that it doesn't have; an image may be newer than its tag
  // says.
  const { name, takes, explicit, candidates } =
    here.candidates.length > 0 ? here : resolve(word, optionTable(newestEngineData()));
  let taken = 0;
  if (candidates.length > 1) {
    unreadable.push(
      `\`${flagOf(word)}\` may mean ${candidates.map((each) => `--${each}`).join(" or ")}`,
    );
  } else if (takes === "nothing" || takes === "off") {
    const isOn = (takes === "nothing") !== MEANS_OFF.test(explicit ?? "");
    options.set(name, [isOn ? "on" : "off"]);
    if (explicit !== undefined && name !== "help")
      valuedSwitches.push(valuedSwitch(word, isOn ? name : engine.switches[name]?.[0]));
  } else if (explicit !== undefined) {
    options.set(name, [explicit]);
  } else {
    const most = takes === "several" ? words.length : 1;
    while (taken < most && index + taken < words.length && !isOption(words[index + taken])) taken++;
    options.set(name, words.slice(index, index + taken));
  }
  if (here.candidates.length === 0) unknownFlags.push(flagOf(word));
  if (options.get(name)?.includes(SOME_WORDS))
    unreadable.push(`what follows \`${flagOf(word)}\` is not known and may hold further options`);
  return taken;
}

/** What older releases read as off behind a switch. */
const MEANS_OFF = /^(?:false|no|off|0)$/i;

const valuedSwitch = (written: string, spelling: string | undefined): ValuedSwitch => ({
  written,
  ...(spelling === undefined ? {} : { instead: `--${spelling}` }),
});

function isOption(word: Word | undefined): boolean {
  // A negative number is a value, as in argparse.
  return isText(word) && /^-./.test(word) && !/^-(\d+|\d*\.\d+)$/.test(word);
}

const flagOf = (word: string): string => word.split("=", 1)[0] ?? word;

interface Resolved extends Option {
  readonly explicit?: string;
  /**
   * The spellings that fit: several where an abbreviation is ambiguous, none where vLLM has no such
   * option.
   */
  readonly candidates: readonly string[];
}

/** The option that a word means. */
function resolve(word: string, { long, short }: OptionTable): Resolved {
  const equals = word.indexOf("=");
  const flag = equals < 0 ? word : word.slice(0, equals);
  const explicit = equals < 0 ? {} : { explicit: word.slice(equals + 1) };
  if (!flag.startsWith("--")) return { ...resolveShort(word, flag, short), ...explicit };
  // `--compilation-config.level 3` sets one key of an option that takes JSON; underscores behind
  // the dot stay.
  const [base = "", ...inner] = flag.slice(2).split(".");
  const written = base.replaceAll("_", "-");
  const candidates = long.has(written)
    ? [written]
    : [...long.keys()].filter((spelling) => spelling.startsWith(written));
  const [first] = candidates;
  const meant = first !== undefined && candidates.length === 1 ? long.get(first) : undefined;
  if (inner.length > 0) {
    const name = [meant?.name ?? written, ...inner].join(".");
    return { name, takes: "one", candidates: candidates.slice(0, 1), ...explicit };
  }
  return { ...(meant ?? { name: written, takes: "one" }), candidates, ...explicit };
}

/**
 * What a word with one dash means: argparse takes beginnings of its name, and a value right behind
 * one letter (`-n2`).
 */
function resolveShort(word: string, flag: string, short: OptionTable["short"]): Resolved {
  const level = /^-O=?(.+)/.exec(word)?.[1];
  if (level !== undefined)
    return { name: "optimization-level", takes: "one", explicit: level, candidates: [flag] };
  const [base = "", ...inner] = flag.split(".");
  const letter = short.get(base.slice(0, 2));
  if (letter !== undefined && base.length > 2 && !short.has(base))
    return { ...letter, explicit: word.slice(2), candidates: [flag] };
  const fitting = short.has(base)
    ? [base]
    : [...short.keys()].filter((each) => each.startsWith(base));
  const [first] = fitting;
  const meant = first !== undefined && fitting.length === 1 ? short.get(first) : undefined;
  if (meant !== undefined && inner.length > 0)
    return { name: [meant.name, ...inner].join("."), takes: "one", candidates: [flag] };
  // vLLM says which options it doesn't have; several that fit can't be read.
  const candidates =
    fitting.length > 1 ? fitting.map((each) => short.get(each)?.name ?? each) : [flag];
  return { ...(meant ?? { name: flag, takes: "one" }), candidates };
}

/** What a spelling of an option means. */
export interface Option {
  readonly name: string;
  /** `off`: a switch's spelling that turns it off. */
  readonly takes: "nothing" | "off" | "one" | "several";
}

/** The options of one version of `vllm serve`, by every way to write them. */
export interface OptionTable {
  /** Without their dashes. */
  readonly long: ReadonlyMap<string, Option>;
  /** With their dash. */
  readonly short: ReadonlyMap<string, Option>;
}

/** Whether the newest vLLM that is known has an option of this name, without its dashes. */
export const isKnownOption = (name: string): boolean =>
  optionTable(newestEngineData()).long.has(name.split(".", 1)[0] ?? "");

const tables = new WeakMap<EngineData, OptionTable>();

/** The options that an argv is read by. */
export function optionTable(data: EngineData): OptionTable {
  const made = tables.get(data) ?? tableOf(data);
  tables.set(data, made);
  return made;
}

function tableOf({ switches, lists, values, aliases }: EngineData): OptionTable {
  const long = new Map<string, Option>([["help", { name: "help", takes: "nothing" }]]);
  for (const name of values) long.set(name, { name, takes: "one" });
  for (const name of lists) long.set(name, { name, takes: "several" });
  for (const [name, spellings] of Object.entries(switches)) {
    long.set(name, { name, takes: "nothing" });
    for (const spelling of spellings) long.set(spelling, { name, takes: "off" });
  }
  // `-O 3`, which vLLM's parser rewrites before it looks.
  const short = new Map<string, Option>([["-O", { name: "optimization-level", takes: "one" }]]);
  for (const [spelling, name] of Object.entries(aliases)) {
    const option = long.get(name);
    if (option === undefined) continue;
    if (spelling.startsWith("--")) long.set(spelling.slice(2), option);
    else short.set(spelling, option);
  }
  return { long, short };
}
