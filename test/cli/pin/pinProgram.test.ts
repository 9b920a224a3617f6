import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { archive, assetOf, releases } from "../../on-demand/releases";
import { STACK_TEXT } from "../doctor/stack";
import { runServing } from "../runServing";

const [ASSET, NEWER] = [assetOf("v250"), assetOf("v251")];
const UNSIGNED =
  "llama-swap's releases are not signed: whoever can replace the archive can replace the list, too. From now on no other archive is accepted.";

/** A stack file whose machine runs llama-swap from an address with one or two releases. */
async function stack(listOf: (sha256: string) => string = () => "") {
  const [made, newer] = [archive(), archive("#!/bin/sh\necho newer\n")];
  const list = listOf(made.sha256);
  const files = {
    [`/v250/${ASSET}`]: made.bytes,
    [`/v251/${NEWER}`]: newer.bytes,
    ...(list === "" ? {} : { "/v250/llama-swap_250_checksums.txt": list }),
  };
  const { url } = await releases(() => ({ files }));
  const file = join(temporaryFolder("pin-program-"), "Pulumi.test.yaml");
  const block = `onDemand:\n        # Ours.\n        program: { version: v250, from: "${url}" }\n      `;
  writeFileSync(
    file,
    STACK_TEXT.replace("totalGiB: 121.63", `${block}totalGiB: 121.63`).replace(
      /( {10})gpuMemoryUtilization/,
      "$1start: onRequest\n$1gpuMemoryUtilization",
    ),
  );
  const pin = (...args: string[]) => runServing(["pin", ...args, "--file", file]);
  return { file, url, made, newer, pin };
}

describe("serving pin llama-swap", () => {
  it("reads the archive's sum, and says that nothing else vouches for it", async () => {
    const { pin, url, made, file } = await stack();
    const before = readFileSync(file, "utf8");
    expect(await pin("llama-swap")).toEqual({
      code: 0,
      out: [
        `llama-swap v250 for dgx: ${url}/v250/${ASSET}`,
        `  SHA-256: ${made.sha256}`,
        "  The release has no list of checksums to compare with.",
        `  ${UNSIGNED}`,
        "",
        "For the stack file (--write puts it there):",
        `        program: { version: v250, sha256: ${made.sha256} }`,
        "",
      ].join("\n"),
      err: "",
    });
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("writes it, of the version that is named, and keeps the rest", async () => {
    const { pin, made, newer, file } = await stack();
    const written = await pin("llama-swap", "--write");
    expect([written.code, written.err]).toEqual([0, ""]);
    expect(written.out).toContain("(dgx.onDemand); the old file is");
    expect(written.out).toMatch(
      /\nNext: serving fetch --file \S+, then serving up --stack test\n$/,
    );
    expect(readFileSync(file, "utf8")).toContain(`sha256: ${made.sha256}`);
    expect(readFileSync(file, "utf8")).toContain("# Ours.");
    expect((await pin("llama-swap", "--write")).out).toContain(
      "has all of this already (dgx.onDemand).",
    );
    const other = await pin("llama-swap:v251", "--write", "--entry", "dgx.onDemand");
    expect([other.code, other.err]).toEqual([0, ""]);
    expect(readFileSync(file, "utf8")).toMatch(
      new RegExp(`version: v251, .*sha256: ${newer.sha256}`),
    );
  });

  it("compares it with the list of its release, and writes none that differs", async () => {
    const listed = "a".repeat(64);
    const { pin, file } = await stack(() => `${listed}  ${ASSET}\n${"b".repeat(64)}  other\n`);
    const before = readFileSync(file, "utf8");
    const { code, out } = await pin("llama-swap", "--write");
    expect(code).toBe(1);
    expect(out).toContain(
      `\n  The release's own list has ${listed}: this is not the archive that its maker listed.\n`,
    );
    expect(out).toMatch(/\n\nNothing was written: the checksums differ\.\n$/);
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("says where the list agrees, and where it doesn't know the archive", async () => {
    const same = await stack((sha256) => `${sha256}  ${ASSET}\n`);
    expect((await same.pin("llama-swap")).out).toContain(
      "\n  The release's own list has the same checksum.\n",
    );
    const { out } = await same.pin("llama-swap", "--format", "json");
    expect(JSON.parse(out)).toEqual({
      version: 1,
      machine: "dgx",
      release: "v250",
      name: `${same.url}/v250/${ASSET}`,
      sha256: same.made.sha256,
      listed: same.made.sha256,
      verdict: "allowed",
    });
    const other = await stack((sha256) => `${sha256}  something\n`);
    expect((await other.pin("llama-swap")).out).toContain(
      "\n  The release's own list doesn't name this archive.\n",
    );
  });

  it("refuses a machine that has none, and a release that isn't there", async () => {
    const { pin, file, url } = await stack();
    expect(await pin("llama-swap", "--entry", "dgx2")).toEqual({
      code: 2,
      out: "",
      err: expect.stringContaining(
        `--entry dgx2: ${file} declares no llama-swap there; there are: dgx.onDemand.`,
      ),
    });
    const gone = await pin("llama-swap:v9");
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringContaining(`${url}/v9/${assetOf("v9")} is not there (404): is v9 a release`),
    ]);
    const without = join(temporaryFolder("pin-program-"), "Pulumi.test.yaml");
    writeFileSync(without, STACK_TEXT);
    const none = await runServing(["pin", "llama-swap", "--file", without]);
    expect([none.code, none.err]).toEqual([
      2,
      expect.stringContaining(
        `No machine of ${without} declares \`onDemand\`, so none runs llama-swap (guide: models on demand).`,
      ),
    ]);
  });
});
