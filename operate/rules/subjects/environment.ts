import { FLAGS_WITH_SETTING } from "../../../components/settings";
import { optionInsteadOf } from "../../../vllm/engineData";
import { sign } from "../../sees/log/sign";
import type { Row, Told } from "../rule";

const FP4_VARIABLE = sign(
  "VLLM_USE_FLASHINFER_MOE_FP4",
  /Unknown vLLM environment variable detected: (VLLM_USE_FLASHINFER_MOE_FP4)\b/,
);

/**
 * The stack sets the variable as specified, and the backend carries what it meant; without a stack
 * file that isn't known.
 */
const needsBackend = ({ server: { settings } }: Told) =>
  settings !== undefined && settings.moeBackend === undefined;

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
    when: FP4_VARIABLE,
    unless: (told) => !needsBackend(told),
    say: ({ server }) => ({
      cause:
        "VLLM_USE_FLASHINFER_MOE_FP4=0 does nothing in this version, so the FP4 fast path is still on: name the backend.",
      edits: [server.set(["moeBackend"], "marlin")],
    }),
  },
  {
    id: "inert-fp4-variable",
    when: FP4_VARIABLE,
    unless: needsBackend,
    say({ server }) {
      const known = server.settings !== undefined;
      return {
        cause: `VLLM_USE_FLASHINFER_MOE_FP4 is set as specified, but this version of vLLM ignores it: ${known ? "`moeBackend`" : "the MoE backend"} replaces it.`,
        advice: known
          ? "No setting to change."
          : "With `moeBackend: marlin` in the stack file there is nothing to do.",
        command: "serving plan",
      };
    },
  },
];
