import { basename } from "node:path";
import { isRecord, type JsonObject, jsonIn, objectOr } from "@local-serving/base/faults/json";
import type { ModelFiles } from "@local-serving/machines/modelFiles";
import type { AdapterSettings } from "../settings";
import type { OwnFault } from "./ownFiles";

/** What an adapter_config.json says, as far as vLLM's own reader goes. */
export interface AdapterConfig {
  /** The largest rank of any of its layers; `undefined` where it is no whole number. */
  readonly rank: number | undefined;
  /** The model that it was trained on, as the file names it. */
  readonly base: string | undefined;
  /** The file itself; `undefined` where it is no JSON object. */
  readonly json: JsonObject | undefined;
}

/** Reads an adapter's own file; `undefined` where there is none. */
export function adapterConfig({ adapterConfig: text }: ModelFiles): AdapterConfig | undefined {
  if (text === undefined) return undefined;
  const json = jsonIn(text);
  if (!isRecord(json)) return { rank: undefined, base: undefined, json: undefined };
  const { r, rank_pattern: pattern, base_model_name_or_path: base } = json;
  const ranks = [r, ...Object.values(objectOr(pattern))];
  const whole = ranks.filter(
    (rank) => typeof rank === "number" && Number.isInteger(rank) && rank > 0,
  );
  return {
    rank: whole.length === ranks.length ? Math.max(...whole.map(Number)) : undefined,
    base: typeof base === "string" && base !== "" ? base : undefined,
    json,
  };
}

const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  !(typeof value === "object" && Object.keys(value).length === 0);

/**
 * What vLLM refuses of an adapter as it starts, or takes and computes otherwise than it was trained
 * (0.30 `lora/peft_helper.py`, `lora/lora_model.py`, `lora/lora_weights.py`; seen in
 * `test/real/vllm/adapterStarts.test.ts`). It reads no `peft_type`: another kind lacks `r`, or has
 * tensors that it knows no place for.
 */
const UNSUPPORTED: readonly {
  readonly is: (config: JsonObject) => boolean;
  readonly message: string;
}[] = [
  {
    is: ({ peft_type: type = "LORA" }) => type !== "LORA",
    message:
      "Its `peft_type` isn't LORA, the only kind of adapter that vLLM serves: merge it, and serve the merged model.",
  },
  {
    is: ({ use_dora: dora }) => isSet(dora),
    message:
      "It was trained with DoRA (`use_dora`), which vLLM doesn't support: merge it, and serve the merged model.",
  },
  {
    is: ({ modules_to_save: modules }) => isSet(modules),
    message:
      "It replaces whole layers (`modules_to_save`), which vLLM refuses: merge it, and serve the merged model.",
  },
  {
    is: ({ bias = "none" }) => bias !== "none",
    message: "It has biases (`bias`), which vLLM refuses: train it with `bias: none`, or merge it.",
  },
  {
    is: ({ lora_bias: bias }) => isSet(bias),
    message:
      "It has biases (`lora_bias`), which vLLM can't load: train it without them, or merge it.",
  },
  {
    is: ({ trainable_token_indices: tokens }) => isSet(tokens),
    message:
      "It changes single tokens (`trainable_token_indices`), which vLLM can't load: merge it, and serve the merged model.",
  },
  {
    is: ({ rank_pattern: ranks, alpha_pattern: alphas }) => isSet(ranks) || isSet(alphas),
    message:
      "Its layers have different scales (`rank_pattern` or `alpha_pattern`), but vLLM scales all of them by `lora_alpha` and `r`, so its answers would be wrong. Merge it, and serve the merged model.",
  },
  {
    is: ({ lora_alpha: alpha }) => typeof alpha !== "number",
    message:
      "Its adapter_config.json has no number as `lora_alpha`, which vLLM needs: name a folder that PEFT's `save_pretrained` wrote.",
  },
  {
    is: ({ target_modules: modules }) => !(Array.isArray(modules) || typeof modules === "string"),
    message:
      "Its adapter_config.json has no `target_modules`, which vLLM needs: name a folder that PEFT's `save_pretrained` wrote.",
  },
];

/** What is declared of an adapter that its own file may contradict. */
type DeclaredAdapter = Pick<AdapterSettings, "name" | "rank" | "trainedOn">;

/** What an adapter's own file says against serving it like this. */
export function adapterFaults(
  adapter: DeclaredAdapter,
  { json, rank, base }: AdapterConfig,
  model: string,
): OwnFault[] {
  if (json === undefined)
    return [{ message: "Its adapter_config.json isn't a JSON object: copy the folder again." }];
  const faults: OwnFault[] = UNSUPPORTED.filter(({ is }) => is(json)).map(({ message }) => ({
    message,
  }));
  if (rank === undefined)
    faults.push({
      message: "Its adapter_config.json has no rank: `r` must be a whole number above 0.",
    });
  if (rank !== undefined && adapter.rank !== undefined && rank !== adapter.rank)
    faults.push({
      path: ["rank"],
      message: `\`rank: ${adapter.rank}\` is declared, but its adapter_config.json says ${rank}: delete this line.`,
    });
  const other = base === undefined ? undefined : otherBase(base, adapter, model);
  return other === undefined ? faults : [...faults, other];
}

/** Where the adapter was trained on another model than this server's. */
function otherBase(
  base: string,
  { name, trainedOn }: DeclaredAdapter,
  id: string,
): OwnFault | undefined {
  if (trainedOn !== undefined)
    return isSame(base, trainedOn)
      ? undefined
      : {
          path: ["trainedOn"],
          message: `\`trainedOn: ${trainedOn}\` is declared, but its adapter_config.json names \`${base}\`: write that, or name another folder.`,
        };
  if (isSame(base, id)) return undefined;
  return {
    message: `${name} was trained on \`${base}\`, but this server serves \`${id}\`. If that is another copy of the same model, such as a quantized one, write \`trainedOn: ${base}\`. Otherwise declare the adapter on a server of its own base model.`,
  };
}

/** Hub ids mean the same in any case; of folders only the last part tells. */
function isSame(base: string, id: string): boolean {
  const isFolder = [base, id].some((each) => /^[/.~]/.test(each));
  const [one, other] = isFolder ? [basename(base), basename(id)] : [base, id];
  return one.toLowerCase() === other.toLowerCase();
}
