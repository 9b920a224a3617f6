import { ENGINE_OVERHEAD_GIB, GIB_PER_GB } from "../../../components/memory/engineMemory";
import { downToHundredth } from "../../../components/planned/utilization";
import { APPLY, type Diagnosis } from "../diagnosis";
import { type Evidence, numberOf, seen, serverOf } from "../evidence";
import { startSign } from "../sign";

/** vLLM `v1/worker/utils.py`, request_memory: free, total, utilization, requested. */
const REFUSED = startSign(
  "less than desired GPU memory utilization",
  /Free memory on device(?: \S+)? \((-?[\d.]+)\/([\d.]+) GiB\) on startup is less than desired GPU memory utilization \(([\d.]+), ([\d.]+) GiB\)/,
);

/** vLLM prints memory in hundredths of a GiB: the true figure may be this much off. */
const PRINTED_TO_GIB = 0.005;

const WHO_HOLDS_IT =
  "ps -eo pid,rss,args --sort=-rss | head -n 8; docker ps; grep -E 'MemTotal|MemAvailable' /proc/meminfo";

/** The refusal, with the question of whether the memory has come free since. */
function refusal(evidence: Evidence) {
  const hit = seen(evidence, REFUSED);
  if (hit === undefined) return undefined;
  const [free, total, utilization, wanted] = [0, 1, 2, 3].map((group) => numberOf(hit, group));
  if (free === undefined || total === undefined || utilization === undefined || wanted === undefined)
    return undefined;
  const freeSince = evidence.meminfo !== undefined && evidence.meminfo.availableGiB >= wanted;
  return { hit, free, total, utilization, wanted, freeSince, server: serverOf(evidence, hit.log) };
}

const admissionRefused: Diagnosis = {
  id: "admission-refused",
  source: 'specification, Errors: "Startup reservation check fails"; vLLM v1/worker/utils.py, request_memory',
  caughtBy: "the preflight of `up`, which compares utilization x total with MemAvailable",
  signs: [REFUSED],
  judge(evidence) {
    const refused = refusal(evidence);
    if (refused === undefined || refused.freeSince) return undefined;
    const { hit, free, total, utilization, wanted, server } = refused;
    const largest = downToHundredth((free - PRINTED_TO_GIB) / (total + PRINTED_TO_GIB));
    const weights = (server.settings?.model.weightsGB ?? 0) * GIB_PER_GB;
    const needed = weights + ENGINE_OVERHEAD_GIB;
    const cause = `${free} of ${total} GiB were available when the server started, and utilization ${utilization} asks for ${wanted} GiB of the total: vLLM refuses to start`;
    if (largest * total < needed) {
      return {
        cause: `${cause}; what is free would not hold ${weights > 0 ? "weights and engine" : "an engine"} at any utilization.`,
        evidence: hit.line,
        advice: `Nothing in the stack file: ${largest.toFixed(2)} is the largest utilization that fits, and ${needed.toFixed(1)} GiB are needed before there is any KV cache. Free the memory that something else holds, or serve a smaller model.`,
        command: WHO_HOLDS_IT,
      };
    }
    return {
      cause: `${cause}.`,
      evidence: hit.line,
      edits: [server.set(["gpuMemoryUtilization"], largest)],
      ...(server.settings?.kvCacheMemoryBytes === undefined
        ? {}
        : { advice: "`kvCacheMemoryBytes` does not switch this check off: both must fit each other." }),
      command: APPLY,
    };
  },
};

const memoryReleasedLate: Diagnosis = {
  id: "memory-released-late",
  source:
    'vLLM v1/worker/utils.py, request_memory; memory was seen to come free 60 s and more after a "kill"',
  caughtBy: "the gate before the server's start, which waits for MemAvailable",
  signs: [REFUSED],
  judge(evidence) {
    const refused = refusal(evidence);
    if (refused === undefined || !refused.freeSince) return undefined;
    const { hit, free, wanted, server } = refused;
    return {
      cause: `The server started while an earlier process still held its memory (${free} GiB were free then); ${evidence.meminfo?.availableGiB.toFixed(2)} GiB are now, and it wants ${wanted}.`,
      evidence: hit.line,
      advice: "Nothing in the stack file: the memory has come free since. Start it again.",
      command: `docker restart ${server.container}`,
    };
  },
};

export const admission: readonly Diagnosis[] = [admissionRefused, memoryReleasedLate];
