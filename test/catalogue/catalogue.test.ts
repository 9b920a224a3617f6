import { readFileSync } from "node:fs";
import { join } from "node:path";
import { kvPlan, modelShape } from "@local-serving/kv";
import { modelFolder } from "@local-serving/machines/hubCache";
import { type EngineData, engineData, engineVersions } from "@local-serving/vllm/engineData";
import { gte } from "@renovatebot/pep440";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readCatalogue } from "../../components/catalogue/readCatalogue";
import { type Recipe, recipe, sourceIssues } from "../../components/catalogue/recipe";
import { otherFamily } from "../../components/inference-server/parsers";
import { plannedKvDtype } from "../../packages/kv/kvDtype";

const recipes = readCatalogue(process.cwd());
const each = recipes.map((given) => [given.id, given] as const);
const configOf = ({ id }: Recipe) =>
  JSON.parse(readFileSync(join("models", modelFolder(id), "config.json"), "utf8"));

/** The releases that may serve a model. */
function engines({ minimumVllm = "0.30.0" }: Recipe): EngineData[] {
  return engineVersions().flatMap((version) =>
    gte(version, minimumVllm) ? (engineData(version) ?? []) : [],
  );
}

/**
 * The choices of vLLM that a recipe makes, by the option. An image of its own has backends of its
 * own.
 */
function choices({ parsers, settings, draft, image }: Recipe) {
  return {
    "tool-call-parser": parsers.tool,
    "reasoning-parser": parsers.reasoning,
    ...(image === undefined
      ? { "moe-backend": settings.moeBackend, "attention-backend": settings.attentionBackend }
      : {}),
    "load-format": settings.loadFormat,
    "kv-cache-dtype": settings.kvCacheDtype,
    "speculative-config.method": draft?.method,
  };
}

describe("the catalogue", () => {
  it("has the models that people serve on one machine, and those that need two", () => {
    expect(recipes.filter(({ machines }) => machines === 1)).toHaveLength(22);
    expect(recipes.filter(({ machines }) => machines === 2)).toHaveLength(9);
    const names = recipes.map(({ servedModelName }) => servedModelName);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => name.includes("/"))).toEqual([]);
  });

  it.each(each)("%s: its family is that of its config", (_, given) => {
    expect(otherFamily(given.family, configOf(given))).toBeUndefined();
  });

  it.each(each)(
    "%s: every release that may serve it knows its parsers, backends and drafts",
    (_, given) => {
      const unknown = engines(given).flatMap(({ version, choices: known }) =>
        Object.entries(choices(given)).flatMap(([option, value]) =>
          value === undefined || known[option]?.includes(value)
            ? []
            : [`${version}: ${option} ${value}`],
        ),
      );
      expect(unknown).toEqual([]);
      expect(engines(given).length).toBeGreaterThan(0);
    },
  );

  it.each(each)("%s: vLLM's own image knows its variables", (_, given) => {
    const names = Object.keys(given.settings.environment ?? {}).filter((name) =>
      name.startsWith("VLLM_"),
    );
    const unknown = names.filter((name) =>
      engines(given).some(({ variables }) => !variables.includes(name)),
    );
    expect(unknown.length > 0).toBe(given.image !== undefined);
  });

  it.each(each)(
    "%s: a reasoning parser goes with a thinking mode",
    (_, { kind, thinking, parsers }) => {
      expect(parsers.reasoning !== undefined).toBe(thinking);
      expect(parsers.tool !== undefined).toBe(kind === "chat");
    },
  );

  it.each(each)(
    "%s: the KV cache can be planned in its format, or nobody knows it",
    (id, given) => {
      if (id === "local-inference-lab/GLM-5.3-Flash-NVFP4") {
        expect(() => modelShape(configOf(given))).toThrow(
          "This field means sparse attention, which can't be planned.",
        );
        return;
      }
      const kvCacheDtype = plannedKvDtype(given.settings.kvCacheDtype ?? "fp8");
      const { machines: tensorParallelSize, settings } = given;
      const engine = { kvCacheDtype, tensorParallelSize, maxModelLen: settings.maxModelLen };
      expect(kvPlan(modelShape(configOf(given)), engine, 60 * 2 ** 30).fits).toBe(true);
    },
  );
});

describe("a recipe", () => {
  const text = readFileSync("models/openai--gpt-oss-20b/recipe.yaml", "utf8");
  const faultsOf = (changed: string) =>
    sourceIssues(recipe.parse(parse(changed))).map(
      ({ path, message }) => `${path.join(".")}: ${message}`,
    );

  it("is refused where nothing says where a value is from", () => {
    expect(faultsOf(text.replace("of: [weights.diskGB]", "of: [quantization]"))).toEqual([
      "weights.diskGB: No source says where `weights.diskGB` is from: name it in `sources`.",
      "sources.0.of.0: `quantization` has two sources.",
      "sources.1.of.0: `quantization` has two sources.",
    ]);
  });

  it("is refused where a source is of no value", () => {
    expect(faultsOf(text.replace("of: [weights.diskGB]", "of: [weights.diskGB, draft]"))).toEqual([
      "sources.0.of.1: There is no `draft` above.",
    ]);
  });
});
