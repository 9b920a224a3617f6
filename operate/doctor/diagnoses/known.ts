import { join } from "node:path";
import { z } from "zod";
import { valueBy } from "../../../faults/schemaFaults";
import { filled } from "../../../faults/textFile";
import { readYamlFile } from "../../../faults/yamlDocument";
import { type Row, SEE_THE_LINK, type Weighed } from "../diagnosis";
import { seen } from "../facts";
import { type Sign, sign, startSign } from "../sign";

const text = z.string();

/** A line that tells a trouble, and what is then said. */
const line = z.strictObject({
  /** Every such line has one of these; without a pattern they are all that it needs. */
  texts: z.array(text),
  pattern: text.optional(),
  /** Ids of troubles whose own lines explain this one. */
  unless: z.array(text).default([]),
  /** A start failed: that is over once a later one succeeded. */
  failsStart: z.literal(true).optional(),
  cause: text,
  /** Settings of the server, by their dotted names; `null` takes one out, and a group alone is a number. */
  set: z.record(text, text.or(z.boolean()).nullable()).default({}),
  advice: text.default(""),
  command: text.optional(),
});

const known = z.array(
  z.strictObject({
    /** Kebab-case; scripts rely on it. */
    id: text,
    /** Row of the specification, or the upstream issue, that describes it. */
    source: text,
    /** What reports it before anything starts: a policy, a warning of the plan, the preflight of `up`. */
    caughtBy: text.optional(),
    /** Worth a report, but it doesn't explain why a server fails: unknown trouble beside it is still reported. */
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

const signs = new Map<string, Sign>();

export function rowOf(id: string, { texts, pattern, failsStart, unless, ...told }: z.infer<typeof line>): Row {
  const made = failsStart ? startSign : sign;
  const when = made(texts, pattern === undefined ? undefined : new RegExp(pattern));
  signs.set(id, when);
  return {
    id,
    when,
    unless: ({ facts }) => seen(facts, ...unless.flatMap((other) => signs.get(other) ?? [])) !== undefined,
    say({ hit, server }) {
      const groups = hit.groups.map((group, index) => [index + 1, group]);
      const { key, container, settings } = server;
      const model = settings?.model.id ?? "<model>";
      const values = { ...Object.fromEntries(groups), key, container, model, seeTheLink: SEE_THE_LINK };
      const settingOf = (value: string | boolean | null) => {
        if (typeof value !== "string") return value ?? undefined;
        return /^\{\{\d+\}\}$/.test(value) ? Number(filled(value, values)) : filled(value, values);
      };
      return {
        cause: filled(told.cause, values),
        edits: Object.entries(told.set).map(([path, value]) => server.set(path.split("."), settingOf(value))),
        advice: filled(told.advice, values) || undefined,
        command: told.command && filled(told.command, values),
      };
    },
  };
}
