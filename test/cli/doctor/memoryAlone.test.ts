import { describe, expect, it } from "vitest";
import { ofLines } from "./ofLines";

describe("memory by a log alone", () => {
  it("that something else holds gets no share that only moves the refusal", async () => {
    const [found] = await ofLines(
      "ValueError: Free memory on device (7.34/139.72 GiB) on startup is less than desired GPU memory utilization (0.9, 125.75 GiB).",
    );
    expect(found).toMatchObject({
      id: "admission-refused",
      cause:
        "7.34 of 139.72 GiB were available when the server started, and utilization 0.9 asks for 125.75 GiB of the total: vLLM refuses to start: something else holds 132.38 GiB.",
      edits: [],
    });
    expect(found?.advice).toMatch(
      /^No setting to change: find what holds the memory, and stop it\./,
    );
  });

  it("of half the share or more gets the largest that fits", async () => {
    const [found] = await ofLines(
      "ValueError: Free memory on device (70.0/121.63 GiB) on startup is less than desired GPU memory utilization (0.9, 109.47 GiB).",
    );
    expect(found?.edits.map(({ value }) => value)).toEqual([0.57]);
  });

  it.each([
    ["-24.42", ", or serve a model with smaller weights: a shorter window doesn't help."],
    ["0.0", ", and reduce `maxModelLen`."],
  ])("for a cache with %s GiB left says what helps", async (left, end) => {
    const [found] = await ofLines(
      `INFO [gpu_worker.py:563] Available KV cache memory: ${left} GiB`,
      "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
    );
    expect(found?.id).toBe("no-kv-room");
    expect(found?.advice?.endsWith(end)).toBe(true);
  });

  it("that ran out with CUDA graphs in it ran out after the weights", async () => {
    const [found] = await ofLines(
      "RuntimeError: Worker failed with error 'CUDA out of memory. Tried to allocate 2.96 GiB. Of the allocated memory 68.35 GiB is allocated by PyTorch, with 69.34 MiB allocated in private pools (e.g., CUDA Graphs)'",
    );
    expect(found?.id).toBe("out-of-memory-serving");
  });
});
