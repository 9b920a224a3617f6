import type { PlaceCase } from "./placeCases";

/** Words, values and files that a start was given, and what it ends of. */
const GIVEN: readonly PlaceCase[] = [
  {
    name: "JSON without its quotes",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --speculative-config/-sc: Value {method: mtp, num_speculative_tokens: 2} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    cause:
      "The value of --speculative-config isn't JSON: `{method: mtp, num_speculative_tokens: 2}`.",
    change: "as YAML: `speculative: { method: mtp, numSpeculativeTokens: 2 }`.",
    not: /which values it takes/,
  },
  {
    name: "JSON in Python's form, of an option without a setting",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --override-generation-config: Value {'top_k': 20} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    change: `Write \`--override-generation-config '{"top_k":20}'\``,
    not: /as YAML/,
  },
  {
    name: "JSON that is cut off",
    id: "argument-refused",
    lines: [
      'vllm serve: error: argument --compilation-config/-cc: Value {"mode": 3 cannot be converted to <function loads at 0x7fb834fe0180>.',
    ],
    cause: 'isn\'t JSON: `{"mode": 3`.',
    change: `Write \`--compilation-config '{"key": "value"}'\``,
  },
  {
    name: "a secret that should be JSON",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --hf-overrides: Value {api_key: hf_abcdefghijklmnopqrstuvwxyzabcdef} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    cause: "The value of --hf-overrides isn't JSON.",
    not: /hf_abc/,
  },
];

const vllm = (version: string) =>
  `(APIServer pid=1) INFO 11-30 11:52:22 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version ${version}`;
const UNKNOWN_TYPE =
  "(APIServer pid=1)   Value error, The checkpoint you are trying to load has model type `acme3_vl` but Transformers does not recognize this architecture. [type=value_error]";
const NO_CLASS =
  "(APIServer pid=1)   Value error, Model architectures ['AcmeForCausalLM'] are not supported for now. Supported architectures: dict_keys([])";

/** Models that a release doesn't have: it has to be a newer one than the log's own. */
const NEWER: readonly PlaceCase[] = [
  {
    name: "a type that the usual release doesn't know either",
    id: "transformers-too-old",
    lines: [vllm("0.30.0"), UNKNOWN_TYPE],
    cause: "vLLM 0.30.0 and the transformers beside it don't know the model's type, acme3_vl.",
    change: "a release newer than 0.30.0",
    not: /above the floors|openai:v/,
  },
  {
    name: "a type of a release below the usual one",
    id: "transformers-too-old",
    lines: [vllm("0.26.0"), UNKNOWN_TYPE],
    cause: "older than the model",
    change: "Pin an image above the floors",
    not: /--newer/,
  },
  {
    name: "a class that a newer release may have",
    id: "architecture-unsupported",
    lines: [vllm("0.32.0"), NO_CLASS],
    cause: "['AcmeForCausalLM']",
    change: "a release newer than 0.32.0",
    not: /openai:v/,
  },
  {
    name: "a value of a newer release",
    id: "argument-refused",
    lines: [
      vllm("0.30.0"),
      "vllm serve: error: argument --all2all-backend: invalid choice: 'moonep' (choose from 'naive')",
    ],
    cause: "`moonep` came with a later one",
    change: "Take an image of vLLM 0.31.0 or later",
    not: /openai:v/,
  },
];

/** What starts end of, by what they were given, where it was raised and what the log's clock shows. */
export const START_CASES: readonly PlaceCase[] = [...GIVEN, ...NEWER];
