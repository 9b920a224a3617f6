import { fingerprintOfConfig, fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { stackInput } from "../../fixtures/machine";

/** A configuration as the engine hands it to the program. */
const engineConfig = (config: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(config).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );

const { machines } = stackInput();
const CONFIG = { "local-serving:machines": machines };
const TEXT = stringify({ config: CONFIG });

describe("the fingerprint of a stack file's settings", () => {
  it("is the same from the text and from the engine's configuration", () => {
    expect(fingerprintOfText(TEXT)).toMatch(/^[0-9a-f]{64}$/);
    expect(fingerprintOfConfig(engineConfig(CONFIG))).toBe(fingerprintOfText(TEXT));
  });

  it("is so for any settings", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue()), (values) => {
        const config = { "local-serving:machines": JSON.parse(JSON.stringify(values)) as object };
        expect(fingerprintOfText(stringify({ config }))).toBe(
          fingerprintOfConfig(engineConfig(config)),
        );
      }),
      { numRuns: 50 },
    );
  });

  it("leaves out comments, the order of keys and Pulumi's own keys", () => {
    const other = `# A comment\nencryptionsalt: v1:abc\n${stringify({
      config: { "aws:region": "x", "local-serving:machines": reversed(machines) },
    })}`;
    expect(fingerprintOfText(other)).toBe(fingerprintOfText(TEXT));
    expect(fingerprintOfConfig({ "aws:region": "x", ...engineConfig(CONFIG) })).toBe(
      fingerprintOfText(TEXT),
    );
  });

  it("is another for another setting, and none for what is no YAML", () => {
    expect(fingerprintOfText(TEXT.replace("262144", "262145"))).not.toBe(fingerprintOfText(TEXT));
    expect(fingerprintOfText("a: [")).toBeUndefined();
  });
});

function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, each]) => [key, reversed(each)]),
  );
}
