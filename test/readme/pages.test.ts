import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { serving } from "../../cli/servingCommand";
import { loadStackFile } from "../../components/settings/load";
import { scripts } from "../../package.json";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";
import { blocksOf, codeOf, notIn, PAGES } from "./pages";

const folder = temporaryFolder("pages-");

const DEFAULT = readFileSync("Pulumi.dgx.yaml", "utf8");
const MACHINES = "local-serving:machines";

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/**
 * A block as a stack file: whole, out of a program in YAML, or as keys of the default stack file's
 * machine.
 */
function stackFile(block: string): string {
  const keys = parse(block);
  if ("config" in keys) return block;
  const given = keys.resources?.serving.properties.settings;
  if (given !== undefined) return JSON.stringify({ config: { [MACHINES]: given } });
  const whole = parse(DEFAULT);
  Object.assign(whole.config[MACHINES].dgx, keys);
  return JSON.stringify(whole);
}

/** A path of this repository, without a part to be filled in. */
const OWN_PATH =
  /^(?:\.ci|\.github|bundle|cli|components|docs|models|packages|policies|test)\/[\w./-]*$/;
const SOURCE = /^(?:[\w-]+\/)*[\w-]+\.(?:ts|cjs|sh)$/;
const sources = ["bundle", "cli", "components", "packages", "policies", "test"]
  .flatMap((room) => readdirSync(room, { recursive: true }).map((file) => `/${room}/${file}`))
  .concat("/index.ts");

/** Pulumi judges the options of these. */
const PULUMIS = ["preview", "up", "refresh", "down"];

/** What stands in the way of running this command line: an unknown command or option. */
async function unknownIn(line: string): Promise<string[]> {
  const words = line.split(/\s+/).filter((word) => word !== "");
  if (PULUMIS.includes(words[0] ?? "")) return [];
  let command: Command = await serving(words);
  for (const [at, word] of words.entries()) {
    if (word === "--help") return [];
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
      /(?:^|\| |&& )(?:npm run -s serving --|npx (?:--no --|--package TARBALL) local-serving|serving|npm run (?=plan)) ?(\S.*)$/.exec(
        line,
      ) ?? [];
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

  it("docs/examples/README.md shows the faults of a stack file as they are printed", async () => {
    const [block = ""] = blocksOf("docs/examples/README.md", "text");
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
  const walls = [...mayUse.matchAll(/^ {2}"?([\w/-]+)"?: \[/gm)].map(([, room = ""]) => room);

  /** Rows of tables, each by itself; of all else what stands below one heading. */
  const pieces = readFileSync("docs/architecture.md", "utf8")
    .split(/^#+ /m)
    .flatMap((section) => {
      const rows = section.split("\n").filter((line) => line.startsWith("|"));
      return [...rows, rows.reduce((rest, row) => rest.replace(row, ""), section)];
    });
  const spans = (piece: string) => [...piece.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  const foldersIn = (piece: string) =>
    spans(piece)
      .filter((span) => span.includes("/") && existsSync(span))
      .map((path) => (path.endsWith("/") ? path : dirname(path)));
  /** Where a file lies that a piece names, by its path or beside another one. */
  const placesOf = (file: string, piece: string) =>
    ["", ...foldersIn(piece)]
      .map((folder) => join(folder, file))
      .filter((path) => existsSync(path));

  it("names a file by its path, or beside one of the same folder", () => {
    const strayed = pieces.flatMap((piece) =>
      spans(piece).filter((span) => SOURCE.test(span) && placesOf(span, piece).length === 0),
    );
    expect(strayed).toEqual([]);
  });

  it("says of a name the file that has it", () => {
    const named = pieces.flatMap((piece) =>
      [...piece.matchAll(/`(\w+)`\)? (?:in|of)\s+`([^`\s]+\.ts)`/g)].map(
        ([, name = "", file = ""]) => ({ name, file, places: placesOf(file, piece) }),
      ),
    );
    expect(named.length).toBeGreaterThan(5);
    const wrong = named.filter(
      ({ name, places }) => !places.some((path) => readFileSync(path, "utf8").includes(name)),
    );
    expect(wrong).toEqual([]);
  });

  it("has twelve files to read first, each of which is there", () => {
    const [list = ""] = pieces.filter((piece) => piece.startsWith("What to read first"));
    const first = [...list.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = ""]) => file);
    expect(first).toHaveLength(12);
    expect(first.filter((file) => !existsSync(file))).toEqual([]);
  });

  it("says which rooms of commands the core does without", () => {
    const [section = ""] = pieces.filter((piece) => piece.startsWith("The core"));
    const around = /live around the core:([\s\S]*?)\./.exec(section)?.[1] ?? "";
    const rooms = [...around.matchAll(/`(\w+)`/g)].map(([, name = ""]) => `cli/${name}/`);
    expect(rooms).toContain("cli/bench/");
    const commands = ["plan", "verify", "doctor"].map((name) => `cli/commands/${name}.ts`);
    const reached = reachedFrom(["index.ts", ...commands]);
    expect(reached).toContain("components/plan/plan.ts");
    const taken = rooms.filter((room) => reached.some((file) => file.startsWith(room)));
    expect(taken).toEqual(["cli/fetch/", "cli/wait/", "cli/drift/"]);
  });

  it.each(walls)("says what lives in %s/", (room) => {
    expect(pieces.some((piece) => piece.startsWith(`| \`${room}/\` | `))).toBe(true);
  });
});

/** These files, and every source of ours that they import, directly or not. */
function reachedFrom(files: readonly string[]): string[] {
  const reached = new Set(files);
  for (const file of reached)
    for (const [, from = "", loaded = from] of readFileSync(file, "utf8").matchAll(
      /from "(\.[^"]+)"|import\("(\.[^"]+)"\)/g,
    )) {
      const path = join(dirname(file), loaded);
      const [source] = [`${path}.ts`, `${path}/index.ts`].filter((each) => existsSync(each));
      if (source !== undefined) reached.add(source);
    }
  return [...reached];
}
