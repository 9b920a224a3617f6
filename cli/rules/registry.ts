import { join } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { clause } from "@local-serving/base/faults/quoting";
import { valueAt, valueBy } from "@local-serving/base/faults/schemaFaults";
import { readYamlFile } from "@local-serving/base/faults/yamlDocument";
import * as z from "zod";
import { toolParserFor } from "../../components/inference-server";
import { gateLine } from "../sees/gateLines";
import type { LastWord } from "../sees/log/scanLog";
import { sign } from "../sees/log/sign";
import { isOfVllm, isOneTry } from "./oneTry";
import { firstGroup, serverOf } from "./picture";
import {
  aboutRule,
  type Explain,
  NOT_OUR_FILE,
  type OfServer,
  type Row,
  SEE_THE_LINK,
  type Told,
  type WeighingRule,
  weighed,
} from "./rule";
import { argumentRules } from "./subjects/arguments";
import { attention } from "./subjects/attention";
import { between } from "./subjects/between";
import { bridgeRules } from "./subjects/bridge";
import { client } from "./subjects/client";
import { compilers } from "./subjects/compilers";
import { containers } from "./subjects/containers";
import { draftsOf } from "./subjects/drafts";
import { endOf, sightingOf } from "./subjects/engineSaid";
import { environment } from "./subjects/environment";
import { hasFixedCache } from "./subjects/fixedCache";
import { hub } from "./subjects/hub";
import { identity } from "./subjects/identity";
import { kernels } from "./subjects/kernels";
import { killings } from "./subjects/killed";
import { memory } from "./subjects/memory";
import { model } from "./subjects/model";
import { network } from "./subjects/network";
import { ollama } from "./subjects/ollama";
import { onDemandRules } from "./subjects/onDemand";
import { parsers } from "./subjects/parsers";
import { plugins } from "./subjects/plugins";
import { argumentsOf } from "./subjects/pointed";
import { ranks } from "./subjects/ranks";
import { requestRules } from "./subjects/requests";
import { room } from "./subjects/room";
import { senselessRules } from "./subjects/senseless";
import { sizes } from "./subjects/sizes";
import { stackFileRules } from "./subjects/stackFile";
import { stalls } from "./subjects/stalls";
import { templateRules } from "./subjects/template";
import { unexplained } from "./subjects/unexplained";
import { currentRelease, pinNewer, versionRules } from "./subjects/version";

// Whoever loads the rules has made all of their signs.
export { SIGNS } from "../sees/log/sign";

const text = z.string();

/** What is said of a trouble, with `{{names}}` in it. */
const words = z.strictObject({
  cause: text.optional(),
  /**
   * Settings of the server, by their dotted names; `null` takes one out, and a group alone is a
   * number.
   */
  set: z.record(text, text.or(z.boolean()).nullable()).optional(),
  advice: text.optional(),
  command: text.optional(),
});

/** A line that tells a trouble, and what is then said. */
const line = words.extend({
  /** Every such line has one of these; without a pattern they are all that it needs. */
  texts: z.array(text),
  pattern: text.optional(),
  /** The start gate says it: `pattern` is what comes behind its name. */
  gate: z.literal(true).optional(),
  /** A start failed: that is over once a later one succeeded. */
  failsStart: z.literal(true).optional(),
  /**
   * A client says that a request failed. In the log of the bridge or of Ollama one or two are no
   * trouble, and in a client's own none that was asked again.
   */
  byClient: z.literal(true).optional(),
  /**
   * Words beside those: of the first case whose name in `where` has a value here, or that has no
   * `where`.
   */
  cases: z.array(words.extend({ where: text.optional() })).default([]),
});

/** What ended a program, by where and as what it was raised, and what is then said. */
const raised = words.extend({
  /** It is the first of these that fits: each has patterns that all have to. */
  any: z.array(
    z.strictObject({
      /** A file of the traceback, those of packages below their folder. */
      below: text.optional(),
      /** The line of code that raised it, behind its file. */
      at: text.optional(),
      /** The class with its module; "" for what is no exception. */
      kind: text.optional(),
      /** What it says, or what was raised before it says. */
      says: text.optional(),
      /** The class of vLLM's whose values were refused. */
      validated: text.optional(),
    }),
  ),
  /** Who says it, where that is not the program itself. */
  by: z.literal("docker").optional(),
  /** What it says where it is something else. */
  unless: text.optional(),
  cases: line.shape.cases,
});

type Line = z.infer<typeof line>;
type RaisedWords = z.infer<typeof raised>;
type Words = z.infer<typeof words> & Pick<Line, "cases">;

const FILE = join(__dirname, "rules.yaml");

const known = valueBy(
  z.array(aboutRule.extend({ line: line.optional(), raised: raised.optional() })),
  FILE,
  readYamlFile(FILE),
);

/** Rules that one line or one value is not enough for. */
const coded: readonly (WeighingRule | Row | OfServer)[] = [
  ...versionRules,
  ...stackFileRules,
  ...room,
  ...memory,
  ...sizes,
  ...killings,
  ...ranks,
  ...plugins,
  ...containers,
  ...model,
  ...environment,
  ...compilers,
  ...attention,
  ...kernels,
  ...hub,
  ...bridgeRules,
  ...client,
  ...requestRules,
  ...stalls,
  ...network,
  ...ollama,
  ...onDemandRules,
  ...identity,
  ...between,
  ...senselessRules,
  ...parsers,
  ...argumentRules,
  ...templateRules,
  ...unexplained,
];

/** Every rule, in the order in which they are asked and shown: a rule is told what holds before it. */
export const RULES = known.map((about) => {
  const { id, line, raised } = about;
  const ways = [
    ...coded.filter((each) => each.id === id),
    ...(line === undefined ? [] : [rowOf(id, line)]),
    ...(raised === undefined ? [] : [ofTheEnd(id, raised)]),
  ];
  if (ways.length === 0)
    throw new Error(
      `${id} of rules.yaml has no \`line\` and no \`raised\`, and no code says when it holds.`,
    );
  const explains = ways.map(weighed);
  const explain: Explain = (picture, before) =>
    explains.map((each) => each(picture, before)).find(({ length }) => length > 0) ?? [];
  return { ...about, explain };
});

function rowOf(id: string, { texts, pattern, gate, failsStart, byClient, ...words }: Line): Row {
  const shown = pattern === undefined ? undefined : gate ? gateLine(pattern) : new RegExp(pattern);
  return {
    id,
    when: failsStart ? sign(texts, shown, { when: "start", notWarned: true }) : sign(texts, shown),
    unless: (told) => byClient === true && (isOneTry(told) || isOfVllm(told.hit.log)),
    say: (told) => filledWith(namesOf(told), told, words),
  };
}

/** What the patterns of one alternative are held against. */
type Alternative = Readonly<
  Partial<Record<"below" | "at" | "kind" | "says" | "validated", RegExp>>
>;

/** What the groups of an alternative caught, where it fits what was raised. */
function caughtBy(
  { below, at, kind, says, validated }: Alternative,
  raised: LastWord,
  texts: string[],
) {
  const isThere =
    (at?.test(raised.at ?? "") ?? true) &&
    (kind?.test(raised.kind ?? "") ?? true) &&
    (validated?.test(raised.validated ?? "") ?? true) &&
    (below === undefined || (raised.files ?? []).some((each) => below.test(each)));
  if (!isThere) return undefined;
  if (says === undefined) return [];
  const match = texts.map((each) => says.exec(each)).find((each) => each !== null);
  return match?.slice(1).map((group: string | undefined) => group ?? "");
}

/** A rule over what ended a program. */
function ofTheEnd(id: string, { any, by, unless, ...words }: RaisedWords): WeighingRule {
  const alternatives = any.map(({ below, at, kind, says, validated }): Alternative => {
    const places = { below: patternOf(below), at: patternOf(at), validated: patternOf(validated) };
    return defined({ ...places, kind: patternOf(kind), says: patternOf(says) });
  });
  const not = patternOf(unless);
  const groupsIn = (raised: LastWord | undefined) => {
    if (raised === undefined || (by !== undefined && raised.by !== by)) return undefined;
    const { said, before = [], first } = raised;
    const texts = [said, ...before, ...(first === undefined ? [] : [first])];
    if (texts.some((each) => not?.test(each))) return undefined;
    return alternatives
      .map((each) => caughtBy(each, raised, texts))
      .find((groups) => groups !== undefined);
  };
  return {
    id,
    explain(picture) {
      const log = picture.logs.find((each) => groupsIn(endOf(picture, each)) !== undefined);
      const raised = log && endOf(picture, log);
      if (log === undefined || raised === undefined) return undefined;
      const hit = sightingOf(raised, log, groupsIn(raised));
      const told = { hit, server: serverOf(picture, log), picture };
      return {
        ...filledWith({ ...namesOf(told), ...namesOfEnd(raised) }, told, words),
        evidence: raised.line,
        ...defined({ target: log.container }),
        hit,
        failsStart: true,
      };
    },
  };
}

function patternOf(source: string | undefined): RegExp | undefined {
  return source === undefined ? undefined : new RegExp(source);
}

/** The model's files, by the code that reads each. */
const READ_BY: readonly (readonly [code: RegExp, file: string])[] = [
  [/generation\/configuration/, "generation_config.json"],
  [
    /image_processing|video_processing|feature_extraction|processing_utils/,
    "preprocessor_config.json",
  ],
  [/tokeniz/, "tokenizer.json or tokenizer_config.json"],
  [/configuration_utils|transformers_utils\/config\.py|configuration_auto/, "config.json"],
];

/** What the words of rules.yaml may name of what was raised; its head says what each is. */
function namesOfEnd({ said, at, files = [], packages = "" }: LastWord) {
  const isImage = packages.endsWith("/dist-packages");
  return {
    said: clause(said),
    place: at?.split(": ", 1)[0],
    file: READ_BY.find(([code]) => files.slice(-6).some((each) => code.test(each)))?.[1],
    image: isImage ? packages : undefined,
    venv: isImage ? undefined : /^(.+)\/lib\/python[\d.]+\/site-packages$/.exec(packages)?.[1],
  };
}

/** What is said, with the names filled in. */
function filledWith(names: object, told: Told, { cases, ...shared }: Words) {
  const valueNamed = (name: string) => valueAt(names, name.split("."));
  const filled = (text: string) =>
    text.replace(/\{\{(\w[\w.]*)(?:\|(.*?))?\}\}/g, (_, name, other = "") =>
      String(valueNamed(name) ?? other),
    );
  const settingOf = (value: string | boolean | null) => {
    if (typeof value !== "string") return value ?? undefined;
    return /^\{\{\d+\}\}$/.test(value) ? Number(filled(value)) : filled(value);
  };
  const chosen = cases.find(
    ({ where }) =>
      where === undefined || where.split(" ").every((each) => valueNamed(each) !== undefined),
  );
  const { cause = "", set = {}, advice, command } = { ...shared, ...chosen };
  return {
    cause: filled(cause),
    edits: Object.entries(set).map(([path, value]) =>
      told.server.set(path.split("."), settingOf(value)),
    ),
    advice: advice && filled(advice),
    command: command && filled(command),
  };
}

/** The names that the words of rules.yaml may use; its head says what each is. */
function namesOf({ hit, server: { key, container, settings }, picture }: Told) {
  const { stack } = picture;
  const current = currentRelease(picture, hit.log);
  const bridge = stack?.plan.containers.find(({ role }) => role === "bridge")?.name ?? "<bridge>";
  const plain = (group: string) =>
    /^[\d,]+$/.test(group) ? group.replaceAll(",", "") : group || undefined;
  return {
    ...Object.fromEntries(hit.groups.map((group, index) => [index + 1, plain(group)])),
    caught: firstGroup(hit),
    key,
    container,
    model: settings?.model.id ?? "<model>",
    bridge,
    familyParser: settings && toolParserFor(settings.model.family, "auto"),
    drafts: draftsOf(hit.log, settings),
    server: settings,
    machine: stack?.settings,
    seeTheLink: SEE_THE_LINK,
    notOurFile: stack?.settings.bridge && NOT_OUR_FILE,
    template: argumentsOf(hit.log).find(({ names }) => names.includes("--chat-template"))?.value,
    fixedCache: hasFixedCache(hit.log, defined({ settings })) || undefined,
    current,
    pinNewer: pinNewer(current),
  };
}
