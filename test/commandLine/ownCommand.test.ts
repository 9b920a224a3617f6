import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hanging } from "@local-serving/base/commandLine/layout";
import { printResult, say } from "@local-serving/base/commandLine/output";
import { asItIs, runsHere, throughNpx } from "@local-serving/base/commandLine/ownCommand";
import { describe, expect, it, vi } from "vitest";
import { COMMANDS, UNLISTED } from "../../cli/servingCommand";
import { temporaryFolder } from "../layers/temporaryFolder";
import { collectedMessages } from "../messages/collected";

const NOWHERE = { PATH: "" };

describe("commands of ours in a text", () => {
  const bin = join(temporaryFolder("on-path-"), "node_modules/.bin");
  const own = temporaryFolder("on-path-");
  mkdirSync(bin, { recursive: true });
  for (const folder of [bin, own])
    writeFileSync(join(folder, "serving"), "#!/bin/sh\n", { mode: 0o755 });

  it.each([
    ["the shell", `/usr/bin:${own}`, "serving plan\nserving up --stack pair"],
    ["nobody", "/usr/bin", "npx --no -- serving plan\nnpx --no -- serving up --stack pair"],
    ["npm alone", `/usr/bin:${bin}`, "npx --no -- serving plan"],
  ])("name `serving` as it is a command of %s", (_, PATH, lines) => {
    const given = lines.replaceAll("npx --no -- ", "");
    expect(runsHere(given, { PATH })).toBe(lines);
    expect(runsHere(lines, { PATH })).toBe(lines);
  });

  it("are told from other words and programs", () => {
    const lines =
      "b is serving requests; bundle/serving.cjs status; local-serving up; docker logs serving";
    expect(runsHere(lines, NOWHERE)).toBe(lines);
  });

  it("stay in a file that is shown as it is", () => {
    const file = "# `serving up` writes this";
    expect(asItIs(file)).not.toBe(file);
    for (const PATH of ["", own]) expect(runsHere(asItIs(file), { PATH })).toBe(file);
    expect(throughNpx(asItIs(file))).toBe(file);
  });

  it("run as printed, whichever command it is", () => {
    for (const name of Object.keys({ ...COMMANDS, ...UNLISTED }).filter((n) => n !== "candidates"))
      expect(throughNpx(`serving ${name}`)).toBe(`npx --no -- serving ${name}`);
  });

  it("run as printed in every message that has one in backticks", () => {
    const left = collectedMessages().filter(({ text }) => /`serving [a-z]/.test(throughNpx(text)));
    expect(left).toEqual([]);
  });
});

describe("what a person reads", () => {
  const TEXT = "Nothing runs: `serving up`.";
  const TYPED = "Nothing runs: `npx --no -- serving up`.";

  function printed(print: () => void, PATH = ""): string[] {
    vi.stubEnv("PATH", PATH);
    const out: string[] = [];
    const spies = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, "write").mockImplementation((text) => out.push(String(text)) > 0),
    );
    try {
      print();
      return out;
    } finally {
      for (const spy of spies) spy.mockRestore();
      vi.unstubAllEnvs();
    }
  }

  it("has commands that run in this folder", () => {
    expect(printed(() => say(TEXT))).toEqual([`${TYPED}\n`]);
    expect(printed(() => printResult("text", {}, TEXT))).toEqual([`${TYPED}\n`]);
  });

  it("has them in a review as they run in every folder of the project", () => {
    const own = temporaryFolder("on-path-");
    writeFileSync(join(own, "serving"), "#!/bin/sh\n", { mode: 0o755 });
    expect(printed(() => printResult("markdown", {}, TEXT), own)).toEqual([`${TYPED}\n`]);
    expect(printed(() => printResult("text", {}, TEXT), own)).toEqual([`${TEXT}\n`]);
  });

  it("is no JSON, whose texts stay as they are", () => {
    const [out = ""] = printed(() => printResult("json", { says: TEXT }, TEXT));
    expect(JSON.parse(out)).toEqual({ version: 1, says: TEXT });
  });

  it("is wrapped as long as it is typed", () => {
    const [line] = printed(() => say(hanging("Run `serving up` again and again.", 2, 30)));
    expect(line).toBe("Run `npx --no -- serving up`\n  again and again.\n");
  });
});
