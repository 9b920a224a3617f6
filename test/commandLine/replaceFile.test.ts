import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createFile, replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../layers/temporaryFolder";

const folder = () => temporaryFolder("replace-");
const mode = (file: string) => statSync(file).mode & 0o777;

describe("replacing a file", () => {
  it("keeps its mode and leaves nothing beside it", () => {
    const dir = folder();
    const file = join(dir, "a.json");
    writeFileSync(file, "old");
    chmodSync(file, 0o640);
    replaceFile(file, "new");
    expect(readFileSync(file, "utf8")).toBe("new");
    expect(mode(file)).toBe(0o640);
    expect(readdirSync(dir)).toEqual(["a.json"]);
  });

  it("makes a file that only its owner reads, and its folder", () => {
    const file = join(folder(), "home", "a.json");
    replaceFile(file, "new");
    expect(mode(file)).toBe(0o600);
    expect(mode(join(file, ".."))).toBe(0o700);
  });

  it("writes through a symlink, which stays one", () => {
    const dir = folder();
    writeFileSync(join(dir, "real.json"), "old");
    symlinkSync("real.json", join(dir, "link.json"));
    replaceFile(join(dir, "link.json"), "new");
    expect(lstatSync(join(dir, "link.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(dir, "real.json"), "utf8")).toBe("new");
  });

  it("leaves the file and nothing else when it can't be replaced", () => {
    const dir = folder();
    const file = join(dir, "taken");
    mkdirSync(file);
    expect(() => replaceFile(file, "new")).toThrow();
    expect(readdirSync(dir)).toEqual(["taken"]);
  });

  it("never shows a reader half of it: killed at any time, the text is the old or the new one", () => {
    const dir = folder();
    const file = join(dir, "a.json");
    const old = "o".repeat(200_000);
    const fresh = "n".repeat(200_000);
    const script = `
      const { replaceFile } = require(${JSON.stringify(join(__dirname, "../../packages/base/commandLine/replaceFile.ts"))});
      for (;;) replaceFile(${JSON.stringify(file)}, "n".repeat(200000));`;
    for (const ms of [250, 400]) {
      writeFileSync(file, old);
      spawnSync(process.execPath, ["--import", "tsx", "-e", script], {
        timeout: ms,
        killSignal: "SIGKILL",
      });
      expect([old, fresh]).toContain(readFileSync(file, "utf8"));
    }
  });
});

describe("what is no regular file", () => {
  it.each(["pipe", "/dev/full"])("is not replaced: %s", (name) => {
    const file = join(folder(), name);
    const target = name.startsWith("/") ? name : file;
    if (target === file) spawnSync("mkfifo", [file]);
    expect(() => replaceFile(target, "text")).toThrow(
      `${target}: not a regular file, so it stays as it is`,
    );
    expect(lstatSync(target).isFile()).toBe(false);
  });
});

describe("making a file", () => {
  it("writes all of it where there is none", () => {
    const file = join(folder(), "home", "a.json");
    expect(createFile(file, "text")).toBe(true);
    expect(readFileSync(file, "utf8")).toBe("text");
    expect(mode(file)).toBe(0o600);
    expect(readdirSync(join(file, ".."))).toEqual(["a.json"]);
  });

  it("touches nothing where there is one, be it a dangling symlink", () => {
    const dir = folder();
    writeFileSync(join(dir, "a.json"), "mine");
    symlinkSync("nowhere", join(dir, "b.json"));
    expect(createFile(join(dir, "a.json"), "text")).toBe(false);
    expect(createFile(join(dir, "b.json"), "text")).toBe(false);
    expect(readFileSync(join(dir, "a.json"), "utf8")).toBe("mine");
    expect(existsSync(join(dir, "nowhere"))).toBe(false);
    expect(readdirSync(dir).sort()).toEqual(["a.json", "b.json"]);
  });
});
