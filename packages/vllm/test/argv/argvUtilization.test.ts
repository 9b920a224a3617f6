import { describe, expect, it } from "vitest";
import { utilizationOf } from "../../argv/memoryDemand";

describe("the utilization of a running process", () => {
  it.each<[string[], number]>([
    [["vllm", "serve", "m", "--gpu-memory-utilization", "0.72"], 0.72],
    [["/usr/bin/python3", "/opt/venv/bin/vllm", "serve", "m", "--gpu_memory_utilization=0.5"], 0.5],
    [
      ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "--gpu-mem", "0.3"],
      0.3,
    ],
    [["vllm", "serve", "m"], 0.92],
    [
      [
        "/bin/sh",
        "-c",
        'sleep 1; exec vllm serve "$@"',
        "gate",
        "m",
        "--gpu-memory-utilization",
        "0.45",
      ],
      0.45,
    ],
  ])("of %j is %d", (argv, utilization) => {
    expect(utilizationOf(argv)).toBe(utilization);
  });

  it.each<[string[]]>([
    [["nginx", "-g", "daemon off;"]],
    [[]],
    [["vllm", "serve", "m", "--gpu-memory-utilization", "lots"]],
  ])("of %j is not known", (argv) => {
    expect(utilizationOf(argv)).toBeUndefined();
  });
});
