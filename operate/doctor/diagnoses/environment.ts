import { optionInsteadOf } from "../../../components/inference-server/engineData";
import { FLAGS_WITH_SETTING } from "../../../components/settings/extraArguments";
import { APPLY, type Row, type Told } from "../diagnosis";
import { firstGroup, textSetting } from "../facts";
import { sign, startSign } from "../sign";

const FP4_VARIABLE = sign(
  "VLLM_USE_FLASHINFER_MOE_FP4",
  /Unknown vLLM environment variable detected: (VLLM_USE_FLASHINFER_MOE_FP4)\b/,
);

/** The stack sets the variable as specified, and the backend carries what it meant; without a stack file that isn't known. */
const needsBackend = ({ server: { settings } }: Told) =>
  settings !== undefined && settings.moeBackend === undefined && !settings.flashinferMoeFp4;

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
        advice: known ? "No setting to change." : "With `moeBackend: marlin` in the stack file there is nothing to do.",
        command: "serving plan",
      };
    },
  },
  {
    id: "argument-refused",
    when: startSign(
      ["error: argument ", "[type="],
      /error: argument (--[\w-]+)\S*: (?:invalid |Value |expected )|Input should be .{1,80} \[type=\w+, input_value=/,
    ),
    say: ({ hit, server }) => ({
      cause: `This version of vLLM refuses the value of ${hit.groups[0] || "an argument"}.`,
      advice: `The line says which values it takes: correct the setting of inferenceServers.${server.key}, or its \`extraArgs\`.`,
      command: APPLY,
    }),
  },
  {
    id: "thinking-parameter-refused",
    when: sign(
      ["chat_template_kwargs", "enable_thinking", "thinking"],
      /(?:HTTP(?:\/[\d.]+)?"? 400|[Ee]rror code: 400|400 Bad Request|[Uu]nrecognized|extra_forbidden|[Ee]xtra inputs|UnsupportedParams\w*|not permitted|[Uu]nknown (?:parameter|field|argument)).{0,200}\b(chat_template_kwargs|enable_thinking|thinking)\b|\b(chat_template_kwargs|enable_thinking|thinking)\b.{0,160}(?:[Uu]nrecognized|extra_forbidden|[Ee]xtra inputs are not permitted|UnsupportedParams|unsupported)/,
    ),
    say: ({ facts, hit }) => ({
      cause: `The server refuses \`${firstGroup(hit) ?? "thinking"}\`, one of the two parameters that turn hidden reasoning off.`,
      advice:
        "No setting to change, and nothing to do: the harness asks again without it. With another client, leave that parameter out; in the bridge, `drop_params: true` does so.",
      command: `serving config check providers ${textSetting(facts, "harness", "home") ?? "~/.hx"}/providers.toml --probe`,
    }),
  },
];
