import { FLAGS_WITH_SETTING } from "../../../components/settings";
import { optionInsteadOf } from "../../../vllm/engineData";
import { sign } from "../../sees/log/sign";
import type { Row } from "../rule";

export const environment: readonly Row[] = [
  {
    id: "unknown-vllm-variable",
    when: sign(
      "Unknown vLLM environment variable detected",
      /Unknown vLLM environment variable detected: (?!VLLM_USE_FLASHINFER_MOE_FP4\b)(\w+)/,
    ),
    say({ hit, server }) {
      const [variable = ""] = hit.groups;
      const option = optionInsteadOf(variable);
      const setting = FLAGS_WITH_SETTING[`--${option}`];
      const value = server.settings?.environment[variable];
      return {
        cause: `${variable} is set, but this version of vLLM ignores it${option === undefined ? "" : `: \`${setting ?? `--${option}`}\` has taken its place`}.`,
        edits: [
          server.set(["environment", variable], undefined),
          ...(setting === undefined || value === undefined ? [] : [server.set([setting], value)]),
        ],
      };
    },
  },
  {
    id: "fp4-variable-without-backend",
    // The stack sets the variable as specified, and the backend carries what it meant.
    when: sign(
      "VLLM_USE_FLASHINFER_MOE_FP4",
      /Unknown vLLM environment variable detected: (VLLM_USE_FLASHINFER_MOE_FP4)\b/,
    ),
    unless: ({ server: { settings } }) =>
      settings === undefined || settings.moeBackend !== undefined,
    say: ({ server }) => ({
      cause:
        "VLLM_USE_FLASHINFER_MOE_FP4=0 does nothing in this version, so the FP4 fast path is still on: name the backend.",
      edits: [server.set(["moeBackend"], "marlin")],
    }),
  },
];
