import { ENGINE_OVERHEAD_GIB, GIB_PER_GB } from "../../../components/memory/ledger";
import { downToHundredth } from "../../../components/planned/utilization";
import type { Row, Told } from "../diagnosis";
import { numberOf } from "../facts";
import type { Hit } from "../scanLog";
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

const wanted = (hit: Hit) => numberOf(hit, 3);

const isFreeNow = ({ facts: { meminfo }, hit }: Told) =>
  meminfo !== undefined && meminfo.availableGiB >= wanted(hit);

export const admission: readonly Row[] = [
  {
    id: "admission-refused",
    source:
      'specification, Errors: "Startup reservation check fails"; vLLM v1/worker/utils.py, request_memory',
    caughtBy: "the preflight of `up`, which compares utilization x total with MemAvailable",
    when: REFUSED,
    unless: isFreeNow,
    say({ hit, server }) {
      const [free, total, utilization] = [numberOf(hit, 0), numberOf(hit, 1), numberOf(hit, 2)];
      const largest = downToHundredth((free - PRINTED_TO_GIB) / (total + PRINTED_TO_GIB));
      const weights = (server.settings?.model.weightsGB ?? 0) * GIB_PER_GB;
      const needed = weights + ENGINE_OVERHEAD_GIB;
      const cause = `${free} of ${total} GiB were available when the server started, and utilization ${utilization} asks for ${wanted(hit)} GiB of the total: vLLM refuses to start`;
      if (largest * total < needed)
        return {
          cause: `${cause}; no utilization leaves enough for ${weights > 0 ? "weights and engine" : "an engine"}.`,
          advice: `No setting to change: ${largest.toFixed(2)} is the largest utilization that fits, and the server needs ${needed.toFixed(1)} GiB before there is any KV cache. Free the memory that something else holds, or serve a smaller model (\`serving models\` lists what fits).`,
          command: WHO_HOLDS_IT,
        };
      return {
        cause: `${cause}.`,
        edits: [server.set(["gpuMemoryUtilization"], largest)],
        advice:
          server.settings?.kvCacheMemoryBytes === undefined
            ? undefined
            : "`kvCacheMemoryBytes` does not switch this check off: the two must fit together.",
      };
    },
  },
  {
    id: "memory-released-late",
    source:
      'vLLM v1/worker/utils.py, request_memory; memory was seen to come free 60 s and more after a "kill"',
    caughtBy: "the gate before the server's start, which waits for MemAvailable",
    when: REFUSED,
    unless: (told) => !isFreeNow(told),
    say: ({ facts, hit, server }) => ({
      cause: `The server started while an earlier process still held its memory: ${numberOf(hit, 0)} GiB were free then, ${facts.meminfo?.availableGiB.toFixed(2)} GiB are free now, and it wants ${wanted(hit)}.`,
      advice: "No setting to change: the memory has come free since. Start it again.",
      command: `docker restart ${server.container}`,
    }),
  },
];
