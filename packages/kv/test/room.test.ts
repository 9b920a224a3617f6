import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import vectors from "./vectors.json";

const ROOM = join(__dirname, "..");
const sources = readdirSync(ROOM)
  .filter((file) => /\.(ts|json)$/.test(file) && file !== "package.json")
  .map((file) => [file, readFileSync(join(ROOM, file), "utf8")] as const);

/** Families of models, the test vectors' own among them. */
const FAMILIES = [
  ...new Set(
    vectors.flatMap(({ id, config }) => [
      /^[^/]*\/(?:[^/]*:)?([^-/]*)/.exec(id)?.[1] ?? "",
      config.model_type,
    ]),
  ),
  ..."qwen llama mistral mixtral gemma phi gpt deepseek glm kimi minimax nemotron falcon chatglm granite".split(
    " ",
  ),
].filter((name) => name !== "");

describe("the KV room", () => {
  it("has sources and names to look for", () => {
    expect(sources.length).toBeGreaterThan(8);
    expect(FAMILIES).toEqual(expect.arrayContaining(["qwen3_5", "qwen3.6", "llama"]));
  });

  it.each(sources)("%s knows no model by name", (_, source) => {
    const found = FAMILIES.filter((name) => source.toLowerCase().includes(name.toLowerCase()));
    expect(found).toEqual([]);
  });

  it.each(sources)("%s uses no files, network or Pulumi", (_, source) => {
    const imports = [...source.matchAll(/from "([^"]+)"/g)].map((match) => match[1] ?? "");
    const allowed =
      /^(\.\/|@local-serving\/base\/(data|units)\/|@local-serving\/base\/faults\/(defined|fault|json|schemaFaults|yamlDocument)$|zod$|@renovatebot\/pep440$)/;
    expect(imports.filter((name) => !allowed.test(name))).toEqual([]);
  });
});
