import { join } from "node:path";
import * as z from "zod";
import { toolParserFor } from "../../components/inference-server";
import { valueAt, valueBy } from "../../faults/schemaFaults";
import { readYamlFile } from "../../faults/yamlDocument";
import { gateLine } from "../sees/gateLines";
import { sign } from "../sees/log/sign";
import { isOfVllm, isOneTry } from "./oneTry";
import { firstGroup } from "./picture";
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
import { between } from "./subjects/between";
import { bridgeRules } from "./subjects/bridge";
import { client } from "./subjects/client";
import { containers } from "./subjects/containers";
import { draftsOf } from "./subjects/drafts";
import { environment } from "./subjects/environment";
import { hub } from "./subjects/hub";
import { identity } from "./subjects/identity";
import { killings } from "./subjects/killed";
import { memory } from "./subjects/memory";
import { model } from "./subjects/model";
import { network } from "./subjects/network";
import { ollama } from "./subjects/ollama";
import { onDemandRules } from "./subjects/onDemand";
import { parsers } from "./subjects/parsers";
import { ranks } from "./subjects/ranks";
import { room } from "./subjects/room";
import { senselessRules } from "./subjects/senseless";
import { stackFileRules } from "./subjects/stackFile";
import { templateRules } from "./subjects/template";
import { unexplained } from "./subjects/unexplained";
import { versionRules } from "./subjects/version";

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

type Line = z.infer<typeof line>;

const FILE = join(__dirname, "rules.yaml");

const known = valueBy(
  z.array(aboutRule.extend({ line: line.optional() })),
  FILE,
  readYamlFile(FILE),
);

/** Rules that one line or one value is not enough for. */
const coded: readonly (WeighingRule | Row | OfServer)[] = [
  ...versionRules,
  ...stackFileRules,
  ...room,
  ...memory,
  ...killings,
  ...ranks,
  ...containers,
  ...model,
  ...environment,
  ...hub,
  ...bridgeRules,
  ...client,
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
  const { id, line } = about;
  const ways = line === undefined ? coded.filter((each) => each.id === id) : [rowOf(id, line)];
  if (ways.length === 0)
    throw new Error(`${id} of rules.yaml has no \`line\`, and no code says when it holds.`);
  const explains = ways.map(weighed);
  const explain: Explain = (picture, before) =>
    explains.map((each) => each(picture, before)).find(({ length }) => length > 0) ?? [];
  return { ...about, explain };
});

function rowOf(
  id: string,
  { texts, pattern, gate, failsStart, byClient, cases, ...shared }: Line,
): Row {
  const shown = pattern === undefined ? undefined : gate ? gateLine(pattern) : new RegExp(pattern);
  return {
    id,
    when: failsStart ? sign(texts, shown, { when: "start", notWarned: true }) : sign(texts, shown),
    unless: (told) => byClient === true && (isOneTry(told) || isOfVllm(told.hit.log)),
    say(told) {
      const valueNamed = (name: string) => valueAt(namesOf(told), name.split("."));
      const filled = (text: string) =>
        text.replace(/\{\{(\w[\w.]*)(?:\|(.*?))?\}\}/g, (_, name, other = "") =>
          String(valueNamed(name) ?? other),
        );
      const settingOf = (value: string | boolean | null) => {
        if (typeof value !== "string") return value ?? undefined;
        return /^\{\{\d+\}\}$/.test(value) ? Number(filled(value)) : filled(value);
      };
      const chosen = cases.find(
        ({ where }) => where === undefined || valueNamed(where) !== undefined,
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
    },
  };
}

/** The names that the words of rules.yaml may use; its head says what each is. */
function namesOf({ hit, server: { key, container, settings }, picture: { stack } }: Told) {
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
    notOurFile: NOT_OUR_FILE,
  };
}
