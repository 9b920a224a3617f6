import { readFileSync } from "node:fs";
import { join } from "node:path";
import { renderReference, staleFiles } from "@local-serving/harness/reference/render";
import {
  descriptionOf,
  type JsonSchema,
  jsonSchemaOf,
  schemaKeys,
} from "@local-serving/harness/schema/jsonSchema";
import { describe, expect, it } from "vitest";
import { referenceDocuments } from "../../../cli/reference/documents";
import { PAGES } from "../../readme/pages";
import { plain, type ShownKey, shownKeys } from "./pages";

const FOLDER = join(__dirname, "../../../docs/reference");

const pages = referenceDocuments().flatMap(({ name, schema, prefix = "" }) => {
  if (schema === undefined) return [];
  const shown = shownKeys(readFileSync(join(FOLDER, `${name}.md`), "utf8"));
  const find = (path: string): ShownKey => {
    const found = shown.find((key) => key.path === path);
    if (found === undefined) throw new Error(`${name}.md shows no ${path}`);
    return found;
  };
  return [{ name, prefix, shown, find, keys: schemaKeys(jsonSchemaOf(schema)) }];
});

/** The default that a page shows; `undefined` where it shows none. */
function shownDefault({ cells, text }: ShownKey): string | undefined {
  const cell = cells.Default ?? / Default: (`.*`|empty)\.$/m.exec(text)?.[1] ?? "";
  if (cell === "" || cell === "**required**") return undefined;
  return cell === "empty" ? "" : plain(cell);
}

/** Every form of a value: what it may be and must be named by, each by itself. */
function forms(schema: JsonSchema): JsonSchema[] {
  return (schema.anyOf ?? schema.oneOf)?.flatMap(forms) ?? [schema];
}

/** Words that a form's type must be said with. */
function wordsOf(schema: JsonSchema): string[] {
  const { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minItems, items } = schema;
  if (schema.const !== undefined) return [schema.const === "" ? "empty" : `\`${schema.const}\``];
  if (schema.enum !== undefined)
    return schema.enum.map((value) => (value === "" ? "empty" : `\`${value}\``));
  const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter(
    (bound) => bound !== undefined,
  );
  switch (type) {
    case "integer":
      return ["whole number", ...bounds.map(String)];
    case "number":
      return ["number", ...bounds.map(String)];
    case "boolean":
      return ["`true` or `false`"];
    case "string":
      return [schema.format === "date" ? "date" : "text"];
    case "array":
      return Array.isArray(items)
        ? items.map((item) => String(item.const))
        : ["list", ...(minItems === undefined ? [] : [String(minItems)])];
    default:
      return [];
  }
}

describe("docs/reference", () => {
  it("is what the schemas make of it", () => {
    expect(
      staleFiles(FOLDER, renderReference(referenceDocuments())).map(({ name }) => name),
    ).toEqual([]);
  });

  it.each(pages)("shows every key of $name once, and only keys", ({ shown, keys }) => {
    const paths = shown.map(({ path }) => path);
    expect(paths.toSorted()).toEqual(keys.map(({ path }) => path.join(".")).toSorted());
    expect(new Set(paths).size).toBe(paths.length);
  });

  it.each(pages)("gives each key of $name an address of its own", ({ name, keys }) => {
    const page = readFileSync(join(FOLDER, `${name}.md`), "utf8");
    const addresses = [...page.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id);
    expect(addresses).toHaveLength(keys.length);
    expect(new Set(addresses).size).toBe(keys.length);
    const path = /[<>[\]]|<a|\s/;
    expect(addresses.filter((address = "") => path.test(address))).toEqual([]);
  });

  it("has the addresses that pages link to, letter for letter", () => {
    const stackFile = readFileSync(join(FOLDER, "stack-file.md"), "utf8");
    const linked = PAGES.flatMap((page) => [
      ...readFileSync(page, "utf8").matchAll(/reference\/stack-file\.md#([\w.]+)/g),
    ]).map(([, address]) => address);
    expect(linked).toContain("machines.inferenceServers.maxModelLen");
    expect(linked.filter((id) => !stackFile.includes(`<a id="${id}"></a>`))).toEqual([]);
  });

  it.each(pages)(
    "shows the default of every key of $name, or that it is required",
    ({ find, keys }) => {
      for (const { path, schema, required, block } of keys) {
        const key = find(path.join("."));
        const fallback: unknown = schema.default;
        const text = typeof fallback === "string" ? fallback : JSON.stringify(fallback);
        expect(shownDefault(key), key.path).toBe(required ? undefined : text);
        const saysRequired = block
          ? key.text.includes("The block is required.")
          : key.cells.Default === "**required**";
        expect(saysRequired, key.path).toBe(required);
      }
    },
  );

  it.each(pages)(
    "shows the type, bounds, choices and unit of every key of $name",
    ({ find, keys }) => {
      for (const { path, schema, block } of keys) {
        const key = find(path.join("."));
        if (block) continue;
        const type = key.cells.Type ?? "";
        const words = forms(schema).flatMap(wordsOf);
        for (const word of words) expect(type, key.path).toContain(word);
        expect(type.includes("whole number"), key.path).toBe(words.includes("whole number"));
        if (schema.unit !== undefined) expect(type, key.path).toContain(`(${schema.unit})`);
      }
    },
  );

  it.each(pages)(
    "shows the variable of every key of $name that has one, and of no other",
    ({ find, keys, prefix }) => {
      for (const { path, schema, block } of keys) {
        const key = find(path.join("."));
        const variable =
          schema.variable === undefined ? undefined : `\`${prefix}${schema.variable}\``;
        if (block) expect(/ Variables: (`[^`]+`)/.exec(key.text)?.[1], key.path).toBe(variable);
        else expect(key.cells.Variable ?? "", key.path).toBe(variable ?? "");
      }
    },
  );

  it.each(pages)("describes every key of $name", ({ find, keys }) => {
    for (const { path, schema } of keys) {
      const key = find(path.join("."));
      const words = descriptionOf(schema);
      expect(words.length, key.path).toBeGreaterThan(15);
      expect(`${key.cells.Meaning ?? ""}${key.text}`, key.path).toContain(
        words.replace(/\s*\n\s*/g, " "),
      );
    }
  });
});
