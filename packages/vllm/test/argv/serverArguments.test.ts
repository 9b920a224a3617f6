import { describe, expect, it } from "vitest";
import { isOn, readServerArguments } from "../../argv/serverArguments";
import { SOME_WORDS, UNKNOWN, type Word } from "../../argv/unknown";

const UTILIZATION = "gpu-memory-utilization";

describe("the share as vLLM accepts it", () => {
  const forms: [string, Word[]][] = [
    ["two words", ["m", "--gpu-memory-utilization", "0.5"]],
    ["equals sign", ["m", "--gpu-memory-utilization=0.5"]],
    ["underscores", ["m", "--gpu_memory_utilization", "0.5"]],
    ["underscores and equals sign", ["m", "--gpu_memory_utilization=0.5"]],
    ["mixed", ["m", "--gpu-memory_utilization=0.5"]],
    ["abbreviated", ["m", "--gpu-mem", "0.5"]],
    ["abbreviated with equals sign", ["m", "--gpu=0.5"]],
    ["abbreviated with an underscore", ["m", "--gpu_m=0.5"]],
    ["alias of 0.33", ["m", "--device-memory-utilization", "0.5"]],
    ["abbreviated alias", ["m", "--device-mem", "0.5"]],
    [
      "repeated, the last wins",
      ["m", "--gpu-memory-utilization", "0.9", "--gpu_memory_utilization=0.5"],
    ],
    [
      "alias behind the flag",
      ["m", "--gpu-memory-utilization", "0.9", "--device-memory-utilization=0.5"],
    ],
    ["before the model", ["--gpu-memory-utilization", "0.5", "m"]],
    ["behind a list", ["m", "--served-model-name", "a", "b", "--gpu-memory-utilization", "0.5"]],
  ];
  it.each(forms)("%s", (_, words) => {
    const read = readServerArguments(words);
    expect(read.options.get(UTILIZATION)).toEqual(["0.5"]);
    expect(read.unreadable).toEqual([]);
    expect(read.model).toBe("m");
  });

  it("is absent where no flag gives it", () => {
    expect(readServerArguments(["m", "--port", "8001"]).options.has(UTILIZATION)).toBe(false);
  });

  it("is not taken from another option's value", () => {
    expect(
      readServerArguments(["m", "--gpu-memory-utilization", "--port"]).options.get(UTILIZATION),
    ).toEqual([]);
  });
});

describe("the model", () => {
  const cases: [string, Word[], Word | undefined][] = [
    ["first argument", ["Qwen/X", "--port", "1"], "Qwen/X"],
    ["--model", ["--model", "Qwen/X"], "Qwen/X"],
    ["--model=", ["--port", "1", "--model=Qwen/X"], "Qwen/X"],
    ["behind a switch", ["--trust-remote-code", "Qwen/X"], "Qwen/X"],
    ["behind a negated switch", ["--no-enable-prefix-caching", "Qwen/X"], "Qwen/X"],
    ["behind a short option", ["-tp", "2", "Qwen/X"], "Qwen/X"],
    ["behind --", ["--port", "1", "--", "Qwen/X"], "Qwen/X"],
    ["none", ["--port", "1"], undefined],
  ];
  it.each(cases)("%s", (_, words, model) => expect(readServerArguments(words).model).toBe(model));
});

describe("options with one dash", () => {
  it.each<[string, string, string]>([
    ["-tp 2", "tensor-parallel-size", "2"],
    ["-tp=2", "tensor-parallel-size", "2"],
    ["-t 2", "tensor-parallel-size", "2"],
    ["-n2", "nnodes", "2"],
    ["-n 2", "nnodes", "2"],
    ["-r1", "node-rank", "1"],
    ["-s {}", "speculative-config", "{}"],
    ["-sc.model o/m", "speculative-config.model", "o/m"],
    ["-ac.backend=X", "attention-config.backend", "X"],
    ["-O3", "optimization-level", "3"],
    ["-as 4", "api-server-count", "4"],
  ])("%s", (words, name, value) => {
    const read = readServerArguments(["m", ...words.split(" ")]);
    expect([read.options.get(name), read.unreadable, read.model]).toEqual([[value], [], "m"]);
  });

  it("that may mean several can't be read, and one that vLLM lacks stays as it is", () => {
    expect(readServerArguments(["m", "-p", "2"]).unreadable).toEqual([
      "`-p` may mean --prefill-context-parallel-size or --pipeline-parallel-size",
    ]);
    expect(readServerArguments(["m", "-tp2"]).options).toEqual(new Map([["-tp2", []]]));
  });
});

describe("names, switches and what can't be read", () => {
  it("reads all served names up to the next option", () => {
    const { options } = readServerArguments([
      "m",
      "--served-model-name",
      "a",
      "b/c",
      "--port",
      "1",
    ]);
    expect(options.get("served-model-name")).toEqual(["a", "b/c"]);
    expect(options.get("port")).toEqual(["1"]);
  });

  it("takes one name from the form with an equals sign", () => {
    expect(
      readServerArguments(["m", "--served_model_name=a/b", "c"]).options.get("served-model-name"),
    ).toEqual(["a/b"]);
  });

  it("lets the last of a switch and its negation win", () => {
    const on = readServerArguments(["m", "--no-enable-auto-tool-choice", "--enable-auto"]);
    expect(isOn(on, "enable-auto-tool-choice")).toBe(true);
    const off = readServerArguments([
      "m",
      "--enable-auto-tool-choice",
      "--no_enable_auto_tool_choice",
    ]);
    expect(isOn(off, "enable-auto-tool-choice")).toBe(false);
  });

  it("keeps JSON keys apart from options", () => {
    const read = readServerArguments(["m", "--compilation-config.level", "3", "--port=1"]);
    expect(read.options.get("port")).toEqual(["1"]);
    expect(read.options.has("compilation-config")).toBe(false);
  });

  it("reads -O3 and a negative number as no options of ours", () => {
    const read = readServerArguments(["m", "-O3", "--seed", "-1", "--port", "1"]);
    expect(read.options.get("optimization-level")).toEqual(["3"]);
    expect(read.options.get("seed")).toEqual(["-1"]);
  });

  const unreadable: [string, Word[], RegExp][] = [
    [
      "ambiguous abbreviation",
      ["m", "--max-num", "4"],
      /`--max-num` may mean .*--max-num-batched-tokens or --max-num-/,
    ],
    ["--config", ["m", "--config", "serve.yaml"], /`--config` takes options from a file/],
    ["--config=", ["m", "--config=serve.yaml"], /`--config` takes options from a file/],
    ["an unknown word", ["m", UNKNOWN], /argument 2 is not known before the update/],
    ["unknown words as a value", ["m", "--port", SOME_WORDS], /follows `--port` is not known/],
  ];
  it.each(unreadable)("says why: %s", (_, words, why) => {
    expect(readServerArguments(words).unreadable.join()).toMatch(why);
  });

  it("takes an unknown word behind an option for its value", () => {
    const read = readServerArguments(["m", "--port", UNKNOWN, "--gpu-memory-utilization", "0.4"]);
    expect(read.unreadable).toEqual([]);
    expect(read.options.get("gpu-memory-utilization")).toEqual(["0.4"]);
  });
});
