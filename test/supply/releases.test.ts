import { describe, expect, it } from "vitest";
import {
  lowestAllowed,
  sameRelease,
  series,
  whyRefused,
} from "../../components/supply/releases/releases";
import releases from "../../components/supply/releases/releases.json";

describe("the supply list", () => {
  it("gives each refusal a reason, a source and a remedy", () => {
    const { refused, variables, options, kernels } = releases;
    for (const { reason, source, remedy } of [...refused, ...variables, ...options]) {
      expect(reason).toMatch(/^[a-z].*[^.]$/);
      expect(source).toMatch(/\S.*[^.]$/);
      expect(remedy).toMatch(/^[A-Z].*\.$/);
    }
    for (const { kernel = "", driver = "", toolkit = "", message, source } of kernels) {
      expect(new RegExp(`${kernel}${driver}${toolkit}`).source).not.toBe("(?:)");
      expect([message, source].join()).toMatch(/^[A-Z].*\.,\S/);
    }
    for (const { versions, below } of refused.map((each) => ({
      versions: undefined,
      below: undefined,
      ...each,
    })))
      expect((versions === undefined) !== (below === undefined)).toBe(true);
  });

  it("names the worst reason of a release that has two", () => {
    expect(whyRefused("litellm", "1.82.7")).toContain("compromised");
    expect(whyRefused("litellm", "1.82.9")).toContain("let attackers bypass their keys");
  });

  it.each<[string, string, boolean]>([
    ["litellm", "1.83.99", true],
    ["litellm", "1.84.0rc1", true],
    ["litellm", "1.84.0", false],
    ["litellm", "v1.82.8+local", true],
    ["ollama", "0.17.1-rc2", true],
    ["ollama", "0.17.1", false],
    ["litellm", "1.82.7.POST1", true],
    ["ollama", "not a version", false],
    ["open-webui", "0.0.1", false],
  ])("%s %s is refused: %s", (name, version, refused) =>
    expect(whyRefused(name, version) !== undefined).toBe(refused),
  );

  it.each([
    ["0.30", "v0.30.0+cu130", true],
    ["0.30.0", "0.30.0rc1", false],
    ["nightly", "0.30.0", false],
    ["0.30.0", "nightly", false],
  ])("takes %s and %s for one release: %s", (one, other, same) =>
    expect(sameRelease(one, other)).toBe(same),
  );

  it.each([
    ["5.17.0", "0.27.1", true],
    ["5.17.0.post1", "0.27.1", true],
    ["5.17.0.POST1", "0.27.1", true],
    ["5.17.0-1+local", "0.27.1", true],
    ["5.17.0rc1", "0.27.1", false],
    ["5.17.0", "0.28.0", false],
    ["5.17.0", undefined, false],
  ])("transformers %s beside vllm %s is refused: %s", (version, vllm, refused) => {
    const beside = new Map(vllm === undefined ? [] : [["vllm", vllm]]);
    expect(whyRefused("transformers", version, beside) !== undefined).toBe(refused);
  });

  it.each([
    ["0.27.1.dev3+gabc", "0.27"],
    ["1!0.30.2", "1!0.30"],
    ["2", "2.0"],
    ["2.7", "2.7"],
    ["nightly", undefined],
  ])("%s is of the series %s", (version, of) => expect(series(version)).toBe(of));

  it("knows the lowest release of each package that may run", () => {
    expect(["vllm", "transformers", "litellm", "ollama", "open-webui"].map(lowestAllowed)).toEqual([
      "0.26.0",
      "5.8.0",
      "1.84.0",
      "0.17.1",
      "0",
    ]);
  });
});
