import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";
import { blocksOf, notIn } from "./pages";

const blocks = blocksOf("docs/guide/models.md", "text");
const DEFAULT = readFileSync("Pulumi.dgx.yaml", "utf8");
const ALONE = DEFAULT.replace(/instanceA:\n(?: {8}.*\n)+/, "instanceA: none\n");
/** The same with a second machine that is linked to it. */
const LINKED = `${ALONE.replace("instanceA:", "link: { interface: enp1s0f1np1, address: 192.168.100.11 }\n      instanceA:").trimEnd()}
    dgx2:
      dockerHost: ssh://me@dgx2
      totalGiB: 121.63
      link: { interface: enp1s0f1np1, address: 192.168.100.12 }
      instanceA: none
`;

function written(text: string): string {
  const file = join(temporaryFolder("guide-models-"), "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  return file;
}

/** What the plan prints once a model is in use. */
async function planned(model: string, text: string): Promise<string> {
  const file = written(text);
  const used = await runServing(["models", "use", model, "--write", "--file", file]);
  const { code, out } = await runServing(["plan", "--file", file]);
  expect([used.code, code]).toEqual([0, 0]);
  return out;
}

/** Why a model is refused in the default stack. */
const refused = async (model: string): Promise<string> =>
  (await runServing(["models", "use", model, "--file", written(DEFAULT)])).err;

/** What the page says to write for a second server, before its command. */
const TWO = ALONE.replace(
  /( {8})b:\n((?: {10}.*\n)+(?:(?: {8}#| {10}).*\n)*)/,
  (whole, indent, keys) => `${whole}${indent}c:\n${keys.replace("port: 8001", "port: 8002")}`,
)
  .replace("claudeCode:\n", "claudeCode:\n          server: b\n")
  .replace("codex: {}", "codex: { server: b }")
  .replace("clientEnv: {}", "clientEnv: { server: c }");

it("docs/guide/models.md: a second server is added in three steps", async () => {
  const file = written(TWO);
  const page = readFileSync("docs/guide/models.md", "utf8");
  const [, command = ""] = /^3\. `serving (models use .*)` gives `c`/m.exec(page) ?? [];
  expect(command).toBe("models use gpt-oss-20b --server c --write");
  expect(await runServing([...command.split(" "), "--file", file])).toMatchObject({ code: 0 });
  const { code, out } = await runServing(["plan", "--file", file]);
  expect(code).toBe(0);
  expect(out).toContain("Nothing is refused. But c may not start. 2 warnings, 6 notes (--notes).");
  expect(out).toContain("\n  1 b       qwen3.6-35b-a3b, ");
  expect(out).toContain("\n  2 c       gpt-oss-20b, ");
  expect((await runServing(["models", "--file", file])).err).toContain("--server b or --server c");
});

describe("the examples of docs/guide/models.md", () => {
  it("are eight", () => {
    expect(blocks).toHaveLength(8);
  });

  it.each([
    [0, "the table", async () => (await runServing(["models", "--file", written(DEFAULT)])).out],
    [1, "no room for an embedding model", () => refused("qwen3-embedding-0.6b")],
    [
      2,
      "another image",
      async () =>
        (await runServing(["models", "use", "deepseek-v4-flash-0731", "--file", written(LINKED)]))
          .out,
    ],
    [3, "no room for gpt-oss-120b", () => refused("gpt-oss-120b")],
    [4, "gpt-oss-120b", () => planned("gpt-oss-120b", ALONE)],
    [5, "Nemotron-3-Super", () => planned("nemotron-3-super", ALONE)],
    [6, "Qwen3-Coder-Next", () => planned("qwen3-coder-next", DEFAULT)],
    [7, "Gemma 4", () => planned("gemma-4-26b", DEFAULT)],
  ])("block %i is what the program prints: %s", async (index, _, output) => {
    expect(notIn(await output(), blocks[index] ?? "?")).toEqual([]);
  });
});
