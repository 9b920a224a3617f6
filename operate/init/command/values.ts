import { type InferenceServerSettings, repeatedFlags } from "../../../components/settings";
import { ownValue } from "../../../faults/defined";
import { isRecord, jsonIn, putAt } from "../../../faults/json";
import { holdsSecret } from "../../../faults/secrets";
import { humanReadableInteger, shareFrom } from "../../../vllm/argv/memoryDemand";
import { isOn, type ServerArguments } from "../../../vllm/argv/serverArguments";
import { isText } from "../../../vllm/argv/unknown";
import type { EngineData } from "../../../vllm/engineData";
import { TEN_THOUSAND } from "../../../vllm/utilization";
import { AS_COMMANDED, type ServerValue } from "../../models/serverValues";
import { pageFromProject } from "../../stack/stackFile";
import { NOT_EVERYBODY } from "./dockerOptions";
import { isName } from "./model";
import { ADAPTER_OPTIONS } from "./ownModels";
import { asWritten, type LeftOut } from "./words";

/** What a server's block gets of a command's arguments. */
export interface ArgumentValues {
  readonly values: readonly ServerValue[];
  readonly leftOut: readonly LeftOut[];
}

/** One argument's values as what a setting takes, or why it takes none of them. */
type Read = (values: readonly string[]) => ServerValue["value"] | { readonly why: string };

const whole: Read = ([value = ""]) =>
  humanReadableInteger(value) || { why: "it is no number that a setting takes." };

const text: Read = ([value = ""]) =>
  value === "" || value.startsWith("-") ? { why: "it has no value." } : value;

/** Options with a setting whose value is theirs, and where it stands. */
const SETTINGS: Readonly<
  Record<string, { readonly path: readonly string[]; readonly read: Read }>
> = {
  "gpu-memory-utilization": {
    path: ["gpuMemoryUtilization"],
    read: ([value = ""]) => {
      const share = shareFrom(value, "it");
      return share.known ? share.tenThousandths / TEN_THOUSAND : { why: `${share.why}.` };
    },
  },
  "max-model-len": { path: ["maxModelLen"], read: whole },
  "max-num-seqs": { path: ["maxNumSeqs"], read: whole },
  "max-num-batched-tokens": { path: ["maxNumBatchedTokens"], read: whole },
  "kv-cache-memory-bytes": { path: ["kvCacheMemoryBytes"], read: whole },
  "kv-cache-dtype": { path: ["kvCacheDtype"], read: text },
  "tool-call-parser": { path: ["tools", "parser"], read: text },
  "reasoning-parser": { path: ["reasoningParser"], read: text },
  "moe-backend": { path: ["moeBackend"], read: text },
  "attention-backend": { path: ["attentionBackend"], read: text },
  "gdn-prefill-backend": { path: ["gdnPrefillBackend"], read: text },
  "load-format": { path: ["loadFormat"], read: text },
  "chat-template": { path: ["chatTemplate"], read: text },
  revision: {
    path: ["model", "revision"],
    read: ([value = ""]) =>
      /^[0-9a-f]{40}$/.test(value)
        ? value
        : { why: "a branch moves: write the commit's 40 digits." },
  },
  "allowed-origins": {
    path: ["allowedOrigins"],
    read: ([value = ""]) => {
      const origins = jsonIn(value);
      const named = Array.isArray(origins)
        ? origins.filter((each) => typeof each === "string")
        : undefined;
      return named ?? { why: "it is not a JSON list of origins." };
    },
  },
};

/** Switches with a setting, the value that they have here without a word, and where it stands. */
const SWITCHES: Readonly<
  Record<string, { readonly path: readonly string[]; readonly usual: boolean }>
> = {
  "trust-remote-code": { path: ["trustRemoteCode"], usual: false },
  "enable-chunked-prefill": { path: ["chunkedPrefill"], usual: true },
  "enable-prefix-caching": { path: ["prefixCaching"], usual: true },
};

const NO_NAME = "one of the names has a blank, or looks like a secret.";

const oneGpu = (value: string) =>
  value === "1"
    ? undefined
    : `this stack file is for one machine with one GPU: ${pageFromProject("docs/guide/two-as-one.md")} describes more.`;

/** Options that no setting and no extra argument may have, or that stand elsewhere. */
const ELSEWHERE: Readonly<
  Record<string, (value: string, ...others: readonly string[]) => string | undefined>
> = {
  model: () => undefined,
  "served-model-name": (...names) => (names.every(isName) ? undefined : NO_NAME),
  port: () => undefined,
  runner: () => undefined,
  "enable-auto-tool-choice": () => undefined,
  ...Object.fromEntries(ADAPTER_OPTIONS.map((name) => [name, () => undefined])),
  host: (value) => (/^(?:127\.0\.0\.1|localhost)$/.test(value) ? undefined : NOT_EVERYBODY),
  "tensor-parallel-size": oneGpu,
  "pipeline-parallel-size": oneGpu,
  "data-parallel-size": oneGpu,
  nnodes: oneGpu,
  "node-rank": () => oneGpu(""),
  "master-addr": () => oneGpu(""),
  "master-port": () => oneGpu(""),
  headless: () => oneGpu(""),
};

/** What a server's arguments become: values of its block, extra arguments, and what stays behind. */
export function argumentValues(
  args: ServerArguments,
  { engine, inContainer }: { readonly engine: EngineData; readonly inContainer: boolean },
): ArgumentValues {
  const values: ServerValue[] = [];
  const leftOut: LeftOut[] = [];
  const extra: string[] = [];
  for (const [name, given] of args.options) {
    if (SPECULATIVE.test(name)) continue;
    const words = given.filter(isText);
    const setting = ownValue(SETTINGS, name);
    const onOff = ownValue(SWITCHES, name);
    const elsewhere = ownValue(ELSEWHERE, name);
    const what = asWritten([`--${name}`, ...words].join(" "));
    if (setting !== undefined) {
      const read = setting.read(words);
      if (isRecord(read) && typeof read.why === "string") leftOut.push({ what, why: read.why });
      else values.push(asCommanded(setting.path, read));
    } else if (onOff !== undefined) {
      const on = isOn(args, name);
      if (on !== onOff.usual) values.push(asCommanded(onOff.path, on));
    } else if (elsewhere !== undefined) {
      // In a container the published port decides.
      const why =
        name === "host" && inContainer ? undefined : elsewhere(words[0] ?? "", ...words.slice(1));
      if (why !== undefined) leftOut.push({ what, why });
    } else {
      const made = extraArguments(name, words, engine);
      if (typeof made === "string") leftOut.push({ what: `--${name}`, why: made });
      else extra.push(...made);
    }
  }
  const speculative = speculativeValues(args);
  const makesCalls = isOn(args, "enable-auto-tool-choice");
  return {
    values: [
      ...values,
      ...(makesCalls ? [] : [asCommanded(["tools", "autoChoice"], false)]),
      ...speculative.values,
      ...(extra.length === 0 ? [] : [asCommanded(["extraArgs"], extra)]),
    ],
    leftOut: [...leftOut, ...speculative.leftOut],
  };
}

const asCommanded = (path: readonly string[], value: ServerValue["value"]): ServerValue => ({
  path,
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
  if (refused !== undefined) return lowerFirst(refused.message);
  return made.includes("") ? "an empty value can't be written." : made;
}

const lowerFirst = (message: string) => message.charAt(0).toLowerCase() + message.slice(1);

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

/** The drafts of a command. */
function speculativeValues({ options }: ServerArguments): ArgumentValues {
  const config: Record<string, unknown> = {};
  const unread: LeftOut[] = [];
  for (const [name, given] of options) {
    if (!SPECULATIVE.test(name)) continue;
    const [value = ""] = given.filter(isText);
    const key = ownValue(DRAFT_OPTIONS, name) ?? name.split(".").slice(1).join(".");
    const read = jsonIn(value) ?? value;
    if (key !== "") putAt(config, key.split("."), read);
    else if (isRecord(read)) Object.assign(config, read);
    else unread.push({ what: `--${name}`, why: "its value is no JSON object." });
  }
  const { method, num_speculative_tokens: tokens } = config;
  if (Object.keys(config).length === 0) return { values: [], leftOut: unread };
  if (typeof method !== "string" || typeof tokens !== "number")
    return {
      values: [],
      leftOut: [
        ...unread,
        {
          what: "--speculative-config",
          why: "`speculative` needs a method and the number of its draft tokens.",
        },
      ],
    };
  const kept = Object.entries(config).flatMap(([key, value]) => {
    const setting = ownValue(DRAFT_KEYS, key);
    return setting === undefined || (typeof value !== "string" && typeof value !== "number")
      ? []
      : [[setting, value] as const];
  });
  const lost = Object.keys(config).filter((key) => ownValue(DRAFT_KEYS, key) === undefined);
  return {
    values: [asCommanded(["speculative"], Object.fromEntries(kept))],
    leftOut: [
      ...unread,
      ...lost.map((key) => ({
        what: `\`${key}\` of --speculative-config`,
        why: "`speculative` has no such key.",
      })),
    ],
  };
}
