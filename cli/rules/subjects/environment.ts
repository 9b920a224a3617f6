import { clause } from "@local-serving/base/faults/quoting";
import { optionInsteadOf } from "@local-serving/vllm/engineData";
import { FLAGS_WITH_SETTING } from "../../../components/settings";
import type { LastWord, LogReading } from "../../sees/log/scanLog";
import { sign } from "../../sees/log/sign";
import { type Picture, serverOf } from "../picture";
import { type Explanation, ofSomeLog, type Row, type WeighingRule } from "../rule";
import { endOf, sightingOf } from "./engineSaid";

/** Where vLLM reads its variables. */
const READS_VARIABLES = /^vllm\/envs\.py:/;
/** The variable, in what was raised or in the code that reads it. */
const VARIABLE = /\b(VLLM_\w+)\b/;
/** What Kubernetes and Docker's links set for each service: where it listens. */
const SERVICE_ADDRESS = /'((?:tcp|udp|sctp):\/\/[^']{1,200})'/;
const LEVEL = /Unknown level: '?([^']{1,40})/;
const SECONDS = /_(?:S|SECONDS)$/;

/** A variable of vLLM whose value can't be read, and what to write. */
function refusedVariable(raised: LastWord) {
  const { said, at = "", first = "" } = raised;
  if (READS_VARIABLES.test(at)) {
    const variable = (VARIABLE.exec(said) ?? VARIABLE.exec(at))?.[1];
    const isNumber = /invalid literal for int|could not convert string to float/.test(said);
    const unit = variable !== undefined && SECONDS.test(variable) ? "of seconds, such as 600" : "";
    return { variable, write: isNumber ? `a plain number ${unit}`.trim() : "one that it takes" };
  }
  const isLevel = /^vllm\/logger\.py:/.test(at) && (LEVEL.test(said) || LEVEL.test(first));
  return isLevel
    ? { variable: "VLLM_LOGGING_LEVEL", write: "DEBUG, INFO, WARNING or ERROR" }
    : undefined;
}

/** A service called `vllm` whose address stands where vLLM looks for a variable of its own. */
const serviceCalledVllm = (variable: string, address: string, container: string) => ({
  cause: `${variable} is the address of a service (${address}): Kubernetes, and Docker's links, set such variables for a service that is called \`vllm\`, and vLLM takes it for its own.`,
  advice: `No setting to change: give the service another name than \`vllm\`, or write \`enableServiceLinks: false\` in the pod's \`spec\`; with Docker leave out \`--link\` (\`links\` of compose). Or take it away at the start: \`env -u ${variable} vllm serve ...\`.`,
  command: `kubectl get services; docker inspect ${container} | grep ${variable}`,
});

function variableRefused(picture: Picture, log: LogReading): Explanation | undefined {
  const raised = endOf(picture, log);
  const { variable, write } = (raised && refusedVariable(raised)) ?? {};
  if (raised === undefined || variable === undefined) return undefined;
  const server = serverOf(picture, log);
  const { said, first = "", line: evidence } = raised;
  const address = SERVICE_ADDRESS.exec(said)?.[1];
  const why = first === "" ? said : first;
  const words =
    address === undefined
      ? {
          cause: `vLLM can't read the value of ${variable}: ${clause(why)}.`,
          edits: [server.set(["environment", variable], undefined)],
          advice: `${variable} needs ${write}: write that below \`environment\`, or leave the variable out.`,
        }
      : serviceCalledVllm(variable, address, server.container);
  return {
    ...words,
    evidence,
    target: log.container,
    hit: sightingOf(raised, log),
    failsStart: true,
  };
}

export const environment: readonly (Row | WeighingRule)[] = [
  { id: "variable-refused", explain: ofSomeLog(variableRefused) },
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
