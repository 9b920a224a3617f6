import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../operate/servingCommand";
import { faultsOfForm, publishedNames } from "./publishedForm";

/** Their documents are a plan's, or the engine's. */
const OTHERS = ["plan", "preview", "up", "refresh", "down"];

/** The words of each command that prints a document of its own; the first two name its form. */
function wordsOf(command: Command, before: readonly string[] = []): string[] {
  const words = [...before, command.name()];
  const below = command.commands.flatMap((each) => wordsOf(each, words));
  const isGroup = command.options.length === 0;
  return isGroup ? below : [words.slice(0, 2).join(" "), ...below];
}

describe("the published forms of what commands print as JSON", () => {
  it("are there for every command, and for nothing else", async () => {
    const commands = await Promise.all(Object.values(COMMANDS).map((load) => load([])));
    const words = [...new Set(commands.flatMap((each) => wordsOf(each)))];
    const own = words.filter((each) => !OTHERS.includes(each));
    expect(publishedNames().filter((name) => own.includes(name))).toEqual(own.sort());
  });

  it("take what a command prints", () => {
    const stopped = { machine: "dgx", container: "litellm-8787", availableGiB: null };
    const document = JSON.stringify({ version: 1, stop: [stopped] });
    expect(faultsOfForm(["stop", "bridge", "--format", "json"], document)).toEqual([]);
  });

  it.each([
    ["no version", { stop: [] }, "must have required property 'version'"],
    ["another version", { version: 2, stop: [] }, "/version must be equal to constant"],
    ["a key that is not published", { version: 1, stop: [], more: 1 }, "additional properties"],
    ["a wrong type", { version: 1, stop: [{ machine: 1 }] }, "/stop/0/machine must be string"],
  ])("refuse %s", (_, document, fault) => {
    expect(faultsOfForm(["stop", "b"], JSON.stringify(document)).join("\n")).toContain(fault);
  });
});
