import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { afterEach, expect, it, vi } from "vitest";
import { fitTable, runFitTable } from "../../../cli/maintain/fitTable";
import { temporaryFolder } from "../../layers/temporaryFolder";

afterEach(() => void vi.restoreAllMocks());

it("a folder's recipes are a table of verdicts, one that can't be read too", async () => {
  const folder = temporaryFolder("fit-table-");
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write("b.sh", "vllm serve openai/gpt-oss-20b --gpu-memory-utilization 0.05 --max-model-len 4096");
  write("a.yaml", "# a page, 2026-11-30\nmodel: openai/gpt-oss-20b\ncommand: echo a | cat\n");
  write("README.md", "no recipe");
  const out: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0);
  expect(await runFitTable([folder])).toBe(0);
  const [, , first = "", second = "", ...others] = out.join("").trimEnd().split("\n");
  expect(first).toMatch(/^\| a\.yaml \| {2}\| {2}\| {2}\| not read \| No start of vLLM was found/);
  expect(first).toMatch(/ \| a page, 2026-11-30 \|$/);
  expect(second).toMatch(
    /^\| b\.sh \| openai\/gpt-oss-20b \| 0\.05 \| 4096 \| cannot start \| its /,
  );
  expect(others).toEqual([]);
});

it("no folder is wrong use", async () => {
  const err: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0);
  expect(await runFitTable([])).toBe(2);
  expect(err.join("")).toContain("FOLDER [MACHINE]");
});

it("the page of published recipes says what the program says of them", async () => {
  const page = readTextFile("docs/reference/published-recipes.md");
  expect(page).toContain(await fitTable("docs/reference/published-recipes", "spark"));
});
