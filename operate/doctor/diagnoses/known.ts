import { join } from "node:path";
import * as z from "zod";
import { toolParserFor } from "../../../components/inference-server";
import { valueAt, valueBy } from "../../../faults/schemaFaults";
import { readYamlFile } from "../../../faults/yamlDocument";
import { gateLine } from "../../sees/gateLines";
import { sign } from "../../sees/log/sign";
import {
  NOT_OUR_FILE,
  type Row,
  SEE_THE_LINK,
  signsOf,
  type Told,
  type Weighed,
} from "../diagnosis";
import { firstGroup, seen } from "../facts";

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
  /** Ids of troubles whose own lines explain this one. */
  unless: z.array(text).default([]),
  /** A start failed: that is over once a later one succeeded. */
  failsStart: z.literal(true).optional(),
  /**
   * Words beside those: of the first case whose name in `where` has a value here, or that has no
   * `where`.
   */
  cases: z.array(words.extend({ where: text.optional() })).default([]),
});

type Line = z.infer<typeof line>;

const known = z.array(
  z.strictObject({
    /** Kebab-case; scripts rely on it. */
    id: text,
    /** Row of the specification, or the upstream issue, that describes it. */
    source: text,
    /**
     * What reports it before anything starts: a policy, a warning of the plan, the preflight of
     * `up`.
     */
    caughtBy: text.optional(),
    /**
     * Worth a report, but it doesn't explain why a server fails: unknown trouble beside it is still
     * reported.
     */
    aside: z.literal(true).optional(),
    /** Explains a line that only looks like trouble: it is reported alone, and isn't counted. */
    harmless: z.literal(true).optional(),
    line: line.optional(),
  }),
);

const FILE = join(__dirname, "known.yaml");

/** Every known trouble, in the order in which it is shown. */
export const KNOWN = valueBy(known, FILE, readYamlFile(FILE));

/** One known trouble. */
export type Diagnosis = Omit<(typeof KNOWN)[number], "line"> & Weighed;

export function rowOf(
  id: string,
  { texts, pattern, gate, failsStart, unless, cases, ...shared }: Line,
): Row {
  const shown = pattern === undefined ? undefined : gate ? gateLine(pattern) : new RegExp(pattern);
  return {
    id,
    when: failsStart ? sign(texts, shown, { when: "start", notWarned: true }) : sign(texts, shown),
    unless: ({ facts }) => seen(facts, ...unless.flatMap(signsOf)) !== undefined,
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

/** The names that the words of known.yaml may use; its head says what each is. */
function namesOf({ hit, server: { key, container, settings }, facts: { stack } }: Told) {
  const bridge = stack?.plan.containers.find(({ role }) => role === "bridge")?.name ?? "<bridge>";
  const plain = (group: string) =>
    /^[\d,]+$/.test(group) ? group.replaceAll(",", "") : group || undefined;
  return {
    ...Object.fromEntries(hit.groups.map((group, index) => [index + 1, plain(group)])),
    ...{ caught: firstGroup(hit), key, container, model: settings?.model.id ?? "<model>", bridge },
    ...{ familyParser: settings && toolParserFor(settings.model.family, "auto") },
    ...{
      server: settings,
      machine: stack?.settings,
      seeTheLink: SEE_THE_LINK,
      notOurFile: NOT_OUR_FILE,
    },
  };
}
