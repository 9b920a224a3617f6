import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../cli/servingCommand";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

/** Words that a command needs before it reads a stack file. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "models add": ["org/x", "--from-cache"],
  "models show": ["qwen"],
  "models use": ["qwen"],
  logs: ["b"],
  stop: ["b"],
  start: ["b"],
  backup: ["chat-ui"],
  restore: ["chat-ui"],
  "clients export": ["laptop"],
  pin: ["--check"],
};

/** The words of each command that takes both a stack file and `--format`. */
function wordsOf(command: Command, before: readonly string[] = []): string[] {
  const words = [...before, command.name()];
  const below = command.commands.flatMap((each) => wordsOf(each, words));
  const takes = (long: string) => command.options.some((each) => each.long === long);
  return takes("--file") && takes("--format") ? [words.join(" "), ...below] : below;
}

const commands: string[] = [];
beforeAll(async () => {
  const all = await Promise.all(Object.values(COMMANDS).map(({ load }) => load([])));
  const asked = ["--wait", "--against applied", "--versions", "--leftovers"];
  commands.push(...all.flatMap((each) => wordsOf(each)), ...asked.map((each) => `status ${each}`));
});

interface Document {
  readonly version: number;
  readonly faults: readonly { readonly code: string; readonly path: string }[];
}

/** Runs every such command with a stack file of this text; its exit code and its document. */
async function each(text: string, name = "stack.yaml") {
  const file = join(temporaryFolder("faulty-"), name);
  if (text !== "") writeFileSync(file, text);
  const found: [words: string, code: number, document: Document][] = [];
  for (const words of commands) {
    const line = [...words.split(" "), ...(NEEDED[words] ?? []), "--file", file];
    const { code, out } = await runServing([...line, "--format", "json"]);
    found.push([words, code, JSON.parse(out) as Document]);
  }
  return found;
}

const FAULTY = "config:\n  local-serving:machines:\n    dgx:\n      totol: 1\n";

describe("every command that reads a stack file prints a document", () => {
  it("with its faults where it has some", async () => {
    const found = await each(FAULTY);
    expect(found.length).toBeGreaterThan(18);
    for (const [words, code, { version, faults }] of found) {
      expect([words, code, version]).toEqual([words, 1, 1]);
      expect(faults.map(({ path }) => path)).toContain("machines.dgx.totalGiB");
    }
  });

  it.each([
    ["isn't there", ""],
    ["is no YAML", "config: [\n"],
  ])("with one fault where it %s", async (_, text) => {
    for (const [words, code, { faults }] of await each(text))
      expect([words, code, faults.map((fault) => fault.code)]).toEqual([words, 2, ["unreadable"]]);
  });
});

describe("doctor, which judges given files without a faulty stack file,", () => {
  it.each([
    [FAULTY, 1, "machines.dgx.totalGiB"],
    ["config: [\n", 2, ""],
  ])("lists its faults beside the diagnoses: %j", async (text, expected, path) => {
    const folder = temporaryFolder("faulty-");
    const [file, log] = [join(folder, "stack.yaml"), join(folder, "server.log")];
    writeFileSync(file, text);
    writeFileSync(log, "hello\n");
    const { code, out } = await runServing([
      "doctor",
      "--log",
      log,
      "--file",
      file,
      "--format",
      "json",
    ]);
    const { faults, diagnoses } = JSON.parse(out) as Document & {
      readonly diagnoses: readonly { readonly id: string }[];
    };
    expect(code).toBe(expected);
    expect(faults.map((fault) => fault.path)).toContain(path);
    expect(diagnoses.map(({ id }) => id)).toContain("stack-file-faulty");
  });
});

describe("a command line that can't be read", () => {
  it.each([
    ["plan --nosuch --format json", "unknown option '--nosuch'"],
    ["kv --format=json", "required options '--config <file>', '--available <size>' not specified"],
    ["nosuch --format json", "unknown command 'nosuch'"],
  ])("has a document, too: %s", async (line, message) => {
    const { code, out } = await runServing(line.split(" "));
    const fault = { path: "", code: "wrong_use", message, severity: "error" };
    expect(code).toBe(2);
    expect(JSON.parse(out)).toEqual({ version: 1, faults: [fault] });
  });

  it.each([
    ["plan --nosuch", 2],
    ["plan --format yaml", 2],
    ["plan --nosuch --format text", 2],
  ])("has none where nobody asked for it: %s", async (line, expected) => {
    const { code, out } = await runServing(line.split(" "));
    expect([code, out]).toEqual([expected, ""]);
  });
});
