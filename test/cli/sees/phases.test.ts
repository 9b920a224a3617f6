import { describe, expect, it } from "vitest";
import { afterLine, START, type StartProgress } from "../../../cli/sees/phases";

/** Lines of a start in their order, with the progress behind each. */
const START_LOG: readonly [line: string, progress: StartProgress][] = [
  ["INFO 11-21 13:00:01 [api_server.py:1896] vLLM API server version 0.30.0", START],
  // With --enforce-eager; before anything is loaded.
  [
    "WARNING 11-21 13:00:05 [vllm.py:1547] Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none",
    START,
  ],
  [
    "(EngineCore_0 pid=93) INFO 11-21 13:00:09 [gpu_model_runner.py:2338] Starting to load model nvidia/Qwen3.6...",
    { phase: "loading weights" },
  ],
  [
    "Loading safetensors checkpoint shards:   0% Completed | 0/5 [00:00<?, ?it/s]",
    { phase: "loading weights", share: 0, note: "0 of 5 shards" },
  ],
  [
    "Loading safetensors checkpoint shards:  60% Completed | 3/5 [00:41<00:27, 13.9s/it]",
    { phase: "loading weights", share: 0.6, note: "3 of 5 shards" },
  ],
  [
    "(EngineCore_0 pid=93) INFO 11-21 13:01:20 [gpu_model_runner.py:2392] Model loading took 20.6124 GiB memory and 68.213045 seconds",
    { phase: "compiling", note: "20.6124 GiB of weights were loaded in 68 s" },
  ],
  [
    "INFO 11-21 13:01:40 [backends.py:559] Dynamo bytecode transform time: 9.12 s",
    { phase: "compiling", note: "20.6124 GiB of weights were loaded in 68 s" },
  ],
  [
    "INFO 11-21 13:04:40 [gpu_worker.py:641] Available KV cache memory: 23.22 GiB",
    { phase: "compiling", note: "23.22 GiB are left for the KV cache" },
  ],
  [
    "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  43%|####3     | 3/7 [00:02<00:02,  1.4it/s]",
    { phase: "capturing graphs", share: 0.43 },
  ],
  // A late line of an earlier phase: a start does not go back.
  [
    "INFO 11-21 13:04:50 [monitor.py:34] torch.compile took 58.31 s in total",
    { phase: "capturing graphs", share: 0.43 },
  ],
  [
    "INFO 11-21 13:04:55 [gpu_model_runner.py:6930] Graph capturing finished in 12 secs, took 0.61 GiB",
    { phase: "capturing graphs", share: 0.43 },
  ],
];

describe("a start by its log", () => {
  it("goes through its phases", () => {
    let progress = START;
    for (const [line, expected] of START_LOG) {
      progress = afterLine(progress, line);
      expect(progress).toEqual(expected);
    }
  });

  it("waits at its gate first, for memory or for other ranks, and fetches the model where it is not there", () => {
    const waiting = "start gate: waiting for 54.73 GiB, 31.20 GiB are available";
    const gate = afterLine(START, waiting);
    expect(gate).toEqual({
      phase: "start gate",
      note: "waiting for 54.73 GiB, 31.20 GiB are available",
    });
    const beside =
      "60.00 GiB are available, 54.73 GiB are needed; waiting for instance A, which does not answer";
    expect(afterLine(gate, `start gate: ${beside}`)).toEqual({ phase: "start gate", note: beside });
    for (const rank of [
      "waiting for the rank on dgx2: its gate at 192.168.100.12:29502 does not answer",
      "waiting for the rank on dgx2: it can't start, waiting for 54.73 GiB, 31.20 GiB are available",
      "stopped for the link: enp1s0f1np1 is down; vLLM ends here too, and starts again with all ranks",
    ])
      expect(afterLine(gate, `start gate: ${rank}`)).toEqual({ phase: "start gate", note: rank });
    expect(
      afterLine(gate, "Fetching 12 files:  25%|##5       | 3/12 [00:40<02:01, 13.5s/it]"),
    ).toEqual({
      phase: "loading weights",
      share: 0.25,
      note: "12 files of the model are fetched first",
    });
  });

  it("goes back to its gate when memory runs out, from wherever it is, and begins anew when that opens", () => {
    const stopped =
      "stopped at the floor: 1.20 GiB are available, below 2.00 GiB for 3 s; vLLM gives way";
    const gate = afterLine({ phase: "capturing graphs", share: 0.43 }, `start gate: ${stopped}`);
    expect(gate).toEqual({ phase: "start gate", note: stopped });
    expect(afterLine(gate, "start gate: open after 65 s, 60.00 GiB are available")).toBe(START);
    const closed = "closed: 3 starts within an hour failed. Find out why";
    expect(afterLine(START, `start gate: ${closed}`)).toEqual({
      phase: "gate closed",
      note: closed,
    });
  });

  it("takes a line that it doesn't know for no progress", () => {
    expect(afterLine(START, "INFO hello, world")).toBe(START);
  });
});
