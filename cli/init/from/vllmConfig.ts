import type { JsonObject } from "@local-serving/base/faults/json";
import { isKnownOption, optionTable } from "@local-serving/vllm/argv/serverArguments";
import { newestEngineData } from "@local-serving/vllm/engineData";
import type { Launch } from "../command/started";
import { asWritten, type LeftOut } from "../command/words";
import { scalarText } from "./container";
import type { PublishedKind } from "./kind";
import { hasModelMap, publishedSource, type Source } from "./source";

/** Keys that recipes have, and no option of vLLM. */
const OF_RECIPES = ["command", "recipe_version", "defaults", "container", "runtime", "mods"];

export const vllmConfig: PublishedKind = {
  kind: "a configuration of vLLM's own (`vllm serve --config`)",
  looksLike(source) {
    const { keys } = source;
    if (keys.size === 0 || hasModelMap(source) || OF_RECIPES.some((key) => keys.has(key)))
      return false;
    const known = [...keys].filter((key) => key === "model_tag" || isKnownOption(nameOf(key)));
    return known.length * 2 > keys.size;
  },
  servers(source) {
    const [file = {}] = source.documents();
    if (!["model", "model_tag"].some((key) => scalarText(file[key]) !== undefined))
      return { servers: [], none: NO_MODEL };
    const leftOut = passedOver(file);
    const launch = () => ({ words: configWords(file), variables: new Map(), leftOut });
    return { servers: [{ name: "its model", launch }] };
  },
};

const NO_MODEL =
  "It names no model: write `model: ORGANIZATION/MODEL` in it, or give the command that reads it, `vllm serve MODEL --config FILE`, as a file beside it.";

const nameOf = (key: string): string => key.replaceAll("_", "-");

/** The arguments that vLLM makes of its configuration: a model is one without a flag. */
function configWords(file: JsonObject): string[] {
  return Object.entries(file).flatMap(([key, value]) => {
    if (key === "model_tag") return scalarText(value) ?? [];
    const flag = `--${nameOf(key)}`;
    if (value === true) return [flag];
    if (value === false) return turnsOff(key) ? [`--no-${key}`] : [];
    if (value === null) return [];
    if (Array.isArray(value)) return value.length === 0 ? [] : [flag, ...value.map(textOf)];
    return [flag, textOf(value)];
  });
}

/** Whether vLLM makes `--no-KEY` of a key that is false: only where it has that very flag. */
const turnsOff = (key: string): boolean =>
  optionTable(newestEngineData()).long.get(`no-${key}`)?.takes === "off";

/** Keys that vLLM passes over, whatever their author meant. */
const passedOver = (file: JsonObject): LeftOut[] =>
  Object.entries(file).flatMap(([key, value]) =>
    value === false && !turnsOff(key)
      ? [{ what: asWritten(`\`${key}: false\``), why: `vLLM passes over it: ${noFlag(key)}` }]
      : [],
  );

const noFlag = (key: string): string =>
  key.includes("_") && turnsOff(nameOf(key))
    ? `the key has to have hyphens (\`${nameOf(key)}\`) to turn anything off.`
    : `it has no flag \`--no-${nameOf(key)}\`.`;

const textOf = (value: unknown): string => scalarText(value) ?? JSON.stringify(value);

/** A start whose `--config FILE` lies beside it, with the options of that file in its place. */
export function withConfig(launch: Launch, { beside }: Source): Launch {
  const at = launch.words.findIndex((word) => /^--config(?:=|$)/.test(word));
  if (at < 0) return launch;
  const [word = "", next = ""] = launch.words.slice(at, at + 2);
  const [, attached] = /^--config=([\s\S]+)$/.exec(word) ?? [];
  const name = attached ?? next;
  const text = beside(name);
  if (text === undefined) return launch;
  const rest = launch.words.slice(at + (attached === undefined ? 2 : 1));
  const [file = {}] = publishedSource({ text }).documents();
  // What the command says itself counts more, as in vLLM: the last one counts.
  const words = [
    ...modelFirst(launch.words.slice(0, at)),
    ...configWords(file),
    ...launch.words.slice(modelLength(launch.words), at),
    ...rest,
  ];
  const told = [
    ...(launch.told ?? []),
    `The options of \`--config\` are read from ${asWritten(name.slice(name.lastIndexOf("/") + 1))}.`,
  ];
  return { ...launch, words, told, leftOut: [...launch.leftOut, ...passedOver(file)] };
}

/** The model that a command begins with stands before all options. */
const modelLength = ([first = "-"]: readonly string[]): number => (first.startsWith("-") ? 0 : 1);
const modelFirst = (words: readonly string[]): readonly string[] =>
  words.slice(0, modelLength(words));
