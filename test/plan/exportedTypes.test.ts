import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOMS = ["packages", "components", "cli", "policies"];

const SOURCES = ROOMS.flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/node_modules|(^|\/)test\//.test(name))
    .map((name) => join(room, name)),
);

/**
 * Names of the exported types of a file that a function's body makes, by `ReturnType` or by a type
 * of the file that has one.
 */
function madeByBodies(file: string, text: string): string[] {
  const types = ts
    .createSourceFile(file, text, ts.ScriptTarget.Latest)
    .statements.filter(
      (each) => ts.isTypeAliasDeclaration(each) || ts.isInterfaceDeclaration(each),
    );
  const made = new Set(["ReturnType"]);
  const uses = (node: ts.Node): boolean =>
    (ts.isIdentifier(node) && made.has(node.text)) ||
    (ts.forEachChild(node, (child) => uses(child) || undefined) ?? false);
  const found = () => types.filter((each) => !made.has(each.name.text) && uses(each));
  for (let more = found(); more.length > 0; more = found())
    for (const { name } of more) made.add(name.text);
  const isExported = ({ modifiers }: (typeof types)[number]) =>
    modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
  return types
    .filter((each) => isExported(each) && made.has(each.name.text))
    .map(({ name }) => `${file}: ${name.text}`);
}

describe("an exported type", () => {
  it("is written out, or made from a schema, and never what some function happens to return", () => {
    expect(SOURCES.length).toBeGreaterThan(300);
    const mentioning = SOURCES.map((file) => [file, readFileSync(file, "utf8")] as const).filter(
      ([, text]) => text.includes("ReturnType"),
    );
    expect(mentioning.flatMap(([file, text]) => madeByBodies(file, text))).toEqual([]);
  });

  it.each([
    ["export type A = ReturnType<typeof f>;", ["x.ts: A"]],
    ["export type A = Readonly<Awaited<ReturnType<typeof f>>[number]>;", ["x.ts: A"]],
    [
      "type B = ReturnType<typeof f>; export interface A { readonly b: C } type C = B | string;",
      ["x.ts: A"],
    ],
    ["type B = ReturnType<typeof f>; export type A = string;", []],
    ["export const a = (b: ReturnType<typeof f>) => b;", []],
  ])("is found where it is: %s", (text, found) => {
    expect(madeByBodies("x.ts", text)).toEqual(found);
  });
});
