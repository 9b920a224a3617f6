import { readFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { join } from "node:path";
import { KEY_AS_NAME } from "@local-serving/base/faults/secrets";
import { setKey } from "@local-serving/harness/analytics/configuration";
import { analyticsSchema } from "@local-serving/harness/analytics/schema";
import {
  type JsonSchema,
  jsonSchemaOf,
  schemaKeys,
} from "@local-serving/harness/schema/jsonSchema";
import { template } from "@local-serving/harness/templates/template";
import { Ajv, type ValidateFunction } from "ajv";
import fc from "fast-check";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import type * as z from "zod";
import { referenceDocuments } from "../../../cli/reference/documents";
import { CLIENTS } from "../../../components/clients/registry";
import { PROTO } from "../../../components/planned/fields/fields";
import { anyCharacter } from "../../layers/anyCharacter";
import { instances, mutations } from "./schemaInstances";

const PROJECT = join(__dirname, "../../..");
const text = (file: string) => readFileSync(join(PROJECT, file), "utf8");
/** What an editor sees: plain JSON, whatever the file was written in. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const toml = (source: string) => plain(parseToml(source));
const yaml = (source: string) => plain(parseYaml(source));
const json = (source: string): unknown => JSON.parse(source);

const inMachine = (change: object): unknown => {
  const file = yaml(text("Pulumi.dgx.yaml")) as { config: Record<string, { dgx: object }> };
  const machines = file.config["local-serving:machines"];
  return { config: { "local-serving:machines": { dgx: { ...machines?.dgx, ...change } } } };
};

const inRecipe = (change: object): unknown => ({
  ...(yaml(text("models/openai--gpt-oss-120b/recipe.yaml")) as object),
  ...change,
});

/** The settings that agents have, and every client that takes them. */
const AGENT = { server: "b", via: "native", model: "model", maxOutputTokens: 8192 };
const AGENTS = CLIENTS.filter(({ settings }) => settings.safeParse(AGENT).success);

/** Documents that the check takes, by page; the empty one stands for all defaults. */
const GOOD: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "stack-file": {
    "Pulumi.dgx.yaml": yaml(text("Pulumi.dgx.yaml")),
    "every block": yaml(text("test/cli/reference/fixtures/every-block.yaml")),
    "every agent": inMachine({
      clients: Object.fromEntries(AGENTS.map(({ key }) => [key, AGENT])),
    }),
  },
  "model-recipe": {
    "every key": yaml(text("test/cli/reference/fixtures/every-key.recipe.yaml")),
    "one model": yaml(text("models/openai--gpt-oss-120b/recipe.yaml")),
  },
  "automation-config": {
    empty: {},
    template: yaml(template("automation")),
    fixture: yaml(text("packages/harness/test/fixtures/automation/automation.yaml")),
    "every block": yaml(text("test/cli/reference/fixtures/every-key.automation.yaml")),
  },
  "providers-profile": {
    empty: {},
    template: toml(template("providers")),
    "good.toml": toml(text("packages/harness/test/providers/fixtures/good.toml")),
    "of the automation": toml(text("packages/harness/test/fixtures/automation/providers.toml")),
    "every key": toml(text("test/cli/reference/fixtures/every-key.toml")),
    "made from a stack file": toml(text("test/harness-files/golden/thinking-and-ollama.toml")),
  },
  "session-analytics": {
    empty: {},
    template: json(template("analytics")),
    defaults: plain(analyticsSchema().parse({})),
    "good.json": json(text("packages/harness/test/analytics/fixtures/good.json")),
    "made from a stack file": json(text("test/harness-files/golden/session-analytics.json")),
  },
};

/**
 * zod's own: beyond it JavaScript's whole numbers have gaps. It would be at every key of the
 * reference and say nothing.
 */
const SAFE = `Too big: expected int to be <=${Number.MAX_SAFE_INTEGER}`;

/**
 * Rules of the schemas that the JSON Schema does not carry, each with a document that breaks it
 * alone. An editor takes that; the check says what is wrong.
 */
const NOT_CARRIED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "stack-file": {
    [SAFE]: inMachine({ clients: { pi: { maxOutputTokens: 2 ** 53 } } }),
    "Don't put a key into a settings file: the launcher sets it": inMachine({
      clients: { claudeCode: { environment: { ANTHROPIC_API_KEY: "x" } } },
    }),
    "A provider is listed twice; it is tried once": inMachine({
      harness: { fallbackChain: { codex: ["ollama", "ollama"] } },
    }),
    "Expected a host or path in ASCII characters after `://`, a port from 1 to 65535, and nothing after ssh://user@host:port":
      inMachine({
        dockerHost: "ssh://host:99999",
      }),
    "Expected a user and a host that do not begin with `-`: ssh would take them for options":
      inMachine({
        dockerHost: "ssh://-x@host",
      }),
    "Expected a plain path: no `..`, `.` or empty part, no comma, no line break or other control character, and nothing below /dev, /proc or /sys":
      inMachine({ modelCache: "/a/../b" }),
    [KEY_AS_NAME]: inMachine({ clients: { keyVariable: "JBSWY3DPEHPK3PXP" } }),
    [PROTO]: inMachine({ clients: { codex: { model: "__proto__" } } }),
    "Expected an image as `repository[:tag]@sha256:...`: it is an image id, which doesn't name a repository":
      inMachine({
        bridge: { image: "0123456789ab" },
      }),
    "Expected an image as `repository[:tag]@sha256:...`: its name is longer than 255 characters":
      inMachine({
        bridge: { image: "a".repeat(256) },
      }),
    "At least one machine is needed": { config: { "local-serving:machines": {} } },
  },
  "model-recipe": {
    [SAFE]: inRecipe({ machines: 2 ** 53 }),
    [PROTO]: inRecipe({ servedModelName: "__proto__" }),
  },
  "automation-config": { [SAFE]: { review: { max_rounds: 2 ** 53 } } },
  "providers-profile": {
    [SAFE]: { providers: { p: { type: "cli", max_tokens: 2 ** 53 } } },
  },
  "session-analytics": { [SAFE]: { judge: { workers: 2 ** 53 } } },
};
/** The rule that an issue is about: a name's own, where a map has a name that can't be used. */
const ruleOf = (issue: z.core.$ZodIssue) =>
  (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined) ?? issue.message;
const rulesNotCarried = (name: string) => Object.keys(NOT_CARRIED[name] ?? {});

function isRealDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const date = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}

/**
 * An editor's validator. Strict: it refuses a schema with a keyword, type or format that it does
 * not know.
 */
function editor(name: string): ValidateFunction {
  const ajv = new Ajv({
    strict: true,
    strictRequired: true,
    formats: { ipv4: isIPv4, date: isRealDate },
  });
  return ajv.compile(JSON.parse(text(`docs/reference/${name}.schema.json`)));
}

interface Subject {
  readonly name: string;
  readonly takes: ValidateFunction;
  /**
   * What the schema says against a document; unknown keys are not counted where they are only a
   * warning.
   */
  readonly issues: (document: unknown) => z.core.$ZodIssue[];
  readonly schema: JsonSchema;
  /** The whole file from what the schema describes of it. */
  readonly whole: (part: unknown) => unknown;
}

const subjects = referenceDocuments().flatMap(({ name, schema, closed }): Subject[] => {
  if (schema === undefined) return [];
  const ofStack = name === "stack-file";
  const part = (document: unknown) => (ofStack ? partOfStackFile(document) : document);
  return [
    {
      name,
      takes: editor(name),
      issues: (document) => {
        const issues = schema.safeParse(part(document)).error?.issues ?? [];
        return closed === false
          ? issues.filter(({ code }) => code !== "unrecognized_keys")
          : issues;
      },
      schema: jsonSchemaOf(schema),
      whole: (value) =>
        ofStack
          ? { config: { "local-serving:machines": (value as { machines?: unknown }).machines } }
          : value,
    },
  ];
});

/** Our keys of the file that Pulumi reads; `undefined` where the file has none. */
function partOfStackFile(document: unknown): unknown {
  const config = (document as { config?: unknown } | null)?.config;
  if (typeof config !== "object" || config === null || Array.isArray(config)) return undefined;
  const ours = Object.entries(config).filter(([key]) => key.startsWith("local-serving:"));
  return Object.fromEntries(
    ours.map(([key, value]) => [key.slice("local-serving:".length), value]),
  );
}

const named = (name: string): Subject => {
  const found = subjects.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no page ${name}`);
  return found;
};

describe("the published JSON Schemas", () => {
  it("are all looked at", () => {
    expect(subjects.map(({ name }) => name)).toEqual(Object.keys(GOOD));
  });

  it.each(subjects)(
    "$name takes every good document, as the check does",
    ({ name, takes, issues }) => {
      for (const [what, document] of Object.entries(GOOD[name] ?? {})) {
        expect(issues(document), what).toEqual([]);
        expect(takes(document), `${what}: ${JSON.stringify(takes.errors)}`).toBe(true);
      }
    },
  );

  it.each(subjects)(
    "every key of $name is in a good document, so that it is tried below",
    ({ name, schema }) => {
      const here = Object.values(GOOD[name] ?? {}).flatMap((document) =>
        [...pathsIn(document)].map(inSchema),
      );
      const prefix = name === "stack-file" ? ["config", "local-serving:machines"] : [];
      const missing = schemaKeys(schema)
        .map(({ path }) => [...prefix, ...path.slice(prefix.length > 0 ? 1 : 0)])
        .filter((pattern) => !here.some((path) => matches(pattern, path)));
      expect(
        missing.map((path) => path.join(".")),
        "add them to a file of ./fixtures",
      ).toEqual([]);
    },
  );

  it.each(subjects)(
    "$name carries every rule but those that are listed",
    ({ name, takes, issues }) => {
      for (const [rule, document] of Object.entries(NOT_CARRIED[name] ?? {})) {
        expect(takes(document), rule).toBe(true);
        expect(issues(document).map(({ message }) => message)).toEqual([rule]);
      }
    },
  );

  it.each(subjects)(
    "$name judges every good document with one thing changed as the check does, but for those rules",
    ({ name, takes, issues }) => {
      const count = { good: 0, wrong: 0 };
      // What several documents have alike is changed in one of them.
      const tried = new Set<string>();
      for (const [what, good] of Object.entries(GOOD[name] ?? {})) {
        for (const mutation of mutations(good)) {
          if (name === "stack-file" && !concernsUs(mutation.what)) continue;
          const change = `${mutation.what}: ${JSON.stringify(mutation.was)}`;
          if (tried.has(change)) continue;
          tried.add(change);
          const found = issues(mutation.document);
          expectAgreement(`${what}, ${mutation.what}`, takes, mutation.document, found, name);
          count[found.length === 0 ? "good" : "wrong"] += 1;
        }
      }
      // Neither of them may be the only one that was tried.
      expect(count.good).toBeGreaterThan(20);
      expect(count.wrong).toBeGreaterThan(200);
    },
  );

  it.each(subjects)(
    "$name judges any value at any key as the check does, but for those rules",
    (subject) => {
      const { name, takes, issues } = subject;
      const good = Object.values(GOOD[name] ?? {}).flatMap((document) =>
        [...pathsIn(document)].map((path) => ({ document, path })),
      );
      fc.assert(
        fc.property(fc.constantFrom(...good), ANY_VALUE, ({ document, path }, value) => {
          const what = path.join(".");
          fc.pre(name !== "stack-file" || concernsUs(what));
          const changed = withAt(document, path, value);
          expectAgreement(what, takes, changed, issues(changed), name);
        }),
        { numRuns: 500 },
      );
    },
  );

  it.each(subjects)(
    "$name: what it describes, the check takes",
    ({ name, schema, takes, issues, whole }) => {
      fc.assert(
        fc.property(instances(schema), (value) => {
          const document = plain(whole(value));
          expect(takes(document), JSON.stringify(takes.errors)).toBe(true);
          expect(
            issues(document).filter((issue) => !rulesNotCarried(name).includes(ruleOf(issue))),
          ).toEqual([]);
        }),
        { numRuns: 200 },
      );
    },
  );
});

/** JSON of any kind, and texts beside which the forms of keys lie. */
const ANY_VALUE = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.jsonValue(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(fc.string()),
  fc.constantFrom(
    "http://h/v1",
    "http://h/v1/",
    "https://h",
    "KEY",
    "h:1",
    "2026-05-01",
    "0.0.0.0",
    "a b",
    "cli",
    "USD",
  ),
);

function* pathsIn(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) yield* pathsIn(child, [...path, key]);
}

function withAt(document: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const inner = withAt((document as Record<string, unknown>)[key], rest, value);
  return Array.isArray(document)
    ? document.with(Number(key), inner)
    : { ...(document as Record<string, unknown>), [key]: inner };
}

/** A path of a document as in the schema: items of a list are under the list's own name. */
function inSchema(path: readonly string[]): string[] {
  const made: string[] = [];
  for (const part of path) {
    if (/^\d+$/.test(part)) made.push(`${made.pop()}[]`);
    else made.push(part);
  }
  return made;
}

/** A free key of a map is `<name>` in the schema's path. */
function matches(pattern: readonly string[], path: readonly string[]): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((part, index) => part === path[index] || /^<.+>$/.test(part))
  );
}

/**
 * What the editor takes the check takes too, but for the listed rules; what the editor refuses the
 * check refuses.
 */
function expectAgreement(
  what: string,
  takes: ValidateFunction,
  document: unknown,
  found: readonly z.core.$ZodIssue[],
  name: string,
): void {
  const taken = takes(document);
  const against = taken
    ? found.filter((issue) => !rulesNotCarried(name).includes(ruleOf(issue)))
    : found;
  // Many thousand documents come by here: words are made only where the two disagree.
  if (taken === (against.length === 0)) return;
  expect.fail(
    `${what}: ${taken ? JSON.stringify(against) : `taken, but ${JSON.stringify(takes.errors)}`}`,
  );
}

/** Beside our own keys a stack file is Pulumi's. */
function concernsUs(what: string): boolean {
  return (
    what.startsWith("config.local-serving:machines") ||
    what === "config without local-serving:machines"
  );
}

describe("what is good and what is wrong for both", () => {
  it("the fixtures of wrong files are refused", () => {
    const profile = toml(text("packages/harness/test/providers/fixtures/wrong.toml"));
    const analytics = json(text("packages/harness/test/analytics/fixtures/wrong.json"));
    for (const [name, wrong] of [
      ["providers-profile", profile],
      ["session-analytics", analytics],
    ] as const) {
      expect([named(name).takes(wrong), named(name).issues(wrong).length > 0], name).toEqual([
        false,
        true,
      ]);
    }
  });

  it("an open file may have unknown keys, a closed one may not", () => {
    const open = {
      "session-analytics": true,
      "providers-profile": true,
      "automation-config": false,
    };
    for (const [name, taken] of Object.entries(open))
      expect(named(name).takes({ colour: 1 }), name).toBe(taken);
    const stack = yaml(text("Pulumi.dgx.yaml")) as {
      config: Record<string, Record<string, object>>;
    };
    Object.assign(stack.config["local-serving:machines"]?.dgx ?? {}, { colour: 1 });
    expect(named("stack-file").takes(stack)).toBe(false);
  });

  it("whatever `harness set` writes is taken", () => {
    const { takes } = named("session-analytics");
    for (const [key, value] of [
      ["team.budgets.team_daily_usd", "12.5"],
      ["sessions.noise.path_patterns", '["/tmp/"]'],
      ["pricing.models.m.effective_date", "2026-05-01"],
    ] as const) {
      const result = setKey({}, key, value, "HX_");
      expect("document" in result && takes(result.document), key).toBe(true);
    }
  });
});
