import { describe, expect, it } from "vitest";
import { parseServerArguments } from "./arguments";

describe("the command line that the stand-in takes", () => {
  it("has vLLM's defaults", () => {
    expect(parseServerArguments([])).toMatchObject({
      model: "Qwen/Qwen3-0.6B",
      servedNames: ["Qwen/Qwen3-0.6B"],
      port: 8000,
      gpuMemoryUtilization: 0.92,
      autoToolChoice: false,
      reasoningParser: undefined,
    });
  });

  it.each([
    [["serve", "org/m"], { model: "org/m" }],
    [["m", "--port=9"], { port: 9 }],
    [["m", "--port", "9", "--port", "10"], { port: 10 }],
    [["m", "--max_model_len", "8k"], { maxModelLen: 8000 }],
    [["m", "--max-model-len", "8K"], { maxModelLen: 8192 }],
    [["m", "--max-model-len", "-1"], { maxModelLen: 40_960 }],
    [["m", "--served-model-name", "a", "b", "--port", "1"], { servedNames: ["a", "b"], port: 1 }],
    [["m", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"], { autoToolChoice: true }],
    [["m", "--enable-auto-tool-choice", "--no-enable-auto-tool-choice"], { autoToolChoice: false }],
  ])("reads %j", (argv, expected) => {
    expect(parseServerArguments(argv)).toMatchObject(expected);
  });

  it.each([
    [
      ["--served-model-name", "a", "--", "m"],
      "`model` should be provided as the first positional argument",
    ],
    [
      ["m", "--enable-auto-tool-choice"],
      "Error: --enable-auto-tool-choice requires --tool-call-parser",
    ],
    [["m", "--gpu-memory-utilization", "1.2"], "gpu_memory_utilization must be in (0, 1], got 1.2"],
    [["m", "extra"], "unrecognized arguments: extra"],
    [["m", "--max-model-len", "lots"], "argument --max-model-len: invalid value: 'lots'"],
  ])("refuses %j", (argv, message) => {
    expect(() => parseServerArguments(argv)).toThrow(message);
  });
});
