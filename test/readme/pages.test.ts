import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadStackFile } from "../../components/settings/load";
import { serving } from "../../operate/servingCommand";
import { scripts } from "../../package.json";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "../operate/runServing";
import { blocksOf, codeOf, notIn, PAGES } from "./pages";

const folder = temporaryFolder("pages-");

const DEFAULT = readFileSync("Pulumi.dgx.yaml", "utf8");
const MACHINES = "local-serving:machines";

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A block as a stack file: whole, or as keys of the default stack file's machine. */
function stackFile(block: string): string {
  const keys = parse(block);
  if ("config" in keys) return block;
  const whole = parse(DEFAULT);
  Object.assign(whole.config[MACHINES].dgx, keys);
  return JSON.stringify(whole);
}

/** A path of this repository, without a part to be filled in. */
const OWN_PATH =
  /^(?:\.ci|\.github|bundle|commandLine|components|docs|examples|faults|harness|machines|models|operate|policies|test|units|vllm)\/[\w./-]*$/;
const SOURCE = /^(?:[\w-]+\/)*[\w-]+\.(?:ts|cjs|sh)$/;
const sources = [
  "bundle",
  "commandLine",
  "components",
  "faults",
  "harness",
  "machines",
  "operate",
  "policies",
  "test",
  "units",
  "vllm",
]
  .flatMap((room) => readdirSync(room, { recursive: true }).map((file) => `/${room}/${file}`))
  .concat("/index.ts");

/** What stands in the way of running this command line: an unknown command or option. */
async function unknownIn(line: string): Promise<string[]> {
  const words = line.split(/\s+/).filter((word) => word !== "");
  let command: Command = await serving(words);
  for (const [at, word] of words.entries()) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) {
      const options = words.slice(at).filter((each) => /^--[a-z]/.test(each));
      const unknown = options.filter((each) => !command.options.some(({ long }) => long === each));
      return command.commands.length > 0 ? [`${word}?`] : unknown;
    }
    command = next;
  }
  return [];
}

/**
 * The command lines of `serving` in a piece of code: without what is piped into it, behind it or
 * remarked.
 */
function servingLines(code: string): string[] {
  return code.split("\n").flatMap((line) => {
    const [, rest] =
      /(?:^|\| |&& )(?:npm run -s serving --|serving|npm run (?=plan)) ?(\S.*)$/.exec(line) ?? [];
    return rest === undefined
      ? []
      : [rest.replace(/^plan -- /, "plan ").split(/ (?:#|\||&&|--)(?: |$)/)[0] ?? ""];
  });
}

const each = (blocks: (page: string) => string[]) =>
  PAGES.flatMap((page) => blocks(page).map((block, at) => [page, at + 1, block] as const));

describe("the pages that people read first", () => {
  it.each(each((page) => blocksOf(page, "yaml")))(
    "%s: stack file %i has no fault",
    (page, at, block) => {
      const file = written(`${page.replaceAll("/", "-")}-${at}.yaml`, stackFile(block));
      expect(() => loadStackFile(file)).not.toThrow();
    },
  );

  it("README.md shows the faults of a stack file as they are printed", async () => {
    const [block = ""] = blocksOf("README.md", "text");
    const wrong = DEFAULT.replace(
      "        maxModelLen: 131072",
      "        maxModellen: 131072",
    ).replace("maxModelLen: 262144", "maxModelLen: 256k");
    const file = written("Pulumi.dgx.yaml", wrong);
    const { code, err } = await runServing(["plan", "--file", file]);
    expect(code).toBe(1);
    expect(block).toContain("2 faults");
    expect(notIn(err.replaceAll(`${folder}/`, ""), block)).toEqual([]);
  });

  it.each(PAGES)("%s names only commands and options that exist", async (page) => {
    const lines = codeOf(page).flatMap(servingLines);
    const unknown = await Promise.all(
      lines.map(async (line) => (await unknownIn(line)).map((word) => `${line}: ${word}`)),
    );
    expect(unknown.flat()).toEqual([]);
  });

  it.each(PAGES)("%s names only files and folders that exist", (page) => {
    const named = codeOf(page).flatMap((code) => code.match(OWN_PATH) ?? []);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
    const files = codeOf(page).flatMap((code) => code.match(SOURCE) ?? []);
    expect(files.filter((file) => !sources.some((path) => path.endsWith(`/${file}`)))).toEqual([]);
  });

  it.each(PAGES)("%s names only scripts that package.json has", (page) => {
    const named = codeOf(page).flatMap((code) => [...code.matchAll(/npm run (?:-s )?([a-z:-]+)/g)]);
    expect(named.map(([, script = ""]) => script).filter((script) => !(script in scripts))).toEqual(
      [],
    );
  });
});

describe("docs/architecture.md", () => {
  const [, mayUse = ""] =
    /MAY_USE = (\{[\s\S]*?\n\});/.exec(readFileSync(".dependency-cruiser.cjs", "utf8")) ?? [];
  const walls = [...mayUse.matchAll(/"?([\w/-]+)"?: \[([^\]]*)\]/g)].map(
    ([, room = "", list = ""]) =>
      [room, [...list.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name)] as const,
  );
  const rows = readFileSync("docs/architecture.md", "utf8").matchAll(
    /^\| `(\S+)\/` .*\| (.*?) *\|$/gm,
  );
  const shown = new Map([...rows].map(([, room = "", cell = ""]) => [room, cell]));

  it.each(walls)("says what %s/ may use, as the walls have it", (room, names) => {
    expect(shown.has(room)).toBe(true);
    // A pattern of rooms is put in words.
    if (names.some((name) => name === "components" || name.includes("("))) return;
    const cell = shown.get(room)?.replaceAll(/[`/]/g, "");
    const said = cell === "nothing of ours" ? [] : cell?.split(", ");
    expect(said?.toSorted()).toEqual(
      names.map((name) => name.replace("components/", "")).toSorted(),
    );
  });
});
