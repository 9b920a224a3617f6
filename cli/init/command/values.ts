import { ownValue } from "@local-serving/base/faults/defined";
import { isRecord, jsonIn, putAt } from "@local-serving/base/faults/json";
import { lowered } from "@local-serving/base/faults/quoting";
import { holdsSecret } from "@local-serving/base/faults/secrets";
import { humanReadableInteger, shareFrom } from "@local-serving/vllm/argv/memoryDemand";
import { isOn, type ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText } from "@local-serving/vllm/argv/unknown";
import type { EngineData } from "@local-serving/vllm/engineData";
import { TEN_THOUSAND } from "@local-serving/vllm/utilization";
import { FLAGS, type InferenceServerSettings, repeatedFlags } from "../../../components/settings";
import { usualOf } from "../../models/leastServer";
import { AS_COMMANDED, type ServerValue } from "../../models/serverValues";
import { pageFromProject } from "../../stack/stackFile";
import { NOT_EVERYBODY } from "./dockerOptions";
import { isName, taskText } from "./model";
import { asWritten, expansions, type LeftOut } from "./words";

type Flag = (typeof FLAGS)[number];

/** What a server's block gets of a command's arguments. */
export interface ArgumentValues {
  readonly values: readonly ServerValue[];
  readonly leftOut: readonly LeftOut[];
}

/** One argument's values as what a setting takes, or why it takes none of them. */
type Read = (
  values: readonly string[],
) => { readonly value: ServerValue["value"] } | { readonly why: string };

const readWhole: Read = ([value = ""]) => {
  const number = humanReadableInteger(value);
  return number ? { value: number } : { why: "it is no number that a setting takes." };
};

const readWord: Read = ([value = ""]) =>
  value === "" || value.startsWith("-") ? { why: "it has no value." } : { value };

/** What stands behind a flag, by the form of it. */
const READ: Readonly<Record<Exclude<Flag["form"], "switch" | "onOff">, Read>> = {
  first: readWord,
  word: readWord,
  number: readWhole,
  share([value = ""]) {
    const share = shareFrom(value, "it");
    return share.known ? { value: share.tenThousandths / TEN_THOUSAND } : { why: `${share.why}.` };
  },
  words: (values) => ({ value: values }),
  json: ([value = ""]) => {
    // JSON has no other values than a stack file.
    const read = jsonIn(value) as ServerValue["value"] | undefined;
    return read === undefined ? { why: "its value is no JSON." } : { value: read };
  },
};

/** Flags whose values a setting takes in one form only. */
const READ_OTHERWISE: Readonly<Record<string, Read>> = {
  "--revision": ([value = ""]) =>
    /^[0-9a-f]{40}$/.test(value)
      ? { value }
      : { why: "a branch moves: write the commit's 40 digits." },
  "--allowed-origins": ([value = ""]) => {
    const origins = jsonIn(value);
    return Array.isArray(origins)
      ? { value: origins.filter((each) => typeof each === "string") }
      : { why: "it is not a JSON list of origins." };
  },
};

/** Why names that clients ask for can't be those of a stack file. */
const noName = (names: readonly string[]): string =>
  names.some((name) => expansions(name).length > 0)
    ? "what another program or a condition puts there isn't known."
    : "one of the names has a blank, or looks like a secret.";

const oneGpu = (value: string) =>
  value === "1"
    ? undefined
    : `this stack file is for one machine with one GPU: ${pageFromProject("docs/guide/two-as-one.md")} describes more.`;

/** Why a flag's values stay behind; `undefined` where they are taken elsewhere. */
type Elsewhere = (value: string, ...others: readonly string[]) => string | undefined;

const silent: Elsewhere = () => undefined;
const byOnly = (only: Flag["only"], say: Elsewhere) =>
  Object.fromEntries(FLAGS.flatMap((each) => (each.only === only ? [[each.flag, say]] : [])));

/** Flags whose values no setting simply takes. */
const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  ...byOnly("adapters", silent),
  ...byOnly("placed", () => oneGpu("")),
  "--model": silent,
  "--served-model-name": (...names) => (names.every(isName) ? undefined : noName(names)),
  "--port": silent,
  "--runner": silent,
  "--enable-auto-tool-choice": silent,
  "--host": (value) => (/^(?:127\.0\.0\.1|localhost)$/.test(value) ? undefined : NOT_EVERYBODY),
  "--tensor-parallel-size": oneGpu,
  "--pipeline-parallel-size": oneGpu,
  "--data-parallel-size": oneGpu,
  "--nnodes": oneGpu,
};

/** Where and how a command runs vLLM. */
interface EngineOfCommand {
  readonly engine: EngineData;
  /** It has ports of its own, of which others reach those that are published. */
  readonly hasOwnNetwork: boolean;
}

/** What a server's arguments become: values of its block, extra arguments, and what stays behind. */
export function argumentValues(args: ServerArguments, around: EngineOfCommand): ArgumentValues {
  const names = [...args.options.keys()].filter((name) => !SPECULATIVE.test(name));
  const taken = names.map((name) => ofOption(name, args, around));
  const extra = taken.flatMap((each) => each.extra ?? []);
  const speculative = speculativeValues(args);
  const makesCalls = isOn(args, "enable-auto-tool-choice");
  return {
    values: [
      ...taken.flatMap((each) => each.values ?? []),
      ...(makesCalls ? [] : [asCommanded("tools.autoChoice", false)]),
      ...speculative.values,
      ...(extra.length === 0 ? [] : [asCommanded("extraArgs", extra)]),
    ],
    leftOut: [...taken.flatMap((each) => each.leftOut ?? []), ...speculative.leftOut],
  };
}

/** What becomes of one option. */
function ofOption(
  name: string,
  args: ServerArguments,
  { engine, hasOwnNetwork }: EngineOfCommand,
): Partial<ArgumentValues> & { readonly extra?: readonly string[] } {
  const flag = `--${name}`;
  const words = (args.options.get(name) ?? []).filter(isText);
  const staysBehind = (why: string) => ({
    leftOut: [{ what: asWritten([flag, ...words].join(" ")), why, words: [flag] }],
  });
  const elsewhere = ownValue(ELSEWHERE, flag);
  if (elsewhere !== undefined) {
    // Where a port is published, that decides who reaches it.
    const isAnswered = flag === "--host" && hasOwnNetwork;
    const why = isAnswered ? undefined : elsewhere(words[0] ?? "", ...words.slice(1));
    return why === undefined ? {} : staysBehind(why);
  }
  const known = FLAGS.find((each) => each.flag === flag);
  if (name === "task" && taskText(args).length > 0) return {};
  if (known === undefined) {
    const extra = extraArguments(name, words, engine);
    return typeof extra === "string"
      ? { leftOut: [{ what: flag, why: extra, words: [flag] }] }
      : { extra };
  }
  const { setting, form } = known;
  if (form === "switch" || form === "onOff") {
    const on = isOn(args, name);
    return on === (usualOf(setting) ?? false) ? {} : { values: [asCommanded(setting, on)] };
  }
  const read = (ownValue(READ_OTHERWISE, flag) ?? READ[form])(words);
  return "why" in read ? staysBehind(read.why) : { values: [asCommanded(setting, read.value)] };
}

const asCommanded = (setting: string, value: ServerValue["value"]): ServerValue => ({
  path: setting.split("."),
  value,
  why: AS_COMMANDED,
});

/** An option as extra arguments, or why it can't be one. */
function extraArguments(
  name: string,
  words: readonly string[],
  { switches }: EngineData,
): readonly string[] | string {
  const flag = name.startsWith("-") ? name : `--${name}`;
  if (holdsSecret([flag, ...words].join(" "))) return "a secret has no place in a stack file.";
  const [off] = switches[name] ?? [];
  const isSwitch = Object.hasOwn(switches, name) || ["on", "off"].includes(words[0] ?? "");
  const made = !isSwitch
    ? [flag, ...words]
    : words[0] === "off"
      ? [`--${off ?? `no-${name}`}`]
      : [flag];
  const [refused] = repeatedFlags(made);
  if (refused !== undefined) return lowered(refused.message);
  return made.includes("") ? "an empty value can't be written." : made;
}

/** The options that describe drafts. */
const SPECULATIVE = /^(?:speculative-config(?:\.|$)|spec-(?:method|model|tokens)$)/;

/** Keys of drafts by the options that vLLM stores there. */
const DRAFT_OPTIONS: Readonly<Record<string, string>> = {
  "spec-method": "method",
  "spec-model": "model",
  "spec-tokens": "num_speculative_tokens",
};

/** Keys of drafts that have a setting. */
const DRAFT_KEYS: Readonly<
  Record<string, keyof NonNullable<InferenceServerSettings["speculative"]>>
> = { method: "method", model: "model", num_speculative_tokens: "numSpeculativeTokens" };

/** What the options say of drafts, by vLLM's own keys. */
function draftsIn(options: ServerArguments["options"]) {
  const config: Record<string, unknown> = {};
  const unread: LeftOut[] = [];
  for (const [name, given] of options) {
    if (!SPECULATIVE.test(name)) continue;
    const [value = ""] = given.filter(isText);
    const key = ownValue(DRAFT_OPTIONS, name) ?? name.split(".").slice(1).join(".");
    const read = jsonIn(value) ?? value;
    if (key !== "") putAt(config, key.split("."), read);
    else if (isRecord(read)) Object.assign(config, read);
    else
      unread.push({ what: `--${name}`, why: "its value is no JSON object.", words: [`--${name}`] });
  }
  return { config, unread };
}

/** Words of a draft model's name by which vLLM tells how it drafts, the first that fits. */
const DRAFTS_BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/^\[?ngram\]?$/, "ngram"],
  [/eagle-/i, "eagle"],
  [/eagle3/i, "eagle3"],
  [/dflash/i, "dflash"],
  [/dspark/i, "dspark"],
];

/**
 * The method that vLLM takes where none is given. Of any other draft model it is `draft_model`, for
 * which vLLM reads in the model's config.json whether it is one of MTP or of another kind
 * (`config/speculative.py`, `__post_init__`).
 */
function methodOf(model: unknown): string | undefined {
  if (typeof model !== "string") return undefined;
  return DRAFTS_BY_NAME.find(([words]) => words.test(model))?.[1] ?? "draft_model";
}

/** The drafts of a command. */
function speculativeValues({ options }: ServerArguments): ArgumentValues {
  const { config, unread } = draftsIn(options);
  if (Object.keys(config).length === 0) return { values: [], leftOut: unread };
  const method = config.method ?? methodOf(config.model);
  const isWhole = typeof method === "string" && typeof config.num_speculative_tokens === "number";
  if (!isWhole) {
    const lacks =
      typeof method === "string"
        ? "no `num_speculative_tokens`, which vLLM would read in the draft model's config.json: write `speculative` with `numSpeculativeTokens`"
        : "neither a method nor a draft model, so vLLM refuses it";
    const what = "--speculative-config";
    return {
      values: [],
      leftOut: [...unread, { what, why: `it has ${lacks}.`, words: [what] }],
    };
  }
  const kept = Object.entries({ ...config, method }).flatMap(([key, value]) => {
    const setting = ownValue(DRAFT_KEYS, key);
    return setting === undefined || (typeof value !== "string" && typeof value !== "number")
      ? []
      : [[setting, value] as const];
  });
  const lost = Object.keys(config).filter((key) => ownValue(DRAFT_KEYS, key) === undefined);
  return {
    values: [asCommanded("speculative", Object.fromEntries(kept))],
    leftOut: [
      ...unread,
      ...lost.map((key) => ({
        what: `\`${key}\` of --speculative-config`,
        why: "`speculative` has no such key.",
        words: [key],
      })),
    ],
  };
}
