import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";
import { STACK_TEXT } from "./stack";

const folder = temporaryFolder("empty-log-");

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const STACK = file("Pulumi.dgx.yaml", STACK_TEXT);
const doctor = (...args: string[]) => runServing(["doctor", "--file", STACK, ...args]);
const fixture = (name: string) => join(__dirname, "fixtures", name);

const IN_A_FILE =
  "is empty, so it shows nothing. `docker logs CONTAINER > server.log 2>&1` saves the log of a container, also of one that ended; without `2>&1` most of it is missing. `docker ps --all` lists the names.";
const IN_A_PIPE =
  "is empty, so it shows nothing. `docker logs CONTAINER 2>&1 | serving doctor --log -` reads the log of a container, also of one that ended; without `2>&1` most of it is missing. `docker ps --all` lists the names.";
const OF_THE_KERNEL =
  "is empty, so it shows nothing. `sudo journalctl --dmesg > dmesg.txt` saves the kernel's log.";

/** Texts in which nobody sees a word. */
const EMPTY: readonly (readonly [string, string | Buffer])[] = [
  ["no byte", ""],
  ["a line break", "\n"],
  ["blank lines", "\n\n \n\t\n"],
  ["line breaks of Windows", "\r\n\r\n"],
  ["blanks of Unicode", "\u00a0\u2003\u3000\n"],
  ["the mark of UTF-8", "\ufeff"],
  ["the mark of UTF-16, as PowerShell writes for nothing", Buffer.from("\ufeff\r\n", "utf16le")],
  ["colours", "\u001b[0m\u001b[36m\u001b[0m\n"],
  ["a terminal's title", "\u001b]0;\u0007\n"],
  ["bytes that a power cut left", Buffer.alloc(70_000)],
  ["a zero-width space", "\u200b\n"],
];

describe("a log without a word", () => {
  it.each(EMPTY)("is empty: %s", async (_name, content) => {
    const log = file("server.log", content);
    expect(await doctor("--log", log)).toEqual({
      ...{ code: 2, out: "" },
      err: `${log}: ${IN_A_FILE}\n`,
    });
  });

  it.each<[string, string | Buffer]>([
    ["a letter", "x"],
    ["a colour around a word", "\u001b[31mup\u001b[0m\n"],
    ["a word behind blank lines", `${"\n".repeat(5000)}INFO ready\n`],
    ["one of another script", "起動\n"],
    ["a sign", "…\n"],
  ])("isn't one that has %s", async (_name, content) => {
    const { code, out } = await doctor("--log", file("some.log", content));
    expect([code, out]).toEqual([0, expect.stringContaining("\nNo trouble found.")]);
  });

  it.each([
    ["", IN_A_PIPE],
    ["\u001b[0m\n", IN_A_PIPE],
  ])("is empty on standard input, too", async (text, said) => {
    const stdin = vi.spyOn(process, "stdin", "get").mockImplementation(() => {
      return Object.assign(Readable.from([Buffer.from(text)]), { isTTY: false }) as never;
    });
    const { code, out, err } = await doctor("--log", "-");
    stdin.mockRestore();
    expect([code, out, err]).toEqual([2, "", `stdin: ${said}\n`]);
  });

  it("is empty in a pipe with a name", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    spawn("cp", ["/dev/null", pipe]);
    const { code, err } = await doctor("--log", pipe);
    expect([code, err]).toEqual([2, `${pipe}: ${IN_A_FILE}\n`]);
  });

  it("says where the kernel's log is, if that is the empty one", async () => {
    const dmesg = file("dmesg.txt", "");
    const { code, err } = await doctor("--dmesg", dmesg);
    expect([code, err]).toEqual([2, `${dmesg}: ${OF_THE_KERNEL}\n`]);
  });

  it("names the first of several", async () => {
    const [log, other] = [file("a.log", ""), file("b.log", "\n")];
    const { err } = await doctor("--log", log, other, "--dmesg", file("dmesg.txt", ""));
    expect(err).toBe(`${log}: ${IN_A_FILE}\n`);
  });

  it("needs no stack file to be empty", async () => {
    const log = file("server.log", "");
    expect((await runServing(["doctor", "--log", log])).err).toBe(`${log}: ${IN_A_FILE}\n`);
  });

  it("brings a program no list of diagnoses, which would be an empty one", async () => {
    const log = file("server.log", "");
    const { code, out } = await doctor("--log", log, "--format", "json");
    expect(code).toBe(2);
    expect(out).not.toContain("diagnoses");
  });

  it("keeps nothing else from being judged, and is noted", async () => {
    const log = file("server.log", "");
    const found = await doctor(
      ...["--log", log, "--dmesg", fixture("jit-killed.dmesg"), "--format", "json"],
    );
    const { diagnoses, notes } = JSON.parse(found.out);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual(["jit-killed"]);
    expect(notes).toEqual([`${log}: ${IN_A_FILE}`]);
    const free = await doctor("--log", log, "--meminfo", fixture("meminfo-free"));
    expect(free.out).toContain("No trouble found in what could be read.");
    expect(free.err).toContain(`${log}: ${IN_A_FILE}`);
    const probes = file("verify.json", JSON.stringify({ probes: [] }));
    expect((await doctor("--log", log, "--verify", probes)).err).toContain(IN_A_FILE);
  });

  it("is not what a run of `verify` without failures is", async () => {
    const probes = file("verify.json", JSON.stringify({ probes: [] }));
    const { code, out, err } = await doctor("--verify", probes);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("No trouble found.");
  });
});
