import { command } from "@local-serving/base/commandLine/command";
import { byteSize, wholeNumber } from "@local-serving/base/commandLine/values";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import {
  agentsAtOnce,
  CODING_CLIENT_MAX_TOKENS,
  KV_ENGINE_CHOICES,
  KV_ENGINE_DEFAULTS,
  type KvEngineSettings,
  kvPlan,
  modelShape,
} from "@local-serving/kv";
import { valid } from "@renovatebot/pep440";
import { type Command, InvalidArgumentError, Option } from "commander";
import { kvTable } from "../plan/kvTable";

/** The engine's settings are options of the same names, but for its draft tokens. */
interface Options extends Omit<KvEngineSettings, "draftTokens"> {
  readonly config: string;
  readonly available: number;
  readonly drafts: number;
  readonly maxTokens: number;
  readonly format: string;
}

export function kvCommand(): Command {
  return command({
    name: "kv",
    description:
      "Plan a model's KV cache from its config.json and the bytes available for the cache.",
    options: kvOptions(),
    notes: `Exit code: 0 the engine starts, 1 it does not (not one request of that length fits) or the config can't be planned,
2 wrong use or an unreadable file.`,
    example: `models kv --config models/my-model/config.json --available 20GiB --kv-cache-dtype fp8 \\
    --max-model-len 262144 --max-num-seqs 4 --max-num-batched-tokens 8192`,
    // A script gets its one document also where no plan can be made; `fits` is neither true nor
    // false then.
    refused: ({ faults }) => ({ fits: null, issues: faults }),
    run: ({ config, available, drafts: draftTokens, maxTokens, format: _, ...engine }: Options) => {
      const document = readJsonFile(config, { pythonNumbers: true });
      const plan = kvPlan(
        modelShape(document.value, document),
        { ...engine, draftTokens },
        available,
      );
      const agents = agentsAtOnce(plan, maxTokens);
      return { result: { ...plan, agents }, text: kvTable(plan, agents), failed: !plan.starts };
    },
  });
}

function kvOptions(): Option[] {
  const defaults = KV_ENGINE_DEFAULTS;
  const choices = KV_ENGINE_CHOICES;
  return [
    new Option("--config <file>", "the model's config.json").makeOptionMandatory(),
    new Option("--available <size>", "memory for the KV cache: 20GiB, 21474836480")
      .argParser(byteSize)
      .makeOptionMandatory(),
    choice(
      "--kv-cache-dtype <dtype>",
      "format of the cache",
      choices.kvCacheDtype,
      defaults.kvCacheDtype,
    ),
    whole("--max-model-len <tokens>", "context window (default: the model's own)"),
    whole("--max-num-seqs <count>", "concurrent sequences (default: not checked)"),
    whole("--max-num-batched-tokens <tokens>", "tokens per batch", defaults.maxNumBatchedTokens),
    whole("--drafts <count>", "draft tokens per step, 0 for none", defaults.draftTokens, 0),
    new Option("--no-prefix-caching", "plan without prefix caching"),
    choice(
      "--gdn-prefill-backend <backend>",
      "prefill kernel of gated-delta-net layers",
      choices.gdnPrefillBackend,
      defaults.gdnPrefillBackend,
    ),
    choice(
      "--mamba-ssm-cache-dtype <dtype>",
      "format of their state",
      choices.mambaSsmCacheDtype,
      defaults.mambaSsmCacheDtype,
    ),
    whole(
      "--tensor-parallel-size <devices>",
      "devices that share the model",
      defaults.tensorParallelSize,
    ),
    new Option("--vllm-version <version>", "version of vLLM to plan for")
      .argParser(vllmVersion)
      .default(defaults.vllmVersion),
    whole(
      "--max-tokens <tokens>",
      "tokens of an agent's answer, to count how many agents can work at once",
      CODING_CLIENT_MAX_TOKENS,
      0,
    ),
  ];
}

const choice = (flags: string, text: string, values: readonly string[], usual: string): Option =>
  new Option(flags, text).choices(values).default(usual);

const whole = (flags: string, text: string, usual?: number, least = 1): Option =>
  new Option(flags, text).argParser(wholeNumber(least)).default(usual);

function vllmVersion(text: string): string {
  const version = valid(text);
  if (version === null) throw new InvalidArgumentError("Expected a version such as 0.30.0.");
  return version;
}
