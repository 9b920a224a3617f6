import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { KEY_VARIABLE, onRequest, plannedOnDemand, RESIDENT } from "../fixtures/onDemand";
import { fileOf } from "../fixtures/services";

/** llama-swap's own schema of its configuration (v250), as its maker publishes it. */
const SCHEMA: unknown = JSON.parse(
  readFileSync(join(__dirname, "../fixtures/llama-swap/config-schema.json"), "utf8"),
);

const GOLDEN = readFileSync(join(__dirname, "../golden/on-demand.yaml"), "utf8");

/** llama-swap ignores keys that it doesn't know, so the schema is closed where it lists all. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const own = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closed(value)]),
  );
  return "properties" in own && !("additionalProperties" in own)
    ? { ...own, additionalProperties: false }
    : own;
}

const { $schema: _, ...plain } = closed(SCHEMA) as Record<string, unknown>;
const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(plain);

const configOf = (more: Record<string, unknown> = {}) =>
  fileOf(plannedOnDemand(more).machine, "on-demand-config").text;

describe("llama-swap's configuration", () => {
  it("is written from the plan", () => {
    expect(configOf()).toBe(GOLDEN);
  });

  it("asks for no key where nobody but the machine reaches it", () => {
    const text = configOf({ bridge: undefined, chatUi: undefined, onDemand: PROGRAM_ALONE });
    expect(parse(text)).not.toHaveProperty("apiKeys");
  });

  it("holds no key, whatever the shell has", () => {
    process.env[KEY_VARIABLE] = "sk-of-my-shell";
    expect(configOf()).not.toContain("sk-of-my-shell");
    delete process.env[KEY_VARIABLE];
  });

  it("refuses what llama-swap would ignore", () => {
    expect(validate({ ...parse(configOf()), captureBufer: 0 })).toBe(false);
  });
});

const PROGRAM_ALONE = { program: { version: "v250" } };

const server = fc.record({
  share: fc.constantFrom(0.1, 0.2, 0.4, 0.6),
  idleMinutes: fc.constantFrom(undefined, "never", 1, 1440),
  kind: fc.constantFrom("chat", "embedding", "rerank"),
  name: fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,20}$/),
});

it("is a configuration by llama-swap's own schema, whatever the servers", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(server, { minLength: 1, maxLength: 4, selector: ({ name }) => name }),
      fc.boolean(),
      (servers, keyed) => {
        const declared = servers.map(({ share, idleMinutes, kind, name }, index) => [
          `s${index}`,
          onRequest(name, 8002 + index, {
            model: { id: `org/model-${index}`, kind },
            gpuMemoryUtilization: share,
            ...(idleMinutes === undefined ? {} : { idleMinutes }),
          }),
        ]);
        const text = configOf({
          inferenceServers: { b: RESIDENT, ...Object.fromEntries(declared) },
          ...(keyed ? {} : { bridge: undefined, chatUi: undefined, onDemand: PROGRAM_ALONE }),
        });
        const config = parse(text);
        expect([validate(config), validate.errors]).toEqual([true, null]);
        expect(Object.keys(config.models)).toEqual(servers.map(({ name }) => name));
        expect(config.captureBuffer).toBe(0);
        expect(config.sendLoadingState).toBe(false);
      },
    ),
    { numRuns: 25 },
  );
});
