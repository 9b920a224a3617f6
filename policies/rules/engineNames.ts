import { defined } from "@local-serving/base/faults/defined";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { nearestKey, slipOf } from "@local-serving/base/faults/quoting";
import {
  readServerArguments,
  type ServerArguments,
  type ValuedSwitch,
} from "@local-serving/vllm/argv/serverArguments";
import { isText, text, type Word } from "@local-serving/vllm/argv/unknown";
import {
  type EngineData,
  engineData,
  engineVersions,
  lastReleaseWith,
  optionInsteadOf,
  optionInsteadOfFlag,
} from "@local-serving/vllm/engineData";
import { spellingIn } from "@local-serving/vllm/optionHistory";
import { ggufLacks } from "../../components/memory/model-name";
import { TYPE } from "../../components/planned";
import { FLAGS_WITH_SETTING } from "../../components/settings";
import { nameOf } from "../lib/block";
import { type DeclaredResource, launchOf, ofType } from "../lib/container";
import { engineDataOf, type RecordedImage, recordsIn } from "../lib/imageRecord";
import { readContainer } from "../lib/inferenceServer";
import { isShare } from "../lib/otherEngines";
import { advice, type Finding, type Rule, violation } from "./rule";

/**
 * vLLM refuses an unknown name minutes into its start, and an unknown variable it only mentions in
 * its log.
 */
export const engineNames: Rule = {
  name: "engine-names",
  description:
    "An inference server has only flags, values and VLLM_ variables that its vLLM version knows. It warns of what this version lacks to load GGUF files, which the model's name tells.",
  level: "mandatory",
  advises: true,
  judgeStack(resources) {
    const recordsOf = recordsIn(resources);
    return ofType(resources, TYPE.container).flatMap((container) =>
      judge(container, recordsOf(container)),
    );
  },
};

function judge(container: DeclaredResource, records: readonly RecordedImage[]): Finding[] {
  const reading = readContainer(container);
  if (reading.kind !== "yes") return [];
  const image = text(container.props.image);
  const { data, exact, doubt } = engineDataOf(image, records);
  const { variables } = launchOf(container.props);
  const who = nameOf(container);
  const other = exact ? "" : ` ${doubt}`;
  return reading.servers.flatMap(({ words }) => {
    const server = readServerArguments(words, data);
    const names = engineFaults(server, variables, data).map(
      ({ about, message, harmless, change }) =>
        (exact && !harmless ? violation : advice)(
          container,
          `${who}: ${message}${other}`,
          // Only `extraArgs` may have a flag that nobody knows.
          exact ? (change ?? (about === "flag" ? { setting: "extraArgs" } : undefined)) : undefined,
        ),
    );
    const gguf = ggufOf(server, data);
    return gguf === undefined ? names : [...names, advice(container, `${who}: ${gguf}`)];
  });
}

/** What this vLLM lacks to load a model of GGUF files; its image may have been given the package. */
function ggufOf({ model, options }: ServerArguments, { choices, version }: EngineData) {
  const reads = choices.quantization?.includes("gguf") === true;
  return isText(model)
    ? ggufLacks({
        id: model,
        hasTokenizer: options.has("tokenizer") || options.has("hf-config-path"),
        ...(reads ? {} : { withoutGguf: version }),
      })
    : undefined;
}

/** A name that a version of vLLM doesn't know. */
export interface EngineFault {
  readonly about: "flag" | "value" | "variable";
  /** As it was written: `--flag`, `--flag value`, `VLLM_NAME`. */
  readonly name: string;
  /** What was written and what to write, as a sentence. */
  readonly message: string;
  /** A plug-in may add the name, or another version knows the variable, which then does nothing. */
  readonly harmless: boolean;
  /** The setting and its right value, where the name has one. */
  readonly change?: { readonly setting: string; readonly value: string };
  /** How this version spells the flag, without dashes, where only a newer one spells it so. */
  readonly spelling?: string;
}

/** Options that load code which may add to another option's choices. */
const PLUG_INS: Readonly<Record<string, string>> = {
  "tool-call-parser": "tool-parser-plugin",
  "reasoning-parser": "reasoning-parser-plugin",
};

/** Keys of options that take JSON, by the option whose choices they have. */
const JSON_KEYS = [
  { option: "speculative-config", key: "method", choices: "speculative-config.method" },
  { option: "attention-config", key: "backend", choices: "attention-backend" },
  { option: "kernel-config", key: "moe_backend", choices: "moe-backend" },
] as const;

/** Settings without a flag of their own. */
const SETTINGS: Readonly<Record<string, string>> = {
  "--speculative-config.method": "speculative.method",
};

const PREFIX = "VLLM_";

/** What every other spelling of vLLM's share means. */
const SHARE = "gpu-memory-utilization";

const SWITCHES_OFF = /^(?:--)?(?:no|disable)-/;

/** Whether an option switches on or off as another one does: `--enable-` is no slip of `--disable-`. */
const sameSense = (flag: string) => (name: string) =>
  SWITCHES_OFF.test(flag) === SWITCHES_OFF.test(name);

/** Most unknown flags of a server that are named. */
const MOST_NAMED = 20;

/**
 * The flags, values and `VLLM_` variables of a server that this vLLM doesn't know, each with the
 * nearest that it does.
 */
export function engineFaults(
  server: ServerArguments,
  variables: ReadonlyMap<string, Word>,
  engine: EngineData,
): EngineFault[] {
  const names = [...engine.values, ...engine.lists, ...Object.keys(engine.switches)];
  const more = server.unknownFlags.length - MOST_NAMED;
  return [
    ...server.unknownFlags.slice(0, MOST_NAMED).map((flag) => unknownFlag(flag, names, engine)),
    ...(more > 0 ? [unnamedFlags(more, engine)] : []),
    ...(server.unknownFlags.length > 0 ? [] : surplusWords(server, engine)),
    ...server.valuedSwitches.slice(0, MOST_NAMED).map((each) => valuedSwitch(each, engine)),
    ...writtenChoices(server).flatMap((each) => choiceFault(each, server, engine)),
    ...[...variables].flatMap(([name, value]) => variableFault(name, value, engine)),
  ];
}

function unknownFlag(flag: string, names: readonly string[], engine: EngineData): EngineFault {
  const spelling = spellingIn(engine, withoutDashes(flag));
  const remedy = spelling === undefined ? flagRemedy(flag, names) : `Write \`--${spelling}\``;
  const found = fault({ about: "flag", name: flag }, `has no flag \`${flag}\``, remedy, engine);
  return { ...found, ...defined({ spelling }) };
}

/** What to write for a flag that no version after it has. */
function flagRemedy(flag: string, names: readonly string[]): string {
  const option = optionInsteadOfFlag(withoutDashes(flag));
  if (option !== undefined)
    return `Use \`${FLAGS_WITH_SETTING[`--${option}`] ?? `--${option}`}\` instead`;
  const near = isShare(flag) ? SHARE : slipOf(flag.slice(2), names.filter(sameSense(flag)));
  return near === undefined ? "Remove it" : `Write \`--${near}\``;
}

const withoutDashes = (flag: string): string => flag.slice(2).replaceAll("_", "-");

/**
 * Words that are no option's value, which vLLM refuses. Behind an option that isn't known they may
 * be its values.
 */
function surplusWords({ surplus }: ServerArguments, engine: EngineData): EngineFault[] {
  const words = surplus.filter(isText);
  const [first] = words;
  if (first === undefined) return [];
  const named = words.slice(0, MOST_NAMED).map((word) => `\`${word}\``);
  const what = `takes no such ${words.length === 1 ? "word" : "words"} beside the model and its options: ${named.join(", ")}`;
  return [
    fault(
      { about: "flag", name: first },
      what,
      "An option begins with two hyphens (--), and its value is a word of its own or behind `=`",
      engine,
    ),
  ];
}

const valuedSwitch = ({ written, instead }: ValuedSwitch, engine: EngineData) =>
  fault(
    { about: "flag", name: written },
    `takes no value behind a switch: \`${written}\``,
    instead === undefined ? "Remove it" : `Write \`${instead}\``,
    engine,
  );

const unnamedFlags = (more: number, engine: EngineData) =>
  fault(
    { about: "flag", name: `${more} more` },
    `doesn't know ${more} more of its flags`,
    "Remove them",
    engine,
  );

function fault(
  of: Pick<EngineFault, "about" | "name"> & Partial<Pick<EngineFault, "harmless">>,
  what: string,
  remedy: string,
  { version }: EngineData,
): EngineFault {
  return { harmless: false, ...of, message: `vLLM ${version} ${what}. ${remedy}.` };
}

/**
 * Every value that was written, of an option or inside its JSON; `choices` is its name in the
 * engine's `choices`.
 */
function writtenChoices({ options }: ServerArguments) {
  const plain = [...options].flatMap(([name, values]) =>
    values.filter(isText).map((value) => ({ choices: name, flag: `--${name}`, value })),
  );
  const inside = JSON_KEYS.flatMap(({ option, key, choices }) => {
    const [json] = options.get(option) ?? [];
    const value = isText(json) ? objectOr(jsonIn(json))[key] : options.get(`${option}.${key}`)?.[0];
    return typeof value === "string" ? [{ choices, flag: `--${option}.${key}`, value }] : [];
  });
  return [...plain.filter(({ flag }) => !inside.some((each) => each.flag === flag)), ...inside];
}

type Written = ReturnType<typeof writtenChoices>[number];

function choiceFault(
  { choices, flag, value }: Written,
  server: ServerArguments,
  engine: EngineData,
): EngineFault[] {
  const known = Object.hasOwn(engine.choices, choices) ? engine.choices[choices] : undefined;
  const same = (one: string) =>
    engine.anyCase.includes(choices) ? one.toLowerCase().replaceAll("-", "_") : one;
  if (value === "" || known === undefined || known.some((each) => same(each) === same(value)))
    return [];
  const near = nearestKey(value, known);
  const setting = SETTINGS[flag] ?? FLAGS_WITH_SETTING[flag];
  const write = setting === undefined ? `${flag} ${near}` : `${setting}: ${near}`;
  const remedy = near === undefined ? `It takes ${known.join(", ")}` : `Write \`${write}\``;
  const plugIn = PLUG_INS[choices];
  const maybeAdded = plugIn !== undefined && server.options.has(plugIn);
  const unless = maybeAdded ? `, unless \`--${plugIn}\` adds it` : "";
  const found = fault(
    { about: "value", name: `${flag} ${value}`, harmless: maybeAdded },
    `has no \`${value}\` for \`${flag}\`${unless}`,
    remedy,
    engine,
  );
  return [
    setting === undefined || near === undefined
      ? found
      : { ...found, change: { setting, value: near } },
  ];
}

function variableFault(name: string, value: Word, engine: EngineData): EngineFault[] {
  if (!name.startsWith(PREFIX) || engine.variables.includes(name)) return [];
  // Switched off, a variable that does nothing does what it should.
  if (value === "0") return [];
  const of = { about: "variable", name } as const;
  const what = `has no variable \`${name}\``;
  const had = releasesWith(name);
  if (had !== undefined) {
    const [remedy, change] = instead(name, value, engine);
    return [
      {
        ...fault(
          { ...of, harmless: true },
          `${what}, which ${had} had: it does nothing`,
          remedy,
          engine,
        ),
        ...defined({ change }),
      },
    ];
  }
  const known = engine.variables.map((each) => each.slice(PREFIX.length));
  const near = slipOf(name.slice(PREFIX.length), known);
  const remedy = near === undefined ? "Remove it" : `Write \`${PREFIX}${near}\``;
  return [fault(of, what, remedy, engine)];
}

function releasesWith(name: string): string | undefined {
  const versions = engineVersions().filter((version) =>
    engineData(version)?.variables.includes(name),
  );
  if (versions.length > 0)
    return versions.length === 1 ? versions[0] : `${versions[0]} to ${versions.at(-1)}`;
  const last = lastReleaseWith(name);
  return last && `releases up to ${last}`;
}

/** What took a variable's place: with the variable's value where the option takes that. */
function instead(
  name: string,
  value: Word,
  { choices }: EngineData,
): [string, EngineFault["change"]?] {
  const option = optionInsteadOf(name);
  if (option === undefined) return ["Remove it"];
  const setting = FLAGS_WITH_SETTING[`--${option}`];
  if (setting !== undefined && isText(value) && choices[option]?.includes(value))
    return [`Write \`${setting}: ${value}\` instead`, { setting, value }];
  return [`Use \`${setting ?? `--${option}`}\` instead`];
}
