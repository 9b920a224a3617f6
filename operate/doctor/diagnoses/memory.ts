import { weightBand } from "../../../components/memory/weightBands";
import { downToHundredth } from "../../../components/planned/utilization";
import { APPLY, type Diagnosis } from "../diagnosis";
import {
  type Evidence,
  plannedStates,
  ranWith,
  type Server,
  type Sighting,
  seen,
  seenAny,
  serverOf,
} from "../evidence";
import { READY, STARTED_WITH_BATCH, sign } from "../sign";

/** torch's words; the newer class name says the same. */
const CUDA_OOM = sign(
  ["CUDA out of memory", "OutOfMemoryError"],
  /CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError/,
);
const WEIGHTS_LOADED = sign("Model loading took", /Model loading took ([\d.]+) Gi?B/);
const PINNED_KV = sign(
  "skipped memory profiling",
  /kv_cache_memory_bytes config and skipped memory profiling/,
);

/** NVIDIA's kernel module; harmless bursts of it were seen on machines that served well. */
const NV_NO_MEMORY = sign("NV_ERR_NO_MEMORY");

/** How much less a server is given when the machine ran out: about 6 GiB of 121.6. */
const STEP_DOWN = 0.05;

/** earlyoom's setting on this kind of machine: below 2 % of the memory it is about to hang. */
const EXHAUSTED_SHARE = 0.02;

const CHECK_NEIGHBOURS =
  "grep -E 'MemTotal|MemAvailable|SwapFree' /proc/meminfo; ps -eo pid,rss,args --sort=-rss | head -n 8";

function bandOf(weights: number): string {
  const { verdict, comfortable } = weightBand(weights);
  return comfortable ? `${verdict}, so something else holds the memory` : verdict;
}

/** A lower share, where that still leaves the server one. */
function lowered(evidence: Evidence, server: Server) {
  const now = server.settings?.gpuMemoryUtilization;
  if (now === undefined) return undefined;
  const largest = evidence.stack?.plan.ledger.largestUtilizationThatFits[server.container] ?? now;
  const value = downToHundredth(Math.min(now - STEP_DOWN, largest));
  return value > 0 ? server.set(["gpuMemoryUtilization"], value) : undefined;
}

/** A lower share where the stack file can have one, else words. */
export function lowerShare(evidence: Evidence, server: Server) {
  const edit = lowered(evidence, server);
  return edit === undefined
    ? {
        advice: "Lower `gpuMemoryUtilization`, so that the machine keeps memory of its own.",
        command: CHECK_NEIGHBOURS,
      }
    : { edits: [edit], command: APPLY };
}

const outOfMemoryLoading: Diagnosis = {
  id: "out-of-memory-loading",
  source: 'specification, Errors: "Real out-of-memory during weight load"; Limits, memory bands',
  caughtBy: "the plan's warning `weights`, where `model.weightsGB` is declared",
  signs: [CUDA_OOM, WEIGHTS_LOADED],
  judge(evidence) {
    const hit = seen(evidence, CUDA_OOM);
    if (hit === undefined || isAfter(hit, WEIGHTS_LOADED) || hit.log.hits.has(READY)) return undefined;
    const server = serverOf(evidence, hit.log);
    const weights = server.settings?.model.weightsGB;
    return {
      cause: `Memory ran out while the weights were being loaded${weights === undefined ? ": the model is too large for what is free" : `: ${weights} GB of weights are ${bandOf(weights)}`}.`,
      evidence: hit.line,
      advice:
        weights === undefined
          ? "Declare the size of the weights (`model.weightsGB`), so that the plan can judge it; serve a smaller or more strongly quantized model."
          : "Serve a smaller or more strongly quantized model, or free what the neighbours hold.",
      command: CHECK_NEIGHBOURS,
    };
  },
};

const outOfMemoryServing: Diagnosis = {
  id: "out-of-memory-serving",
  source:
    "NVIDIA/dgx-spark-playbooks #97, vllm-project/vllm #46307: peaks of a long prompt beyond what was profiled",
  caughtBy: "`serving verify`, whose long prompt measures the peak",
  signs: [CUDA_OOM, WEIGHTS_LOADED, PINNED_KV],
  judge(evidence) {
    const hit = seen(evidence, CUDA_OOM);
    if (hit === undefined || !(isAfter(hit, WEIGHTS_LOADED) || isAfter(hit, READY))) return undefined;
    if (isPinned(evidence, hit)) return undefined;
    const server = serverOf(evidence, hit.log);
    const batch = ranWith(hit.log, STARTED_WITH_BATCH, server.settings?.maxNumBatchedTokens);
    return {
      cause:
        "Memory ran out after the weights were loaded: a batch needs more than was profiled and left free.",
      evidence: hit.line,
      ...(batch === undefined
        ? {
            advice: "Halve `maxNumBatchedTokens`, or lower `gpuMemoryUtilization`.",
            command: CHECK_NEIGHBOURS,
          }
        : {
            edits: [server.set(["maxNumBatchedTokens"], Math.max(1, Math.floor(batch / 2)))],
            command: APPLY,
          }),
    };
  },
};

const pinnedKv: Diagnosis = {
  id: "pinned-kv-cache",
  source:
    "NVIDIA/xr-ai PR #440; with --kv-cache-memory-bytes the peak of activations is no longer subtracted",
  caughtBy: "`serving verify`, whose long prompt measures the peak",
  signs: [CUDA_OOM, PINNED_KV],
  judge(evidence) {
    const hit = seen(evidence, CUDA_OOM);
    if (hit === undefined || !isPinned(evidence, hit)) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause:
        "The KV cache has a fixed size, so vLLM kept nothing back for the activations of a long prompt: short ones pass, one of 28K tokens or more runs out of memory.",
      evidence: hit.line,
      edits: [server.set(["kvCacheMemoryBytes"], undefined)],
      command: APPLY,
    };
  },
};

function isPinned(evidence: Evidence, hit: Sighting): boolean {
  return (
    hit.log.hits.has(PINNED_KV) || serverOf(evidence, hit.log).settings?.kvCacheMemoryBytes !== undefined
  );
}

function isAfter(hit: Sighting, sign: typeof READY): boolean {
  const other = hit.log.hits.get(sign);
  return other !== undefined && other.firstLineNumber < hit.lineNumber;
}

const nvErrNoMemory: Diagnosis = {
  id: "nv-err-no-memory",
  source: "vllm-project/vllm #56824, NVIDIA/open-gpu-kernel-modules #1358; often harmless by itself",
  caughtBy: "the plan's warning `aggregate-high`",
  signs: [NV_NO_MEMORY],
  judge(evidence) {
    const hit = seen(evidence, NV_NO_MEMORY);
    if (hit === undefined || servesWell(evidence)) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause: `NVIDIA's kernel module found no physical pages (${hit.count} times) although MemAvailable counted some: the page cache or a neighbour held them.`,
      evidence: hit.line,
      ...lowerShare(evidence, server),
      advice:
        "The message alone proves nothing: machines that serve well print it too. Dropping the page cache before a start (`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches`) may avert it once; a lower share leaves room for good.",
    };
  },
};

/** A log that came to its end well, or containers that are all healthy. */
function servesWell(evidence: Evidence): boolean {
  const states = plannedStates(evidence);
  if (states.length > 0)
    return states.every((each) => each.status === "running" && each.health !== "unhealthy");
  return evidence.logs.some((log) => log.hits.has(READY)) && seenAny(evidence, CUDA_OOM) === undefined;
}

const exhausted: Diagnosis = {
  id: "memory-exhausted",
  source: "earlyoom as it is set on this kind of machine (2 %); below it hosts were seen to hang",
  caughtBy: "the plan's ledger",
  signs: [],
  judge(evidence) {
    const { meminfo } = evidence;
    if (meminfo === undefined || meminfo.availableGiB >= EXHAUSTED_SHARE * meminfo.totalGiB) return undefined;
    return {
      cause: `Only ${meminfo.availableGiB.toFixed(2)} of ${meminfo.totalGiB.toFixed(2)} GiB are available: the machine is about to swap and hang.`,
      evidence: `MemAvailable: ${Math.round(meminfo.availableGiB * 1024 ** 2)} kB`,
      ...lowerShare(evidence, serverOf(evidence)),
    };
  },
};

export const memory: readonly Diagnosis[] = [
  outOfMemoryLoading,
  outOfMemoryServing,
  pinnedKv,
  nvErrNoMemory,
  exhausted,
];
