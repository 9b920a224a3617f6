import { valid } from "@renovatebot/pep440";
import { Command, InvalidArgumentError, Option } from "commander";
import { EXIT } from "../../commandLine/exit";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import {
  agentsAtOnce,
  CODING_CLIENT_MAX_TOKENS,
  GDN_PREFILL_BACKENDS,
  KV_DTYPES,
  KV_ENGINE_DEFAULTS,
  type KvEngineSettings,
  kvPlan,
  modelShape,
  SSM_CACHE_DTYPES,
} from "../../components/kv";
import { FaultyInput } from "../../faults/fault";
import { readJsonFile } from "../../faults/jsonDocument";
import { kvTable } from "../kvTable";
import { wholeNumber } from "../numberArgument";
import { byteSize } from "../sizeArgument";

interface Options {
  config: string;
  available: number;
  kvCacheDtype: KvEngineSettings["kvCacheDtype"];
  maxModelLen?: number;
  maxNumSeqs?: number;
  maxNumBatchedTokens: number;
  drafts: number;
  prefixCaching: boolean;
  gdnPrefillBackend: KvEngineSettings["gdnPrefillBackend"];
  mambaSsmCacheDtype: KvEngineSettings["mambaSsmCacheDtype"];
  tensorParallelSize: number;
  vllmVersion: string;
  maxTokens: number;
  format: Format;
}

/** `serving kv`: the KV plan of a model from its config.json and the memory for its cache. */
export function kvCommand(): Command {
  const defaults = KV_ENGINE_DEFAULTS;
  return new Command("kv")
    .description("Plan a model's KV cache from its config.json and the bytes available for the cache.")
    .requiredOption("--config <file>", "the model's config.json")
    .requiredOption("--available <size>", "memory for the KV cache: 20GiB, 21474836480", byteSize)
    .addOption(choice("--kv-cache-dtype <dtype>", "format of the cache", KV_DTYPES, defaults.kvCacheDtype))
    .option("--max-model-len <tokens>", "context window (default: the model's own)", wholeNumber(1))
    .option("--max-num-seqs <count>", "concurrent sequences (default: not checked)", wholeNumber(1))
    .option(
      "--max-num-batched-tokens <tokens>",
      "tokens of a batch",
      wholeNumber(1),
      defaults.maxNumBatchedTokens,
    )
    .option("--drafts <count>", "draft tokens of a step, 0 for none", wholeNumber(0), defaults.draftTokens)
    .option("--no-prefix-caching", "plan without prefix caching")
    .addOption(
      choice(
        "--gdn-prefill-backend <backend>",
        "prefill kernel of gated-delta-net layers",
        GDN_PREFILL_BACKENDS,
        defaults.gdnPrefillBackend,
      ),
    )
    .addOption(
      choice(
        "--mamba-ssm-cache-dtype <dtype>",
        "format of their state",
        SSM_CACHE_DTYPES,
        defaults.mambaSsmCacheDtype,
      ),
    )
    .option(
      "--tensor-parallel-size <devices>",
      "devices that share the model",
      wholeNumber(1),
      defaults.tensorParallelSize,
    )
    .option("--vllm-version <version>", "vLLM whose rules hold", vllmVersion, defaults.vllmVersion)
    .option(
      "--max-tokens <tokens>",
      "answer of an agent, for the agents that work at once",
      wholeNumber(0),
      CODING_CLIENT_MAX_TOKENS,
    )
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nExample:\n  serving kv --config models/my-model/config.json --available 20GiB --kv-cache-dtype fp8 \\\n    --max-model-len 262144 --max-num-seqs 4 --max-num-batched-tokens 8192\n\nExit code: 0 the engine starts, 1 it does not (not one request of that length fits) or the config can't be planned,\n2 wrong use or an unreadable file.",
    )
    .action(run);
}

function run(options: Options): void {
  try {
    const document = readJsonFile(options.config, { pythonNumbers: true });
    const plan = kvPlan(modelShape(document.value, document), engineOf(options), options.available);
    const agents = agentsAtOnce(plan, options.maxTokens);
    printResult(options.format, { ...plan, agents }, () => kvTable(plan, agents));
    if (!plan.starts) process.exitCode = EXIT.faults;
  } catch (error) {
    // A script gets its one document also where no plan can be made; `fits` is neither true nor false then.
    if (error instanceof FaultyInput && options.format === "json") {
      printResult("json", { fits: null, issues: error.faults }, () => "");
    }
    throw error;
  }
}

function engineOf(options: Options): KvEngineSettings {
  return {
    vllmVersion: options.vllmVersion,
    kvCacheDtype: options.kvCacheDtype,
    maxModelLen: options.maxModelLen,
    maxNumSeqs: options.maxNumSeqs,
    maxNumBatchedTokens: options.maxNumBatchedTokens,
    draftTokens: options.drafts,
    prefixCaching: options.prefixCaching,
    gdnPrefillBackend: options.gdnPrefillBackend,
    mambaSsmCacheDtype: options.mambaSsmCacheDtype,
    tensorParallelSize: options.tensorParallelSize,
  };
}

function choice(flags: string, text: string, values: readonly string[], usual: string): Option {
  return new Option(flags, text).choices(values).default(usual);
}

function vllmVersion(text: string): string {
  const version = valid(text);
  if (version === null) throw new InvalidArgumentError("It is a version such as 0.30.0.");
  return version;
}
