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

/** What starts end of, by what they were given, where it was raised and what the log's clock shows. */
export const START_CASES: readonly PlaceCase[] = [...GIVEN];
