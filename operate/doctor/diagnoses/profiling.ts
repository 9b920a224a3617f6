import type { Diagnosis } from "../diagnosis";
import { seen, serverOf } from "../evidence";
import { startSign } from "../sign";

/** vLLM v1/worker/gpu_worker.py: free memory grew while it was being measured. */
const RACE = startSign(
  "Error in memory profiling",
  /Error in memory profiling\. ?Initial free memory:? ([\d.]+) ?(?:GiB)?,? ?current free memory:? ([\d.]+)/,
);
/** Cut lines still count. */
const RACE_ANY = startSign("Error in memory profiling");

export const profiling: readonly Diagnosis[] = [
  {
    id: "profiling-race",
    source: "vllm-project/vllm #35920 and #10643: a neighbour's memory changed during profiling",
    caughtBy: "the gate before the server's start, which waits until MemAvailable is steady",
    signs: [RACE, RACE_ANY],
    judge(evidence) {
      const hit = seen(evidence, RACE) ?? seen(evidence, RACE_ANY);
      if (hit === undefined) return undefined;
      const { container } = serverOf(evidence, hit.log);
      return {
        cause:
          "Another process gave memory back while vLLM measured how much there is, so that its measurement made no sense.",
        evidence: hit.line,
        advice:
          "Nothing in the stack file: start one server at a time, on memory that is steady. Unload Ollama's models first (`ollama stop MODEL`).",
        command: `docker restart ${container}`,
      };
    },
  },
];
