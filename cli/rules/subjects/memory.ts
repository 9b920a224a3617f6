import { downToHundredth } from "@local-serving/vllm/utilization";
import { adviseShare, shareRoom, weightsInBand } from "../../../components/memory";
import { gateLine } from "../../sees/gateLines";
import { OPENS, READY, type Sign, STARTED_WITH_BATCH, sign, startSign } from "../../sees/log/sign";
import {
  isOnRequest,
  numberOf,
  type Picture,
  plannedStates,
  ranWith,
  type Server,
  type Sighting,
  seen,
  serverOf,
} from "../picture";
import { APPLY, type Row, type WeighingRule } from "../rule";
import { hasFixedCache, SHARE_IS_IDLE } from "./fixedCache";

/** torch's words; the newer class name says the same. */
const CUDA_OOM = startSign(
  ["CUDA out of memory", "OutOfMemoryError"],
  /CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError/,
);
/** vLLM's own words where the first step of as many sequences as it may serve is too much. */
const WARM_UP_OOM = startSign(
  "when warming up",
  /out of memory occurred when warming up .*? with (\d+) dummy requests/,
);
const WEIGHTS_LOADED = sign("Model loading took", /Model loading took ([\d.]+) Gi?B/);

/** A task that hangs in the kernel: what the driver says of its memory is no mere noise then. */
const HANGS = sign("blocked for more than");

/** The gate's own word; it is forgotten once the server was started again. */
const AT_THE_FLOOR = sign(
  "stopped at the floor:",
  gateLine(String.raw`stopped at the floor: ([\d.]+) GiB are available, below ([\d.]+) GiB`),
);

/** How much less a server is given when the machine ran out: about 6 GiB of 121.6. */
const STEP_DOWN = 0.05;

/** earlyoom's setting on this kind of machine: below 2 % of the memory it is about to hang. */
const EXHAUSTED_SHARE = 0.02;

const CHECK_NEIGHBOURS =
  "grep -E 'MemTotal|MemAvailable|SwapFree' /proc/meminfo; ps -eo pid,rss,args --sort=-rss | head -n 8";

/** A lower share if the server keeps one with which it starts, else words. */
export function lowerShare({ stack }: Picture, { container, set, settings }: Server) {
  if (settings?.kvCacheMemoryBytes !== undefined)
    return {
      advice: `Lower \`kvCacheMemoryBytes\`, so that the machine keeps memory of its own. ${SHARE_IS_IDLE}`,
      command: CHECK_NEIGHBOURS,
    };
  const now = settings?.gpuMemoryUtilization ?? 0;
  const room = stack && shareRoom(stack.plan, container);
  const { most, least } = room ? adviseShare(room, now) : { most: now, least: 0 };
  const value = downToHundredth(Math.min(now - STEP_DOWN, most));
  return value > 0 && value >= least
    ? { edits: [set(["gpuMemoryUtilization"], value)], command: APPLY }
    : {
        advice: "Lower `gpuMemoryUtilization`, so that the machine keeps memory of its own.",
        command: CHECK_NEIGHBOURS,
      };
}

function isAfter(hit: Sighting, sign: Sign): boolean {
  const other = hit.log.hits.get(sign);
  return other !== undefined && other.firstLineNumber < hit.lineNumber;
}

/** torch counts memory of CUDA graphs, which are captured once the weights are there. */
const hasGraphs = ({ line }: Sighting): boolean => line.includes("allocated in private pools");

/** A log that came to its end well, or containers that are all healthy. */
function servesWell(picture: Picture): boolean {
  const states = plannedStates(picture).filter(
    ({ name, status }) => status === "running" || !isOnRequest(picture, name),
  );
  if (states.length > 0)
    return states.every((each) => each.status === "running" && each.health !== "unhealthy");
  return picture.logs.some((log) => log.hits.has(READY)) && seen(picture, CUDA_OOM) === undefined;
}

/** What to do where the start gate waits, by its words. */
function waitsFor(words: string) {
  if (words.includes("serving drift"))
    return {
      advice: "No setting to change: write the file again.",
      command: "serving status --against applied",
    };
  // The gate's script says it so.
  if (words.includes("npm run up"))
    return { advice: "No setting to change: apply the stack file." };
  return {
    advice: words.includes("instance A")
      ? "No setting to change if instance A is still starting: the gate opens by itself. If A is gone, declare `instanceA: none`."
      : "No setting to change: the gate opens by itself once that much is available. If other programs keep the memory, end them, or lower `gpuMemoryUtilization`.",
    command: CHECK_NEIGHBOURS,
  };
}

export const memory: readonly (WeighingRule | Row)[] = [
  {
    id: "out-of-memory-warming-up",
    when: WARM_UP_OOM,
    say: ({ hit, server }) => {
      const sequences = numberOf(hit, 0);
      return {
        cause: `Memory ran out while vLLM tried a step of ${sequences} sequences, as many as it may serve at once.`,
        edits: [server.set(["maxNumSeqs"], Math.max(1, Math.floor(sequences / 2)))],
      };
    },
  },
  {
    id: "out-of-memory-loading",
    when: CUDA_OOM,
    say({ picture, hit, server }) {
      if (isAfter(hit, WEIGHTS_LOADED) || hit.log.hits.has(READY) || hasGraphs(hit))
        return undefined;
      const totalGiB = picture.stack?.plan.ledger.totalGiB ?? 0;
      const weights = server.settings && weightsInBand(server.settings, totalGiB);
      const other = weights?.comfortable ? ", so something else holds the memory" : "";
      return {
        cause: `Memory ran out while the server loaded the weights${weights === undefined ? ": the model is too large for what is free" : `: ${weights.text}${other}`}.`,
        advice:
          weights === undefined
            ? "Declare the size of the weights (`model.weightsGB`), so that the plan can judge it; or serve a smaller model (`serving models` lists what fits)."
            : "Serve a smaller model (`serving models` lists what fits), or free the memory that its neighbours hold.",
        command: CHECK_NEIGHBOURS,
      };
    },
  },
  {
    id: "out-of-memory-serving",
    when: CUDA_OOM,
    say({ hit, server }) {
      const hadWeights =
        hasGraphs(hit) ||
        (hit.afterServing ?? [WEIGHTS_LOADED, READY].some((each) => isAfter(hit, each)));
      if (!hadWeights || hasFixedCache(hit.log, server)) return undefined;
      const batch = ranWith(hit.log, STARTED_WITH_BATCH, server.settings?.maxNumBatchedTokens);
      return {
        cause:
          "Memory ran out after the weights were loaded: a batch needs more than was profiled and left free.",
        ...(batch === undefined
          ? {
              advice: "Halve `maxNumBatchedTokens`, or lower `gpuMemoryUtilization`.",
              command: CHECK_NEIGHBOURS,
            }
          : { edits: [server.set(["maxNumBatchedTokens"], Math.max(1, Math.floor(batch / 2)))] }),
      };
    },
  },
  {
    id: "pinned-kv-cache",
    when: CUDA_OOM,
    unless: ({ hit, server }) => !hasFixedCache(hit.log, server),
    say: ({ server }) => ({
      cause:
        "The KV cache has a fixed size, so vLLM kept nothing back for the activations of a long prompt: short ones pass, but one of 28K tokens or more runs out of memory.",
      edits: [server.set(["kvCacheMemoryBytes"], undefined)],
    }),
  },
  {
    id: "nv-err-no-memory",
    // NVIDIA's kernel module; harmless bursts of it were seen on machines that served well.
    when: sign("NV_ERR_NO_MEMORY"),
    unless: ({ picture }) => servesWell(picture),
    say: ({ picture, hit, server }) => ({
      cause: `NVIDIA's kernel module found no physical pages (${hit.count} times) although MemAvailable counted some: the page cache or a neighbour held them.`,
      ...lowerShare(picture, server),
      advice: `${seen(picture, HANGS) ? "" : "The message alone proves nothing: machines that serve well print it too. "}Dropping the page cache before a start (\`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches\`) may avert it once; a lower share leaves room every time.`,
    }),
  },
  {
    id: "stopped-at-the-floor",
    when: AT_THE_FLOOR,
    say: ({ picture, hit, server }) => ({
      cause: `The machine ran out of memory: ${hit.groups[0]} GiB were available, below the floor of ${hit.groups[1]} GiB (\`memoryFloorGiB\`), so the start gate stopped the server. It starts again by itself once there is room.`,
      ...lowerShare(picture, server),
    }),
  },
  {
    id: "start-gate-waits",
    when: sign(
      "start gate: ",
      gateLine(String.raw`([^:]*\bwaiting for (?!the (?:rank|link)\b).*)`),
    ),
    say({ hit }) {
      const { hits } = hit.log;
      const opened = (hits.get(OPENS)?.lineNumber ?? 0) > hit.lineNumber;
      if (opened) return undefined;
      const [words = ""] = hit.groups;
      return {
        cause: `The server isn't started yet; its start gate says: ${words}.`,
        ...waitsFor(words),
      };
    },
  },
  {
    id: "memory-exhausted",
    explain(picture) {
      const { meminfo } = picture;
      if (meminfo === undefined || meminfo.availableGiB >= EXHAUSTED_SHARE * meminfo.totalGiB)
        return undefined;
      return {
        cause: `Only ${meminfo.availableGiB.toFixed(2)} of ${meminfo.totalGiB.toFixed(2)} GiB are available: the machine is about to swap and hang.`,
        evidence: `MemAvailable: ${Math.round(meminfo.availableGiB * 1024 ** 2)} kB`,
        ...lowerShare(picture, serverOf(picture)),
      };
    },
  },
];
