import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { judgeImage } from "../../cli/pin/judgeImage";
import { readImage, splitReference } from "../../cli/pin/readImage";
import { STACK_TEXT, stackOf } from "../cli/doctor/stack";
import { runServing } from "../cli/runServing";
import { describeDocker } from "./available";
import { type PinnedImage, pinnedImage } from "./image";

describeDocker("serving pin", () => {
  let image: PinnedImage;
  beforeAll(async () => {
    // A repository of its own: other tests move the tag of the usual one.
    const repository = "of-pin/vllm/vllm-openai";
    image = await pinnedImage({ repository, versions: { vllm: "0.30.0", transformers: "5.12.1" } });
  });

  it("reads the registry's digest and the versions inside the image", async () => {
    expect(await readImage(image.tag)).toEqual({
      image: image.reference,
      tag: "v0.30.0",
      digest: image.digest,
      // A single image is its own platform's image.
      platformDigest: image.digest,
      versions: { vllm: "0.30.0", transformers: "5.12.1" },
    });
  });

  it("writes them into the stack file, which then passes where it was refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pin-docker-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "Pulumi.test.yaml");
    const unpinned = STACK_TEXT.replace(/vllm\/vllm-openai:v0\.30\.0@\S+/, image.tag);
    writeFileSync(file, unpinned);
    expect(stackOf(unpinned).refusals.map(({ name }) => name)).toContain("inference-image");
    const { code, out } = await runServing([
      "pin",
      image.tag,
      "--write",
      "--file",
      file,
      "--format",
      "json",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      written: true,
      entry: "dgx.inferenceServers.b",
      digest: image.digest,
    });
    const after = readFileSync(file, "utf8");
    expect(after).toContain(`image: ${image.reference}\n`);
    expect(stackOf(after).refusals).toEqual([]);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(unpinned);
  });

  it("finds newer tags in a real registry, and a tag that was moved meanwhile", async () => {
    const repository = "of-newer/vllm/vllm-openai";
    const first = await pinnedImage({
      repository,
      versions: { vllm: "0.30.0", transformers: "5.12.1" },
    });
    const newer = await pinnedImage({
      repository,
      versions: { vllm: "0.31.0", transformers: "5.12.1" },
    });
    await pinnedImage({ repository, tag: "v0.32.0rc1", versions: { vllm: "0.32.0rc1" } });
    const folder = mkdtempSync(join(tmpdir(), "pin-newer-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "Pulumi.test.yaml");
    writeFileSync(
      file,
      STACK_TEXT.replace(/vllm\/vllm-openai:v0\.30\.0@\S+/, first.reference).replace(
        /( digest: )sha256:\w+/,
        `$1${first.digest}`,
      ),
    );
    const run = async (option: string) => {
      const { code, out } = await runServing(["pin", option, "--file", file, "--format", "json"], {
        PATH: "/nowhere",
      });
      return { code, images: JSON.parse(out).images };
    };
    const found = { tag: "v0.31.0", version: "0.31.0", image: newer.reference };
    expect(await run("--newer")).toMatchObject({ code: 0, images: [{ newer: [found], more: 0 }] });
    // What Docker makes here is for this computer's processor.
    const isArm = process.arch === "arm64";
    const madeFor = isArm ? [] : [expect.stringContaining("It is made for linux/")];
    expect(await run("--check")).toMatchObject({
      code: isArm ? 0 : 1,
      images: [{ points: first.digest, faults: madeFor }],
    });
    const moved = await pinnedImage({
      repository,
      versions: { vllm: "0.30.0", transformers: "5.12.1" },
    });
    expect(moved.digest).not.toBe(first.digest);
    expect(await run("--check")).toMatchObject({
      code: 1,
      images: [
        {
          points: moved.digest,
          faults: expect.arrayContaining([
            expect.stringContaining(`v0.30.0 points to ${moved.digest.slice(0, 19)} now`),
            ...madeFor,
          ]),
        },
      ],
    });
  });

  it("says what is wrong with a tag that isn't there", async () => {
    await expect(readImage(image.tag.replace("v0.30.0", "v9"))).rejects.toThrow(
      `writes the digest of a tag that exists, then run this again. The registry has no v9 of ${image.reference.split(/:v|@/)[0]}: \`serving pin --newer\` lists newer releases of the stack file's images.`,
    );
  });
});

describe("the verdict on an image", () => {
  const reading = (versions: Record<string, string>, tag = "v0.30.0") => ({
    image: `vllm/vllm-openai:${tag}@sha256:${"a".repeat(64)}`,
    tag,
    digest: `sha256:${"a".repeat(64)}`,
    platformDigest: `sha256:${"b".repeat(64)}`,
    versions,
  });

  it("is `pass` above the floors", () => {
    expect(judgeImage(reading({ vllm: "0.30.0", transformers: "5.12.1" }))).toEqual({
      verdict: "pass",
      reasons: [],
    });
  });

  it.each<[Record<string, string>, string]>([
    [{ vllm: "0.25.1", transformers: "5.12.1" }, "it holds vllm 0.25.1, below 0.26.0"],
    [{ vllm: "0.26.0rc1", transformers: "5.12.1" }, "it holds vllm 0.26.0rc1, below 0.26.0"],
    [{ vllm: "0.28.0", transformers: "5.7.9" }, "it holds transformers 5.7.9, below 5.8.0"],
    [{ vllm: "0.30.0" }, "its record has no version of transformers"],
  ])("is `refused` for %j", (versions, reason) => {
    const { verdict, reasons } = judgeImage(reading(versions, "custom"));
    expect(verdict).toBe("refused");
    expect(reasons.join("\n")).toContain(reason);
  });
});

describe("a reference", () => {
  it("is split at its tag, a port left alone", () => {
    expect(splitReference("localhost:5000/a/b:v1")).toEqual({
      repository: "localhost:5000/a/b",
      tag: "v1",
    });
  });

  it.each(["vllm/vllm-openai", "a@sha256:00", "a:b@sha256:00", "localhost:5000/a", ""])(
    "without a tag is refused: %s",
    (text) => {
      expect(() => splitReference(text)).toThrow("expected IMAGE:TAG");
    },
  );
});
