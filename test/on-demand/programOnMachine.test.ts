import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { sha256 } from "@local-serving/machines/shell";
import { describe, expect, it } from "vitest";
import { programWords } from "../../components/services/on-demand/programOnMachine";
import { temporaryFolder } from "../layers/temporaryFolder";
import {
  archive,
  assetOf,
  PROGRAM_TEXT,
  programPlace,
  type ReleaseFiles,
  releases,
} from "./releases";

const VERSION = "v250";
const ASSET = assetOf(VERSION);
const PATH = `/${VERSION}/${ASSET}`;

/** Not spawnSync: the file server lives in this process. */
async function run(
  program: { from: string; path: string; sha256?: string; version?: string },
  word: Parameters<typeof programWords>[1],
) {
  const [command = "", ...args] = programWords({ version: VERSION, ...program }, word);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code: child.exitCode, out: out.trim(), err: err.trim() };
}

async function served(of: Partial<ReleaseFiles> = {}) {
  const made = archive();
  const state = { files: { [PATH]: made.bytes }, ...of };
  const { url, asked } = await releases(() => state);
  const place = programPlace();
  const program = { from: url, path: place.path, sha256: made.sha256 };
  return { ...place, made, url, asked, state, program, address: `${url}${PATH}` };
}

describe("llama-swap's program on a machine", () => {
  it("is brought by its release's name for the machine, and put in place", async () => {
    const { program, path, folder, asked } = await served();
    expect(await run(program, "place")).toEqual({
      code: 0,
      out: "llama-swap v250 is in place.",
      err: "",
    });
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([
      PROGRAM_TEXT,
      0o755,
    ]);
    expect(readdirSync(folder).sort()).toEqual([".local-serving-made", "llama-swap", ASSET]);
    expect(asked).toEqual([`GET ${PATH}`, `GET /stored${PATH}`]);
    // What `fetch` has brought is taken from there.
    expect((await run(program, "place")).code).toBe(0);
    expect(asked).toHaveLength(2);
  });

  it("is brought ahead, and not put in place then", async () => {
    const { program, path, folder, made, asked } = await served();
    expect(await run(program, "look")).toEqual({
      code: 0,
      out: `missing ${made.bytes.length}`,
      err: "",
    });
    expect(asked).toEqual([`HEAD ${PATH}`, `HEAD /stored${PATH}`]);
    expect(existsSync(folder)).toBe(false);
    expect(await run(program, "bring")).toEqual({ code: 0, out: "", err: "" });
    expect(readFileSync(join(folder, ASSET)).equals(made.bytes)).toBe(true);
    expect(existsSync(path)).toBe(false);
    expect((await run(program, "look")).out).toBe("here");
  });

  it("isn't taken with another sum, and what is in place stays", async () => {
    const { program, path, folder, address, state } = await served();
    await run(program, "place");
    const other = archive("#!/bin/sh\necho other\n");
    Object.assign(state, { files: { [PATH]: other.bytes } });
    const wanted = "0".repeat(64);
    expect(await run({ ...program, sha256: wanted }, "place")).toEqual({
      code: 1,
      out: "",
      err: `${address} has the SHA-256 ${other.sha256}, and \`onDemand.program.sha256\` is ${wanted}. It is not taken, and nothing was replaced. Find out why they differ before you pin it anew: \`serving pin llama-swap\`.`,
    });
    expect(readFileSync(path, "utf8")).toBe(PROGRAM_TEXT);
    expect(readdirSync(folder).sort()).toEqual([".local-serving-made", "llama-swap", ASSET]);
  });

  it.each<[string, Partial<ReleaseFiles>, string]>([
    [
      "isn't there",
      { files: {} },
      "is not there (404): is v250 a release of llama-swap that has an archive for linux/ARCH? Correct `onDemand.program.version` or `from`.",
    ],
    [
      "is refused by its server",
      { files: {}, status: 503 },
      "answers with status 503, not with the archive. Nothing was replaced: try again.",
    ],
    [
      "is cut off",
      { cut: true },
      "did not come whole (curl: (18) transfer closed with N bytes remaining to read). Nothing was replaced: try again.",
    ],
  ])("says so where it %s, and leaves no part", async (_, of, why) => {
    const { program, folder, address } = await served(of);
    const { code, out, err } = await run(program, "place");
    const arch = /linux_(.*)\.tar/.exec(ASSET)?.[1] ?? "";
    expect([code, out, err.replace(/\d+ bytes/, "N bytes")]).toEqual([
      1,
      "",
      `${address} ${why.replace("ARCH", arch)}`,
    ]);
    expect(readdirSync(folder)).toEqual([".local-serving-made"]);
  });

  it("says where nothing listens, and where its sum is missing", async () => {
    const { program, address } = await served();
    const away = { ...program, from: "http://127.0.0.1:9" };
    expect((await run(away, "bring")).err).toMatch(
      /^http:\/\/127\.0\.0\.1:9\/v250\/\S+ did not come whole \(curl: \(7\) .*\)\. Nothing was replaced: try again\.$/,
    );
    expect((await run({ ...program, sha256: "" }, "place")).err).toBe(
      `\`onDemand.program.sha256\` is missing, so ${address} is not taken: \`serving pin llama-swap --write\` fills it in.`,
    );
  });

  it("isn't taken from an archive that holds another program", async () => {
    const other = archive("x", "something");
    const { url } = await releases(() => ({ files: { [PATH]: other.bytes } }));
    const { path, folder } = programPlace();
    expect(await run({ from: url, path, sha256: other.sha256 }, "place")).toEqual({
      code: 1,
      out: "",
      err: `${folder}/${ASSET} holds no program \`llama-swap\`: is that an archive of its releases?`,
    });
    expect(existsSync(path)).toBe(false);
  });

  it("of another release takes the place of the one before, and its archive goes", async () => {
    const { program, state, folder, path } = await served();
    await run(program, "place");
    const newer = archive("#!/bin/sh\necho newer\n");
    const asset = assetOf("v251");
    Object.assign(state, { files: { [`/v251/${asset}`]: newer.bytes } });
    await run({ ...program, version: "v251", sha256: newer.sha256 }, "place");
    expect(readFileSync(path, "utf8")).toBe("#!/bin/sh\necho newer\n");
    expect(readdirSync(folder).sort()).toEqual([".local-serving-made", "llama-swap", asset]);
  });

  it("is copied from a path of the machine, by the program's own sum", async () => {
    const { path, folder } = programPlace();
    const from = join(temporaryFolder("built-"), "llama-swap");
    const program = { from, path, sha256: sha256(PROGRAM_TEXT) };
    expect((await run(program, "look")).err).toBe(
      `There is no file ${from} on this machine that can be read: build llama-swap there, or correct \`onDemand.program.from\`.`,
    );
    writeFileSync(from, PROGRAM_TEXT);
    expect((await run(program, "look")).out).toBe("here");
    expect((await run(program, "place")).code).toBe(0);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([
      PROGRAM_TEXT,
      0o755,
    ]);
    writeFileSync(from, "built anew");
    expect(await run(program, "place")).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${from} has the SHA-256 ${sha256("built anew")}, and`),
    });
    expect(readFileSync(path, "utf8")).toBe(PROGRAM_TEXT);
    expect(readdirSync(folder).sort()).toEqual([".local-serving-made", "llama-swap"]);
    rmSync(from);
  });

  it("goes with its archive", async () => {
    const { program, folder } = await served();
    await run(program, "place");
    expect(await run(program, "remove")).toEqual({ code: 0, out: "", err: "" });
    expect(readdirSync(folder)).toEqual([".local-serving-made"]);
  });
});
