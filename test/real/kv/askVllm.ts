import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KvEngineSettings } from "@local-serving/kv";
import { runToEnd } from "../process";
import type { Case } from "./cases";

/** On two cores that others use too. */
export const SECONDS = 3000;

/** vLLM's figures of a case, as far as it came, and its words where it refused. */
export type Answer = Readonly<Record<string, number | boolean>> & { readonly refused?: string };

export interface Answers {
  readonly version: string;
  readonly plans: ReadonlyMap<Case, Answer>;
}

/**
 * Asks vLLM for its plans of all cases.
 *
 * @param python the interpreter of vLLM's environment
 * @param folder where it may leave what it likes
 */
export async function askVllm(
  python: string,
  folder: string,
  cases: readonly Case[],
): Promise<Answers> {
  const file = join(folder, "cases.json");
  const asked = cases.map(
    ({ config, engine, availableBytes, availableOfRanks = availableBytes }) => ({
      ...{ config, engine: vllmArguments(engine), availableBytes: availableOfRanks },
    }),
  );
  writeFileSync(file, JSON.stringify(asked));
  const ran = await runToEnd(python, [join(__dirname, "vllmKvPlans.py"), file], {
    env: { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR: folder },
    cwd: folder,
    seconds: SECONDS,
  });
  const said = ran.out.split("PLANS")[1];
  if (said === undefined)
    throw new Error(`vLLM made no plans (exit ${ran.code}):\n${ran.err.slice(-4000)}`);
  const { version, plans } = JSON.parse(said) as { version: string; plans: Answer[] };
  return { version, plans: new Map(cases.map((each, index) => [each, plans[index] ?? {}])) };
}

/** The same settings as vLLM's `EngineArgs` name them. */
function vllmArguments(engine: KvEngineSettings): Record<string, unknown> {
  const { draftTokens = 0 } = engine;
  return {
    kv_cache_dtype: engine.kvCacheDtype ?? "auto",
    max_model_len: engine.maxModelLen,
    max_num_seqs: engine.maxNumSeqs,
    max_num_batched_tokens: engine.maxNumBatchedTokens,
    enable_prefix_caching: engine.prefixCaching ?? true,
    mamba_ssm_cache_dtype: engine.mambaSsmCacheDtype ?? "auto",
    tensor_parallel_size: engine.tensorParallelSize ?? 1,
    gdn_prefill_backend: engine.gdnPrefillBackend ?? "auto",
    ...(draftTokens > 0
      ? { speculative_config: { method: "mtp", num_speculative_tokens: draftTokens } }
      : {}),
  };
}
