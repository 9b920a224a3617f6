import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { keptText, namesInFolder, readTextFile } from "../../faults/textFile";

const folder = temporaryFolder("text-file-");
const at = (name: string) => join(folder, name);

beforeAll(() => {
  execFileSync("mkfifo", [at("pipe")]);
  writeFileSync(at("file"), "text");
  writeFileSync(at("binary"), Buffer.from([0xff, 0xfe, 0]));
  writeFileSync(at("huge"), "");
  truncateSync(at("huge"), 8 * 1024 ** 3);
  mkdirSync(at("folder"));
  symlinkSync(at("file"), at("link"));
  symlinkSync(at("pipe"), at("link-to-pipe"));
  symlinkSync("/dev/ptmx", at("link-to-device"));
  symlinkSync("/dev/zero", at("link-to-zeros"));
  symlinkSync(at("circle"), at("circle"));
  symlinkSync(at("gone"), at("link-to-nothing"));
});

describe("a file that somebody gave", () => {
  it.each([
    ["pipe", "is a named pipe, which may block forever: give a file, or `<(COMMAND)`"],
    ["link-to-pipe", "is a named pipe, which may block forever: give a file, or `<(COMMAND)`"],
    ["link-to-device", "is a device, which may block forever: give a file"],
    ["link-to-zeros", "is larger than 1048576 bytes; a configuration file is far smaller"],
    ["huge", "is larger than 1048576 bytes; a configuration file is far smaller"],
    ["binary", "is not UTF-8 text"],
    ["folder", "is a directory, not a file"],
    ["circle", "its links lead in a circle"],
    ["link-to-nothing", "no such file"],
    ["gone", "no such file"],
    ["file/below", "a part of its path is a file, not a directory"],
    ["x".repeat(300), "the file name is too long"],
  ])("is refused: %s", (name, why) => {
    expect(() => readTextFile(at(name))).toThrow(why);
  });

  it.each([["/dev/ptmx"], ["/dev/tty"]])("is refused where it may wait: %s", (device) => {
    expect(() => readTextFile(device)).toThrow("is a device, which may block forever");
  });

  it("is read where it is one", () => {
    expect([readTextFile(at("file")), readTextFile(at("link"))]).toEqual(["text", "text"]);
    expect(readTextFile("/dev/null")).toBe("");
    expect(readTextFile("/proc/self/status")).toContain("Pid:");
  });
});

describe("a file that nobody gave", () => {
  it.each([
    ["pipe"],
    ["link-to-pipe"],
    ["link-to-device"],
    ["link-to-zeros"],
    ["huge"],
    ["folder"],
    ["circle"],
    ["gone"],
    ["file/below"],
  ])("is none where it can't be read at once: %s", (name) => {
    expect(keptText(at(name))).toBe(undefined);
  });

  it("is read where it is one", () => {
    expect([keptText(at("file")), keptText(at("link"))]).toEqual(["text", "text"]);
    expect(keptText("/proc/self/status")).toContain("Pid:");
  });
});

describe("the names in a folder", () => {
  it("are those that it has, and none where it isn't there", () => {
    expect(namesInFolder(at("folder"))).toEqual([]);
    expect(namesInFolder(at("gone"))).toEqual([]);
    expect(namesInFolder(folder)).toContain("binary");
    expect(() => namesInFolder(at("file"))).toThrow(`${at("file")}: is a file, not a folder`);
  });
});
