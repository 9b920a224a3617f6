import { thousands } from "@local-serving/base/units/thousands";
import { readEngineLog } from "@local-serving/kv";
import { readMetrics } from "../../sees/metrics";
import { fail, pass, type Verdict } from "../probe";
import type { ProbesOf, ServerTarget } from "../target";
import { judgedStart } from "./memory";

/** How far the engine may come out below a plan that rests on this machine's own measurement. */
const MEASURED_SHORTFALL = 0.02;

/** The same for any other plan; below that, something else must have taken the memory. */
export const LARGEST_SHORTFALL = 0.1;

/** A cache of a fixed size doesn't grow with the share. */
const roomFix = ({ setting, server: { container } }: ServerTarget) =>
  `Raise ${setting(container.command.includes("--kv-cache-memory-bytes") ? "kvCacheMemoryBytes" : "gpuMemoryUtilization")} or lower ${setting("maxModelLen")}.`;

/**
 * The KV cache that the engine really got decides how much is admitted; `--max-model-len` does not.
 */
export const kvCacheProbes: ProbesOf<"inference-server"> = [
  {
    name: "kv-cache",
    about: "KV token budget and concurrency against the plan",
    fix: roomFix,
    run: async (target) => {
      const measured = (await fromMetrics(target)) ?? (await fromLog(target));
      if (measured === undefined) {
        const fix = `See docker logs ${target.name} for \`GPU KV cache size\`; older logs may have been rotated away.`;
        return fail(
          "neither /metrics (vllm:cache_config_info) nor the log says the size of the KV cache",
          fix,
        );
      }
      return { ...(await judged(target, measured)), figure: measured.concurrency };
    },
  },
];

interface Measured {
  readonly tokens: number;
  /** Requests of full length that it holds. */
  readonly concurrency: number;
  readonly source: string;
}

/** The KV cache that was measured, against the plan. */
async function judged(
  target: ServerTarget,
  { tokens, concurrency, source }: Measured,
): Promise<Verdict> {
  const seen = `${thousands(tokens)} tokens, ${concurrency.toFixed(2)} requests of full length (${source})`;
  if (concurrency < 1)
    return fail(`${seen}: not one request of ${target.maxModelLen} tokens is admitted`);
  const planned = target.machine.kv[target.server.container.name] ?? null;
  if (planned === null || planned.maxConcurrency <= 0)
    return pass(`${seen}; the plan has no figure to compare`);
  const { maxConcurrency: low, room } = planned;
  const high = planned.atBest.maxConcurrency;
  const range = high > low ? `${low.toFixed(2)} to ${high.toFixed(2)}` : low.toFixed(2);
  const off =
    concurrency < low ? concurrency / low - 1 : concurrency > high ? concurrency / high - 1 : 0;
  const against = `${seen}; planned ${range} (${off >= 0 ? "+" : ""}${(off * 100).toFixed(1)} %)`;
  if (off < -(room.basis === "measured" ? MEASURED_SHORTFALL : LARGEST_SHORTFALL)) {
    const fix = `Less memory was left than planned: see serving doctor and the ledger of serving plan. ${roomFix(target)}`;
    return fail(against, fix);
  }
  const isWorth = Math.abs(off) > MEASURED_SHORTFALL && (await hasLinesToRecord(target));
  return pass(against, isWorth ? RECORD : "");
}

const RECORD =
  "Record what was measured, so that the next plan matches it: `serving verify --only memory` prints the lines.";

/** Whether the probe `memory` has lines for the stack file: those come from the log alone. */
async function hasLinesToRecord(target: ServerTarget): Promise<boolean> {
  if (target.alone) return false;
  const start = await judgedStart(target, target.server);
  return "record" in start && start.record.length > 0;
}

/** For hybrid models only these two labels are right: blocks times block size is not. */
async function fromMetrics({ api }: ServerTarget) {
  const labels = (await readMetrics(api)).labels("vllm:cache_config_info");
  const concurrency = Number(labels?.kv_cache_max_concurrency);
  const tokens = Number(labels?.kv_cache_size_tokens);
  if (!Number.isFinite(concurrency) || !Number.isFinite(tokens)) return undefined;
  return { tokens, concurrency, source: "/metrics" };
}

async function fromLog({ host, name, alone }: ServerTarget) {
  if (alone) return undefined;
  const { text, cutShort } = await host.memoryLines(name);
  const { kvTokens: tokens, maxConcurrency: concurrency } = readEngineLog(text);
  if (tokens === undefined || concurrency === undefined) return undefined;
  return { tokens, concurrency, source: ["log", cutShort].filter(Boolean).join("; ") };
}
