import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DIGEST } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const BEFORE = "test/cli/plan/review/before.yaml";
const TEXT = readFileSync(BEFORE, "utf8");
const [, OLD = ""] = /image: (vllm\S+)/.exec(TEXT) ?? [];
const OLD_DIGEST = OLD.replace(/.*@/, "");
const folder = temporaryFolder("image-review-");

/** What a version of vLLM asks for, where it is another one. */
const TRANSFORMERS: Readonly<Record<string, string>> = { "0.33.0": "5.16.1" };

/** The review of b with another image and record. */
async function review(image: string, version: string, evidence = "published", base = TEXT) {
  const digest = image.replace(/.*@/, "");
  const text = TEXT.replace(OLD, image)
    .replace(`digest: ${OLD_DIGEST}`, `digest: ${digest}`)
    .replace("vllm: 0.30.0", `vllm: ${version}`)
    .replace("transformers: 5.10.4", `transformers: ${TRANSFORMERS[version] ?? "5.10.4"}`)
    .replace("evidence: published", `evidence: ${evidence}`);
  const [before, after] = ["before.yaml", "after.yaml"].map((name) => join(folder, name));
  writeFileSync(`${before}`, base);
  writeFileSync(`${after}`, text);
  const args = ["plan", "--file", `${after}`, "--against", `${before}`, "--format"];
  const { out } = await runServing([...args, "markdown"], { HOME: folder });
  const { change } = JSON.parse((await runServing([...args, "json"], { HOME: folder })).out);
  return { lines: out.split("\n"), change };
}

const UNKNOWN =
  "- dgx: b: no list has its digest sha256:0123456789ab: `npx --no -- serving pin --check` proves it.";
const CLAIM =
  "- dgx: b: its record says `evidence: read`, which anybody can type. Nothing here shows that somebody looked inside, so it is worth no more than `published`: ask the author for the output of `npx --no -- serving pin`.";
const ofImage = (lines: readonly string[]) =>
  lines.filter((line) => /gets another image|no list has|evidence: read`/.test(line));

describe("the review of an image", () => {
  const moved = (to: string, version: string) =>
    `- dgx: b gets another image: vLLM ${version} (${to}).`;

  it("says both versions, and that nothing here has its digest", async () => {
    const { lines, change } = await review(`vllm/vllm-openai:v0.33.0@${DIGEST}`, "0.33.0");
    expect(ofImage(lines)).toEqual([
      UNKNOWN,
      moved(
        "`vllm/vllm-openai:v0.30.0` -> `vllm/vllm-openai:v0.33.0`",
        "0.30.0 -> 0.33.0 by its tag",
      ),
    ]);
    expect(lines).toContain(
      "- dgx: b: vLLM 0.33.0 has every flag that is set here; these flags aren't set and get another default: `--disable-cascade-attn`, `--mamba-cache-mode`.",
    );
    expect(change).toMatchObject({ decision: "ask", commits: null, file: "after.yaml" });
    expect(change.images).toEqual([
      {
        machine: "dgx",
        key: "b",
        package: "vllm",
        image: { before: OLD, after: `vllm/vllm-openai:v0.33.0@${DIGEST}` },
        version: { before: "0.30.0", after: "0.33.0" },
        digest: DIGEST,
        knownBy: null,
        evidence: "published",
      },
    ]);
  });

  it("says of a hand-typed `read` that it proves nothing, beside the rest", async () => {
    const { lines } = await review(`vllm/vllm-openai:v0.30.0@${DIGEST}`, "0.30.0", "read");
    expect(ofImage(lines)).toEqual([
      `${UNKNOWN} The list of known images has sha256:8a69ffad015f for \`vllm/vllm-openai:v0.30.0\`: the tag was moved, or this digest is wrong.`,
      CLAIM,
      moved("`vllm/vllm-openai:v0.30.0` with another digest", "0.30.0 by its tag, as before"),
    ]);
    expect(lines[2]).toBe("- Ask before you approve this: 2 points below.");
  });

  it("says so of a record alone, too, but of no image that a list has", async () => {
    const image = `vllm/vllm-openai:v0.30.0@${DIGEST}`;
    const base = TEXT.replaceAll(OLD_DIGEST, DIGEST);
    expect(ofImage((await review(image, "0.30.0", "read", base)).lines)).toEqual([CLAIM]);
    expect(ofImage((await review(OLD, "0.30.0", "read")).lines)).toEqual([]);
  });

  it("says of a digest that was made of the one before that it looks edited", async () => {
    const edited = OLD.replace(/@sha256:\w{4}/, "@sha256:dead");
    const { lines } = await review(edited, "0.30.0");
    expect(lines).toContain(
      `- dgx: b: no list has its digest ${edited.slice(edited.indexOf("@") + 1).slice(0, 19)}: \`npx --no -- serving pin --check\` proves it. Only 4 digits of 64 differ from the digest before: it looks edited by hand, not like another image.`,
    );
  });

  it("names the list that has its digest", async () => {
    const digest = "sha256:c2914767605584b6d8f45686b82de173ecc99e781897aa3d0a66dacd72c51ae1";
    const listed = await review(`vllm/vllm-openai:v0.29.0@${digest}`, "0.29.0");
    expect(ofImage(listed.lines)).toEqual([
      expect.stringMatching(
        /Its digest sha256:c29147676055 is known: the list of known images has it\.$/,
      ),
    ]);
    const image = `vllm/vllm-openai:v0.33.0@${DIGEST}`;
    const bridge = TEXT.replace(
      /ghcr.io\/berriai\S+/,
      `ghcr.io/berriai/litellm:v1.103.0@${DIGEST}`,
    );
    expect((await review(image, "0.33.0", "published", bridge)).change.images[0].knownBy).toBe(
      "base",
    );
  });
});
