import { downToHundredth } from "../../../components/planned/utilization";
import { APPLY, type Diagnosis } from "../diagnosis";
import {
  type Evidence,
  numberOf,
  ranWith,
  type Server,
  type Sighting,
  seen,
  seenAny,
  serverOf,
} from "../evidence";
import { STARTED_WITH_UTILIZATION, sign, startSign } from "../sign";

/** vLLM v1/core/kv_cache_utils.py. */
const NO_ROOM = startSign(["No available memory for the cache blocks", "Cannot auto-fit max_model_len"]);
const AVAILABLE = sign("Available KV cache memory:", /Available KV cache memory: (-?[\d.]+) GiB/);
const TOO_LONG = startSign(
  "To serve at least one request with the model",
  /max seq len \((\d+)\), \(?([\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory \((-?[\d.]+) GiB\)(?:.{0,80}estimated maximum model length is (\d+))?/,
);
const TOO_MANY = startSign(
  "exceeds available Mamba cache blocks",
  /max_num_seqs \((\d+)\) exceeds available Mamba cache blocks \((\d+)\)/,
);
const REDUCED = sign("Auto-fit max_model_len", /Auto-fit max_model_len: reduced from ([\d,]+) to ([\d,]+)/);

/** Room that is asked for where it isn't known what a request of the whole window takes, in GiB. */
const SOME_ROOM_GIB = 4;

const LOOK_AT_KV = "serving plan";

/**
 * The smallest utilization that gives the cache `missing` GiB more, if the machine has it. Rounded up to 0.01, and never
 * above what the plan's ledger leaves beside everything else.
 */
function raised(
  evidence: Evidence,
  server: Server,
  now: number | undefined,
  missing: number,
): number | undefined {
  const ledger = evidence.stack?.plan.ledger;
  if (ledger === undefined || now === undefined) return undefined;
  const wanted = Math.ceil(Math.round((now + missing / ledger.totalGiB) * 10_000) / 100) / 100;
  const largest = ledger.largestUtilizationThatFits[server.container] ?? 0;
  return wanted <= largest ? wanted : undefined;
}

/** What one request of the whole window takes, in GiB, where the model is known. */
function roomForOne({ stack }: Evidence, { container }: Server): number {
  const kv = stack?.plan.kv[container];
  return kv === null || kv === undefined
    ? SOME_ROOM_GIB
    : (kv.bytesPerRequest + kv.bytesPerBlock) / 1024 ** 3;
}

function utilizationOf({ log }: Sighting, { settings }: Server): number | undefined {
  return ranWith(log, STARTED_WITH_UTILIZATION, settings?.gpuMemoryUtilization);
}

const noKvRoom: Diagnosis = {
  id: "no-kv-room",
  source: 'specification, Errors: "Model loads but no KV room"; vLLM v1/core/kv_cache_utils.py',
  caughtBy: "the plan's KV plan, once the engine's measured memory is recorded in the stack file",
  signs: [NO_ROOM, AVAILABLE],
  judge(evidence) {
    const hit = seen(evidence, NO_ROOM);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const available = hit.log.hits.get(AVAILABLE);
    const left = available === undefined ? 0 : numberOf(available, 0);
    const cause = `Weights and engine take the server's whole share${available === undefined ? "" : ` (${left} GiB are left for the KV cache)`}: no room for a single block.`;
    const shown = available === undefined ? hit.line : `${available.line} | ${hit.line}`;
    const missing = Math.max(0, -left) + roomForOne(evidence, server);
    const now = utilizationOf(hit, server);
    const utilization = raised(evidence, server, now, missing);
    if (utilization !== undefined)
      return {
        cause,
        evidence: shown,
        edits: [server.set(["gpuMemoryUtilization"], utilization)],
        command: APPLY,
      };
    const largest = evidence.stack?.plan.ledger.largestUtilizationThatFits[server.container];
    const share = evidence.stack?.plan.ledger.totalGiB ?? 0;
    if (largest !== undefined && now !== undefined && (largest - now) * share > -left) {
      // All that there is, and half the window: the cache is then compared with the half.
      const half = Math.max(1, Math.floor((server.settings?.maxModelLen ?? 2) / 2));
      return {
        cause,
        evidence: shown,
        edits: [
          server.set(["gpuMemoryUtilization"], downToHundredth(largest)),
          server.set(["maxModelLen"], half),
        ],
        command: APPLY,
      };
    }
    return {
      cause,
      evidence: shown,
      advice:
        largest === undefined
          ? `Raise \`gpuMemoryUtilization\` by ${missing.toFixed(2)} GiB's worth, if the machine has it, and reduce \`maxModelLen\`.`
          : `Nothing in the stack file gives it more: ${largest.toFixed(2)} is the largest utilization beside the other servers. Lower instance A where it is started (and its declaration), or serve a smaller model.`,
      command: LOOK_AT_KV,
    };
  },
};

const windowTooLong: Diagnosis = {
  id: "window-too-long",
  source:
    'specification, Errors: "Model loads but no KV room"; vLLM v1/core/kv_cache_utils.py, _check_enough_kv_cache_memory',
  caughtBy:
    "the plan's KV plan, once the engine's measured memory is recorded; `serving kv` with the figure of the log",
  signs: [TOO_LONG],
  judge(evidence) {
    const hit = seen(evidence, TOO_LONG);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const [length, needed, available, estimated] = [0, 1, 2, 3].map((group) => numberOf(hit, group));
    const cause = `One request of ${length} tokens needs ${needed} GiB of KV cache, and ${available} GiB are there.`;
    if (estimated !== undefined && estimated > 0) {
      return {
        cause,
        evidence: hit.line,
        edits: [server.set(["maxModelLen"], estimated)],
        advice: `${estimated} is vLLM's own estimate of the longest window that fits.`,
        command: APPLY,
      };
    }
    const utilization = raised(
      evidence,
      server,
      utilizationOf(hit, server),
      (needed ?? 0) - (available ?? 0),
    );
    return {
      cause,
      evidence: hit.line,
      ...(utilization === undefined
        ? { advice: "Reduce `maxModelLen`, or raise `gpuMemoryUtilization` where the ledger has room." }
        : { edits: [server.set(["gpuMemoryUtilization"], utilization)] }),
      command: utilization === undefined ? LOOK_AT_KV : APPLY,
    };
  },
};

const tooManySequences: Diagnosis = {
  id: "too-many-sequences",
  source: "vllm-project/vllm #49064, PR #38270; kaito-project/kaito #2319",
  caughtBy: "the plan's KV plan, where the memory for the cache is known",
  signs: [TOO_MANY],
  judge(evidence) {
    const hit = seen(evidence, TOO_MANY);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const blocks = numberOf(hit, 1);
    return {
      cause: `${numberOf(hit, 0)} sequences are to be served at once, and each needs a state block of its own: the cache has ${blocks}.`,
      evidence: hit.line,
      ...(blocks > 0
        ? { edits: [server.set(["maxNumSeqs"], blocks)] }
        : { advice: "There is no block at all: raise `gpuMemoryUtilization`." }),
      command: APPLY,
    };
  },
};

const windowReduced: Diagnosis = {
  id: "window-reduced",
  source: "vLLM v1/core/kv_cache_utils.py: max_model_len auto",
  caughtBy: false,
  signs: [REDUCED, NO_ROOM],
  judge(evidence) {
    const hit = seen(evidence, REDUCED);
    if (hit === undefined || seenAny(evidence, NO_ROOM) !== undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const length = numberOf(hit, 1);
    return {
      cause: `vLLM chose a window of ${length} tokens by itself, so clients that count on ${numberOf(hit, 0)} are refused.`,
      evidence: hit.line,
      edits: [server.set(["maxModelLen"], length)],
      command: APPLY,
    };
  },
};

export const kvRoom: readonly Diagnosis[] = [noKvRoom, windowTooLong, tooManySequences, windowReduced];
