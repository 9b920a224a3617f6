import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { NPX } from "@local-serving/base/programFolder";
import { template } from "@local-serving/harness/templates/template";
import { vi } from "vitest";
import { madeFacts } from "../cli/init/madeFacts";
import { type Run, runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";

/** A block of commands of a page. */
export interface CommandBlock {
  readonly page: string;
  /** Where its first command stands. */
  readonly line: number;
  readonly text: string;
  /** The comment before it, without its marks; empty where there is none. */
  readonly mark: string;
  /** What stands below it as printed; empty where nothing does. */
  readonly printed: string;
}

/** Names of the languages by which a block could be one of commands. */
const SHELLS = /^(sh|bash|shell|console|shell-session|zsh|)$/;

export function commandBlocksOf(page: string): CommandBlock[] {
  const lines = readFileSync(page, "utf8").split("\n");
  const found: CommandBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, indent = "", language] = /^(\s*)```(\S*)/.exec(lines[at] ?? "") ?? [];
    if (language === undefined) continue;
    const end = lines.findIndex((line, place) => place > at && line.trim() === "```");
    if (SHELLS.test(language)) {
      const text = lines.slice(at + 1, end).map((line) => line.slice(indent.length));
      const [, mark = ""] = /^\s*<!-- (.*) -->$/.exec(lines[at - 1] ?? "") ?? [];
      const below = lines.slice(end + 1).join("\n");
      const [, printed = ""] = /^\n<!-- printed -->\n```text\n([\s\S]*?)\n```/.exec(below) ?? [];
      found.push({ page, line: at + 2, text: text.join("\n"), mark, printed });
    }
    at = end;
  }
  return found;
}

/** A block for another stack file than the one of most pages. */
const WITH_STACK = /^with (\S+\.yaml)$/;

/** A command with what stands on its stdin. */
interface Typed {
  readonly words: readonly string[];
  readonly stdin?: string;
}

/** The commands of a block as a shell has them: no remarks, lines that go on, here-documents. */
function typedIn(text: string, folder: string): Typed[] {
  const lines = text.split("\n");
  const typed: Typed[] = [];
  for (let at = 0; at < lines.length; at++) {
    let whole = lines[at] ?? "";
    // What stands on a command's stdin keeps its lines.
    while (whole.endsWith("\\") && at + 1 < lines.length)
      whole = `${whole.slice(0, -1)} ${lines[++at] ?? ""}`;
    const line = whole.replace(/(^|\s+)#.*$/, "").trim();
    if (line === "") continue;
    const [, command = line, way, source = ""] = /^(.*?) (<<|<) *'?([\w.-]+)'?$/.exec(line) ?? [];
    const words = wordsOf(command);
    if (way === undefined) typed.push({ words });
    else if (way === "<") typed.push({ words, stdin: readFileSync(join(folder, source), "utf8") });
    else {
      const end = lines.indexOf(source, at);
      typed.push({ words, stdin: `${lines.slice(at + 1, end).join("\n")}\n` });
      at = end;
    }
  }
  return typed;
}

/** Words of a command: quotes hold blanks together. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain = ""]) => single ?? double ?? plain,
  );

/**
 * A folder as a reader has it before the block: one stack file, the models, and what a page says
 * is there already; nothing of a stack where the block makes one.
 */
function folderFor({ text, mark }: CommandBlock, made: MadeUp): string {
  const [, stackFile = made.stackFile] = WITH_STACK.exec(mark) ?? [];
  const folder = temporaryFolder("page-");
  symlinkSync(resolve("models"), join(folder, "models"));
  copyFileSync(made.facts, join(folder, "facts.json"));
  writeFileSync(join(folder, "automation.yaml"), template("automation"));
  if (/\bserving init\b/.test(text)) return folder;
  copyFileSync("Pulumi.yaml", join(folder, "Pulumi.yaml"));
  copyFileSync(stackFile, join(folder, "Pulumi.dgx.yaml"));
  return folder;
}

/** `init` looks at a made-up machine, and installs nothing. */
const asTyped = (words: readonly string[]): readonly string[] =>
  words[0] !== "init"
    ? words
    : [
        ...words,
        ...(words.includes("--from") ? [] : ["--from", "facts.json"]),
        ...(words.includes("--yes") ? [] : ["--yes"]),
        "--no-install",
      ];

/** What `init` found on a made-up machine, and the stack file that it wrote. */
export interface MadeUp {
  readonly facts: string;
  readonly stackFile: string;
}

export async function makeUp(): Promise<MadeUp> {
  const [facts, folder] = [await madeFacts(), temporaryFolder("made-up-")];
  symlinkSync(resolve("models"), join(folder, "models"));
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  await servingWith(asTyped(["init", "--name", "dgx", "--from", facts]), undefined, folder);
  cwd.mockRestore();
  return { facts, stackFile: join(folder, "Pulumi.dgx.yaml") };
}

/** Runs a block from its first command to its last; a command that can't be run here is thrown. */
export async function runBlock(block: CommandBlock, made: MadeUp): Promise<Run[]> {
  const folder = folderFor(block, made);
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  const runs: Run[] = [];
  try {
    for (const { words, stdin } of typedIn(block.text, folder)) {
      const [program = "", ...rest] = words;
      const args = { serving: rest, npx: words.slice(NPX.split(" ").length) }[program];
      if (program === "cp" && rest.length === 2) {
        const [from = "", to = ""] = rest.map((each) => join(folder, each));
        writeFileSync(to, readFileSync(from, "utf8"));
      } else if (args === undefined || (program === "npx" && !words.join(" ").startsWith(NPX))) {
        throw new Error(`can't be run here: ${words.join(" ")}. Mark its block.`);
      } else runs.push(await servingWith(asTyped(args), stdin, folder));
    }
  } finally {
    cwd.mockRestore();
  }
  return runs;
}

/** The PATH of a reader who has put `serving` on it, as pages do. */
function readersPath(): string {
  const folder = temporaryFolder("reader-");
  writeFileSync(join(folder, "serving"), "", { mode: 0o755 });
  return [folder, process.env.PATH].join(delimiter);
}

/** Paths on the command line are those of the folder, which this process isn't in. */
async function servingWith(args: readonly string[], stdin: string | undefined, folder: string) {
  const input = vi.spyOn(process, "stdin", "get");
  input.mockReturnValue(Readable.from([stdin ?? ""]) as typeof process.stdin);
  try {
    const paths = args.map((word) =>
      /^(facts\.json|before\.yaml|[\w.-]+\.yaml|everything|laptop|contract\.json|models\/.*\.json)$/.test(
        word,
      )
        ? join(folder, word)
        : word,
    );
    const PATH = readersPath();
    return await runServing(paths, { npm_command: "run-script", HOME: "/home/me", PATH });
  } finally {
    input.mockRestore();
  }
}
