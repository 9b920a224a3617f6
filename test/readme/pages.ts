import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** The pages that people read first; their examples are held against the program. */
export const PAGES: readonly string[] = [
  "README.md",
  "docs/contributing.md",
  "docs/security.md",
  "docs/upgrade.md",
  "docs/examples/README.md",
  "models/README.md",
  "packages/harness/README.md",
  "policies/README.md",
  "docs/README.md",
  "docs/architecture.md",
  "docs/review.md",
  ...["docs/guide", "docs/decisions"].flatMap((folder) =>
    readdirSync(folder).map((name) => join(folder, name)),
  ),
];

export function blocksOf(page: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...readFileSync(page, "utf8").matchAll(fence)].map(([, block = ""]) => block);
}

/** All code of a page: its fenced blocks, and what stands between backticks. */
export function codeOf(page: string): string[] {
  const text = readFileSync(page, "utf8");
  const fence = /^```.*\n([\s\S]*?)^```/gm;
  const blocks = [...text.matchAll(fence)].map(([, block = ""]) => block);
  const spans = [...text.replaceAll(fence, "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
  return [...blocks, ...spans];
}

/** The lines of a block that no line of the output is, `...` standing for anything. */
export function notIn(output: string, block: string): string[] {
  const there = stripVTControlCharacters(output).split("\n");
  return block
    .split("\n")
    .filter((line) => line.trim() !== "" && line.trim() !== "...")
    .filter((line) => {
      const pattern = new RegExp(`^${line.split("...").map(escaped).join(".*")}$`);
      return !there.some((each) => pattern.test(each));
    });
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
