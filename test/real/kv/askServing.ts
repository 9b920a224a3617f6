import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runServing } from "../../cli/runServing";
import type { Case } from "./cases";

export async function servingKv(
  folder: string,
  version: string,
  asked: Case,
): Promise<Record<string, unknown>> {
  const { config, engine, availableBytes } = asked;
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify(config));
  const { out, err } = await runServing([
    ...["kv", "--config", file, "--available", `${availableBytes}B`, "--vllm-version", version],
    ...[
      "--kv-cache-dtype",
      engine.kvCacheDtype ?? "auto",
      "--max-model-len",
      String(engine.maxModelLen),
    ],
    ...["--max-num-seqs", String(engine.maxNumSeqs), "--drafts", String(engine.draftTokens ?? 0)],
    ...["--max-num-batched-tokens", String(engine.maxNumBatchedTokens)],
    ...["--mamba-ssm-cache-dtype", engine.mambaSsmCacheDtype ?? "auto"],
    ...["--gdn-prefill-backend", engine.gdnPrefillBackend ?? "auto"],
    ...["--tensor-parallel-size", String(engine.tensorParallelSize ?? 1)],
    ...(engine.prefixCaching === false ? ["--no-prefix-caching"] : []),
    ...["--format", "json"],
  ]);
  if (out === "") throw new Error(err);
  return JSON.parse(out) as Record<string, unknown>;
}
