import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { describe, expect, it } from "vitest";
import { batchFaults } from "../../components/program/machine";

const settings = (...words: string[]) =>
  batchFaults(readServerArguments(["m", ...words])).map(({ setting, value }) => [setting, value]);

describe("the batch of a server", () => {
  it.each<[string[], unknown[]]>([
    [["--max-num-batched-tokens", "1k", "--max-num-seqs", "1001"], [["maxNumSeqs", 1000]]],
    [["--max-num-batched-tokens=1K", "--max-num-seqs=1001"], []],
    [
      ["--max-num-batched-tokens", "8k", "--max-model-len", "32K", "--no-enable-chunked-prefill"],
      [["chunkedPrefill", true]],
    ],
    [["--max-num-batched-tokens", "8k", "--max-model-len", "32K"], []],
    [["--max-num-batched-tokens", "", "--max-num-seqs", "4"], []],
    [["--max-num-seqs", "4"], []],
  ])("is judged by its numbers as vLLM reads them: %j", (words, found) => {
    expect(settings(...words)).toEqual(found);
  });
});
