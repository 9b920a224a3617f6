import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runServing } from "../cli/runServing";
import { DIGEST } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";
import { blocksOf } from "./pages";

const PAGE = "docs/guide/read-a-review.md";

/** What a pull request's comment begins with, without the commits that git names anew each time. */
async function comment(): Promise<string> {
  const folder = temporaryFolder("read-a-review-");
  const file = join(folder, "Pulumi.dgx.yaml");
  const git = (...words: string[]) => {
    const who = ["-c", "user.name=x", "-c", "user.email=x@x"];
    execFileSync("git", ["-C", folder, ...who, ...words], { stdio: "ignore" });
  };
  const before = readFileSync("Pulumi.dgx.yaml", "utf8");
  const [, old = ""] = /image: vllm\/vllm-openai:(\S+)/.exec(before) ?? [];
  writeFileSync(file, before);
  git("init");
  git("add", ".");
  git("commit", "-m", "before");
  writeFileSync(
    file,
    before
      .replace(old, `v0.33.0@${DIGEST}`)
      .replace("vllm: 0.30.0", "vllm: 0.33.0")
      .replace("transformers: 5.10.4", "transformers: 5.16.1")
      .replace(/digest: sha256:\w+/, `digest: ${DIGEST}`),
  );
  git("commit", "-am", "after");
  const args = ["plan", "--file", file, "--against", "HEAD^", "--format", "markdown"];
  const { out } = await runServing(args, { HOME: folder });
  const [head = ""] = out.split("\n### Changed settings");
  return withoutCommits(head);
}

const withoutCommits = (text: string) =>
  text.replace(/base [0-9a-f]+ -> head [0-9a-f]+/, "base COMMIT -> head COMMIT");

it("the page for reviewers shows a comment as the program writes it, and takes two minutes to read", async () => {
  const [block = ""] = blocksOf(PAGE, "markdown");
  expect(withoutCommits(block)).toBe(await comment());
  const words = readFileSync(PAGE, "utf8")
    .split(/\s+/)
    .filter((word) => /\w/.test(word));
  expect(words.length).toBeLessThanOrEqual(360);
});
