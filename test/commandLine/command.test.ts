import { command, commandsOf, type Outcome } from "@local-serving/base/commandLine/command";
import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { FaultyInput, UnreadableInput } from "@local-serving/base/faults/fault";
import { Argument, Command, Option } from "commander";
import { describe, expect, it, vi } from "vitest";
import { COMMANDS } from "../../cli/servingCommand";
import { runServing } from "../cli/runServing";

describe("the commands of a table", () => {
  const of = (name: string) => ({
    description: `is ${name}`,
    load: (words: readonly string[]) => new Command(name).usage(["whole", ...words].join(" ")),
  });
  const made = async (...words: string[]) =>
    (await commandsOf({ one: of("one"), two: of("two") }, words)).map((command) =>
      [command.name(), command.description(), command.usage()].join(": "),
    );

  it.each([
    [["two", "a", "-b"], "whole a -b"],
    [["--", "two"], "whole"],
    [["help", "two"], "whole"],
    [["two", "two"], "whole two"],
  ])("are whole by the name that is asked for, with what follows it: %j", async (words, rest) => {
    expect(await made(...words)).toEqual(["one: is one: [options]", `two: is two: ${rest}`]);
  });

  it.each([[[]], [["--help"]], [["three"]], [["constructor"]], [["three", "two"]]])(
    "are only named for %j",
    async (words) => {
      expect(await made(...words)).toEqual(["one: is one: [options]", "two: is two: [options]"]);
    },
  );
});

describe("serving", () => {
  it("lists every command in its help, below its group and in the order of the table", async () => {
    const { code, out } = await runServing(["--help"]);
    const listed: string[][] = [];
    for (const [, title, name] of out.matchAll(/^(?:(\S[^.\n]*:)|\s\s([a-z]+)\b.*)$/gm))
      if (title !== undefined) listed.push([title]);
      else listed.at(-1)?.push(name ?? "");
    const groups = [...new Set(Object.values(COMMANDS).map(({ group }) => group))];
    const named = (group: string | undefined) =>
      Object.entries(COMMANDS).flatMap(([name, each]) => (each.group === group ? [name] : []));
    const wanted = groups.map((group) => [group, ...named(group)]);
    wanted.at(-1)?.push("help");
    expect(code).toBe(0);
    expect(groups.length).toBeGreaterThan(3);
    expect(listed.filter((each) => each.length > 1)).toEqual([...wanted, ["Example:", "serving"]]);
  });

  it("wraps help to the terminal, but not what is set in columns", async () => {
    const linesAt = async (columns: string, ...words: string[]) =>
      (await runServing([...words, "--help"], { COLUMNS: columns })).out.split("\n");
    const [narrow, wide] = [await linesAt("70", "plan"), await linesAt("120", "plan")];
    expect(narrow.filter((line) => line.length > 70)).toEqual([]);
    expect(narrow.length).toBeGreaterThan(wide.length);
    expect(await linesAt("70", "completion")).toContain(
      "zsh, in ~/.zshrc after compinit:  source <(serving completion zsh)",
    );
  });

  it.each([["plam"], ["harness", "chek"]])("names the nearest command for %j", async (...args) => {
    const { code, err } = await runServing(args);
    expect(code).toBe(2);
    expect(err).toMatch(/unknown command '(plam|chek)'\n\(Did you mean (plan|check)\?\)/);
  });
});

describe("serving help", () => {
  const HINT = "(add --help for an example)\n";
  it.each([
    [["help", "nosuch"], `error: unknown command 'nosuch'\n${HINT}`],
    [["help", "verfiy"], `error: unknown command 'verfiy'\n(Did you mean verify?)\n${HINT}`],
    [
      ["clients", "help", "exprt"],
      `error: unknown command 'exprt'\n(Did you mean export?)\n${HINT}`,
    ],
  ])("refuses an unknown command as the command line does: %j", async (args, err) => {
    expect(await runServing(args)).toEqual({ code: 2, out: "", err });
  });

  it("prints the help of a command that is there, and without one the list", async () => {
    const own = await runServing(["verify", "--help"]);
    expect(await runServing(["help", "verify"])).toEqual(own);
    const all = await runServing(["help"]);
    expect(all).toMatchObject({ code: 0, err: "" });
    expect(all.out).toContain("Usage: serving [options] [command]");
  });
});

describe("a command", () => {
  const run = async (outcome: Outcome | Error, ...args: string[]) => {
    const seen: unknown[] = [];
    const made = command({
      name: "try",
      description: "tries",
      arguments: [new Argument("<first>", "one"), new Argument("[more...]", "others")],
      options: [new Option("--level <n>", "a number").argParser(Number)],
      notes: "A note.",
      example: "try a",
      refused: ({ faults }) => ({ refused: faults }),
      run: async (options: { readonly level?: number }, first: string, more: string[]) => {
        seen.push(options.level, first, more);
        if (outcome instanceof Error) throw outcome;
        return outcome;
      },
    });
    const out = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const failure = await made.parseAsync(args, { from: "user" }).catch((error: unknown) => error);
    const text = out.mock.calls.map(([chunk]) => chunk).join("");
    out.mockRestore();
    const code = process.exitCode;
    process.exitCode = 0;
    return { seen, text, code, failure, help: made.helpInformation() };
  };

  it("names all required options that are missing at once", async () => {
    expect(await runServing(["models", "kv"])).toMatchObject({
      code: 2,
      err: "error: required options '--config <file>', '--available <size>' not specified\n(add --help for an example)\n",
    });
    expect((await runServing(["models", "kv", "--config", "x"])).err).toContain(
      "error: required option '--available <size>' not specified",
    );
  });

  it("gives its work the options and the arguments, and prints text or JSON", async () => {
    const outcome = { result: { a: 1 }, text: "one" };
    expect(await run(outcome, "x", "y", "z", "--level", "2")).toMatchObject({
      seen: [2, "x", ["y", "z"]],
      text: "one\n",
      code: 0,
    });
    expect((await run(outcome, "x", "--format", "json")).text).toBe(
      '{\n  "version": 1,\n  "a": 1\n}\n',
    );
  });

  it.each([
    [false, 0],
    [true, 1],
    ["unreadable", 2],
  ] as const)("that failed = %j ends with %d", async (failed, code) => {
    expect(await run({ result: {}, text: "", failed }, "x")).toMatchObject({ code, text: "" });
  });

  it("with a faulty input prints what a script wants, and throws the faults on", async () => {
    const faulty = new FaultyInput("f", []);
    expect(await run(faulty, "x", "--format", "json")).toMatchObject({
      text: '{\n  "version": 1,\n  "faults": [],\n  "refused": []\n}\n',
      failure: faulty,
    });
    expect(await run(faulty, "x")).toMatchObject({ text: "", failure: faulty });
  });

  const fault = (code: string, message: string) => ({ path: "", code, message, severity: "error" });
  it.each([
    [new WrongUse("Give a name."), [fault("wrong_use", "Give a name.")]],
    [new Failed("No docker."), [fault("failed", "No docker.")]],
    [new Failed("Nothing yet.", "nothing_applied"), [fault("nothing_applied", "Nothing yet.")]],
    [
      new UnreadableInput("f.yaml", "is no YAML", { line: 2, column: 3 }),
      [{ ...fault("unreadable", "is no YAML"), line: 2, column: 3, file: "f.yaml" }],
    ],
  ])("that ends by %s prints that as a fault, and throws it on", async (error, faults) => {
    const refused = error instanceof UnreadableInput ? { refused: faults } : {};
    const { text, failure } = await run(error, "x", "--format", "json");
    expect(JSON.parse(text)).toEqual({ version: 1, faults, ...refused });
    expect(failure).toBe(error);
    expect((await run(error, "x")).text).toBe("");
  });

  it("prints no document for a bug, and no key in one", async () => {
    expect((await run(new TypeError("x is none"), "x", "--format", "json")).text).toBe("");
    const pasted = new WrongUse(`hf_${"a".repeat(34)}: expected a name.`);
    expect((await run(pasted, "x", "--format", "json")).text).not.toContain("aaaa");
  });
});
