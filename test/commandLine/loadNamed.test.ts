import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { loadNamed } from "../../commandLine/loadNamed";
import { COMMANDS } from "../../operate/commands";
import { runServing } from "../operate/runServing";

describe("the commands of a table", () => {
  const loaded: string[] = [];
  const of = (name: string) => async (args: readonly (string | undefined)[]) => {
    loaded.push([name, ...args].join(" "));
    return new Command(name);
  };
  const table = { one: of("one"), two: of("two") };
  const load = async (...args: string[]) => {
    loaded.length = 0;
    const commands = await loadNamed(table, args);
    return [commands.map((command) => command.name()), [...loaded]];
  };

  it("are loaded by the name that is asked for, with what stands behind it", async () => {
    expect(await load("two", "a", "-b")).toEqual([["two"], ["two a -b"]]);
  });

  it.each([[[]], [["--help"]], [["three"]], [["constructor"]], [["help", "two"]]])(
    "are all there for %j",
    async (args) => {
      expect(await load(...args)).toEqual([
        ["one", "two"],
        ["one", "two"],
      ]);
    },
  );
});

describe("serving", () => {
  it("lists every command in its help, in the order of the table", async () => {
    const { code, out } = await runServing(["--help"]);
    const listed =
      out
        .split("Commands:\n")[1]
        ?.split("\n\n")[0]
        ?.match(/^ {2}\w+/gm) ?? [];
    expect(code).toBe(0);
    expect(listed.map((name) => name.trim())).toEqual([...Object.keys(COMMANDS), "help"]);
  });

  it.each([["plam"], ["config", "chek"]])("names the nearest command for %j", async (...args) => {
    const { code, err } = await runServing(args);
    expect(code).toBe(2);
    expect(err).toMatch(/unknown command '(plam|chek)'\n\(Did you mean (plan|check)\?\)/);
  });
});
