import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";

const COMPONENTS = "components";
const doors = readdirSync(COMPONENTS, { recursive: true, encoding: "utf8" })
  .filter((file) => basename(file) === "index.ts")
  .map((file) => join(COMPONENTS, file));

const EXPORT = /^export (?:type )?\{([^}]*)\} from "(\.\/[\w/-]+)";$/gm;

const namesOf = (list: string): string[] =>
  list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

describe("the doors of components", () => {
  it("are those of rooms and of rooms inside them", () => {
    expect(doors).toContain("components/plan/index.ts");
    expect(doors).toContain("components/services/bridge/index.ts");
    expect(doors.filter((door) => door.split("/").length > 4)).toEqual([]);
  });

  it.each(doors)("%s names each export of its own room, and does nothing else", (door) => {
    const text = readFileSync(door, "utf8");
    const exported = [...text.matchAll(EXPORT)];
    const rest = text.replaceAll(EXPORT, "").replaceAll(/\/\*\*[\s\S]*?\*\//g, "");
    expect(rest.trim()).toBe("");
    const names = exported.flatMap(([, list = ""]) => namesOf(list));
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => / as |\*/.test(name))).toEqual([]);
  });

  it.each(doors)("%s hands on nothing that its files take from elsewhere", (door) => {
    const files = [...readFileSync(door, "utf8").matchAll(EXPORT)].map(([, , file = ""]) => file);
    const handedOn = files.filter((file) => {
      const source = readFileSync(join(door, "..", `${file}.ts`), "utf8");
      return /^export .* from "/m.test(source);
    });
    expect(handedOn).toEqual([]);
  });
});
