import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";

const SHIPPED = "Pulumi.dgx.yaml";
const TEXT = readFileSync(SHIPPED, "utf8");
const KNOWN = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
const OTHER = KNOWN.replace("8a69", "9a69");
const SERVER = `image: vllm/vllm-openai:v0.30.0@${KNOWN}`;
const BRIDGE = /image: ghcr\.io\/berriai\/litellm:\S+/;
const CHAT_UI = /image: ghcr\.io\/open-webui\/open-webui:\S+/;
const DIGEST_LINE = `            digest: ${KNOWN}\n`;

const folder = temporaryFolder("image-line-");

/** The shipped stack file with a line changed, in a file of its own. */
function changed(...edits: readonly (readonly [from: string | RegExp, to: string])[]): string {
  let text = TEXT;
  for (const [from, to] of edits) {
    expect(
      text.search(from instanceof RegExp ? from : from.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")),
    ).toBeGreaterThan(0);
    text = text.replace(from, to);
  }
  const file = join(folder, "Pulumi.changed.yaml");
  writeFileSync(file, text);
  return file;
}

const planOf = (file: string, ...more: readonly string[]) =>
  runServing(["plan", "--file", file, ...more]);

/** The lines of a plan below one heading, up to the next. */
const below = (out: string, heading: string) =>
  out.split(`\n${heading}\n`)[1]?.split("\n\n")[0] ?? "";

describe("the shipped stack file, with its server's image line changed", () => {
  it.each([
    [
      "tag and digest",
      `image: vllm/vllm-openai:v0.10.0@${OTHER}`,
      "its tag says vllm 0.10.0, below 0.26.0",
    ],
    [
      "the digest",
      `image: vllm/vllm-openai:v0.30.0@${OTHER}`,
      `its record is for another image, ${KNOWN}. \`serving pin vllm/vllm-openai:v0.30.0@${OTHER} --write`,
    ],
    [
      "the tag",
      `image: vllm/vllm-openai:v0.31.0@${KNOWN}`,
      "its tag says vllm 0.31.0, but its digest says vllm 0.30.0",
    ],
    [
      "llama.cpp",
      `image: ghcr.io/ggml-org/llama.cpp:server-cuda@${OTHER}`,
      "its name says llama.cpp. GGUF models belong in `simpleServer`",
    ],
    [
      "an unknown name",
      `image: mirror.local/thing:v0.30.0@${OTHER}`,
      "mirror.local/thing is not known to hold vLLM",
    ],
  ])("is refused: %s", async (_, image, why) => {
    const { code, out } = await planOf(changed([SERVER, image]), "--full");
    expect(code).toBe(1);
    expect(out).toMatch(/\nREFUSED by inference-image: `up` would stop before the first change\./);
    expect(below(out, "Policies").replaceAll(/\s+/g, " ")).toContain(why);
    // The record is of another image, so nothing is said of its vLLM.
    expect(out).not.toContain("vLLM 0.30.0");
  });

  it("is refused in a review, which says why", async () => {
    const file = changed([SERVER, `image: vllm/vllm-openai:v0.10.0@${OTHER}`]);
    const { code, out } = await planOf(file, "--against", SHIPPED);
    expect(code).toBe(1);
    expect(out).toContain(
      "\n  REFUSED by inference-image: `up` would stop before the first change.\n",
    );
    expect(out).toContain("\nWhy it is refused\n  b's image can't be used: ");
    expect(out).not.toContain("Nothing is refused");
  });

  it("passes where the digest is known, whoever mirrors it", async () => {
    const mirrored = changed([SERVER, `image: mirror.local/vllm:v0.30.0@${KNOWN}`]);
    const { code, out } = await planOf(mirrored);
    expect([code, out.split("\n")[0]]).toEqual([
      0,
      "Nothing is refused. 2 warnings, 4 notes (--notes).",
    ]);
  });
});

const PUBLISHED = "The versions inside b's image were published, not read in it.";

describe("a record in the shipped stack file", () => {
  it("that names its digest brings a note", async () => {
    const { code, out } = await planOf(SHIPPED, "--notes");
    expect([code, out.split("\n")[0]]).toEqual([
      0,
      "Nothing is refused. 2 warnings, 4 notes (--notes).",
    ]);
    expect(below(out, "Notes")).toContain(PUBLISHED);
  });

  it("as earlier versions wrote it brings a warning, with the digest to write", async () => {
    const { code, out } = await planOf(changed([DIGEST_LINE, ""]), "--full");
    expect(code).toBe(0);
    const warnings = below(out, "Policies").replaceAll(/\s+/g, " ");
    expect(warnings).toContain(
      "The record of b's image names no digest. The record is accepted because the tag or a known digest agrees with it.",
    );
    expect(warnings).toContain(`\`machines.dgx.inferenceServers.b.versions.digest: ${KNOWN}\``);
    expect(below(out, "Notes")).not.toContain(PUBLISHED);
  });

  it("is not needed for a known digest", async () => {
    const { code, out } = await planOf(changed([/ {10}versions:\n(?: {12}.*\n)+/, ""]), "--notes");
    expect([code, out.split("\n")[0]]).toEqual([
      0,
      "Nothing is refused. 2 warnings, 4 notes (--notes).",
    ]);
    expect(below(out, "Notes")).toContain(PUBLISHED);
  });

  it("is written by the command that a refusal names, and then it passes", async () => {
    const manifests = [
      { digest: `sha256:${"e".repeat(64)}`, platform: { os: "linux", architecture: "arm64" } },
    ];
    const { env, asked } = new FakeDocker({
      pull: { out: "" },
      "manifest inspect": { out: JSON.stringify({ manifests }) },
      version: { out: "linux/arm64\n" },
      "run --rm": { out: JSON.stringify({ vllm: "0.30.1", transformers: "5.12.1" }) },
    });
    const file = changed([SERVER, `image: mirror.local/vllm:nightly@${OTHER}`]);
    const refused = await planOf(file);
    expect(refused.code).toBe(1);
    const [, command = ""] =
      /`serving (pin [^`]*)`/.exec(refused.out.replaceAll(/\s+/g, " ")) ?? [];
    expect(command).toBe(`pin mirror.local/vllm:nightly@${OTHER} --write --file ${file}`);
    // The entry runs this repository, so it is found.
    const { code, out } = await runServing(command.split(" "), env);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining("is written (dgx.inferenceServers.b)"),
    ]);
    expect(readFileSync(asked, "utf8")).toContain(`pull mirror.local/vllm@${OTHER}`);
    const passed = await planOf(file);
    expect([passed.code, passed.out.split("\n")[0]]).toEqual([
      0,
      "Nothing is refused. 2 warnings, 3 notes (--notes).",
    ]);
  });
});

describe("the shipped stack file, with the image line of a service changed", () => {
  it.each([
    ["a bridge from a mirror's latest", BRIDGE, "image: mirror.local/gateway:latest", "moving-tag"],
    [
      "a compromised LiteLLM under another name",
      BRIDGE,
      `image: mirror.local/gateway:v1.82.7@${OTHER}`,
      "deny-list",
    ],
    ["a chat UI from a mirror without a tag", CHAT_UI, "image: mirror.local/ui", "moving-tag"],
  ])("is refused: %s", async (_, from, image, rule) => {
    const { code, out } = await planOf(changed([from, image]));
    expect([code, out.split("\n")[0]]).toEqual([
      1,
      `REFUSED by ${rule}: \`up\` would stop before the first change. 2 warnings, 4 notes (--notes).`,
    ]);
  });

  it("passes from a mirror by a release", async () => {
    const { code } = await planOf(
      changed([BRIDGE, `image: mirror.local/gateway:v1.103.0@${OTHER}`]),
    );
    expect(code).toBe(0);
  });
});

it("an image that is no reference is a fault with its line", async () => {
  const { code, err } = await planOf(
    changed([SERVER, `image: vllm/VLLM-openai:v0.30.0@${KNOWN}`], [BRIDGE, 'image: "a b"']),
  );
  expect(code).toBe(1);
  const line = (of: string | RegExp) => TEXT.slice(0, TEXT.search(of)).split("\n").length;
  expect(err).toContain(`:${line(/image: vllm/)}:`);
  expect(err).toContain(
    "Expected an image as `repository[:tag]@sha256:...`: its repository has capitals",
  );
  expect(err).toContain(`:${line(BRIDGE)}:`);
  expect(err).toContain(
    "Expected an image as `repository[:tag]@sha256:...`: it has a blank or a control character",
  );
});
