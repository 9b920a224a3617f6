import {
  chatProbe,
  type ProbeCause,
  type ProviderVerdict,
} from "@local-serving/harness/providers/chatProbe";
import { healthcheckProbe, PROBE_TIMEOUT_SEC } from "@local-serving/harness/providers/probe";
import { Api } from "../../sees/api";
import { fail, pass, skip, type Verdict } from "../probe";
import type { ProbesOf, ProviderTarget } from "../target";
import { ollamaHas } from "./ollama";

const FAULTY = "its table has faults (see harness-profile)";

const byHealthcheckAlone = (type: string) =>
  `a provider of type ${type} is asked by its healthcheck alone`;

export const harnessProviderProbes: ProbesOf<"harness-provider"> = [
  {
    name: "harness-healthcheck",
    about: "the provider's healthcheck, run as the harness runs it",
    skip: ({ asked: { provider } }) => (provider === undefined ? FAULTY : undefined),
    fix: (target) => fixOf(target, "healthcheck-failed", ""),
    run: async (target) => {
      const { host, asked, timeoutSeconds } = target;
      const limit = Math.min(PROBE_TIMEOUT_SEC, timeoutSeconds);
      return verdictOf(target, await healthcheckProbe(asked.name, asked.command, host.env, limit));
    },
  },
  {
    name: "harness-chat",
    about:
      "a tiny request to an openai-compatible provider, with both switches against hidden reasoning",
    skip: ({ asked: { provider } }) => {
      if (provider === undefined) return FAULTY;
      if (provider.type === "openai-compatible") return undefined;
      return provider.type === "ollama"
        ? "harness-model looks for its model instead: no model of Ollama is loaded for this"
        : byHealthcheckAlone(provider.type);
    },
    fix: (target) => fixOf(target, "no-connection", ""),
    run: async (target) => {
      const { host, asked, timeoutSeconds } = target;
      if (asked.provider === undefined) return skip(FAULTY);
      return verdictOf(
        target,
        await chatProbe(asked.name, asked.provider, host.env, timeoutSeconds),
      );
    },
  },
  {
    // Ollama's healthcheck passes without the model.
    name: "harness-model",
    about: "an ollama provider has its model",
    skip: ({ asked: { provider } }) => {
      if (provider === undefined) return FAULTY;
      if (provider.type === "openai-compatible") return "harness-chat asks for its model";
      if (provider.type !== "ollama") return byHealthcheckAlone(provider.type);
      return provider.model ? undefined : "it names no model";
    },
    fix: (target) => fixOf(target, "no-connection", ""),
    run: async (target) => {
      const { asked, timeoutSeconds } = target;
      const { host = "", model = "" } = asked.provider ?? {};
      return (await ollamaHas(new Api(`http://${host}`, timeoutSeconds), model))
        ? pass(model)
        : fail(`${host} has no model ${model}`, fixOf(target, "not-found", ""));
    },
  },
];

function verdictOf(
  target: ProviderTarget,
  { status, detail, fix, cause }: ProviderVerdict,
): Verdict {
  return { status, detail, fix: cause === undefined ? "" : fixOf(target, cause, fix) };
}

/**
 * What to set in the stack file; for a provider that is not ours, the advice of the profile's own
 * check.
 */
function fixOf({ machine, host, asked }: ProviderTarget, cause: ProbeCause, own: string): string {
  const at = `machines.${machine.name}`;
  const variable = asked.provider?.api_key_env;
  const keyless = variable !== undefined && (host.env[variable] ?? "") === "";
  if (keyless && (cause === "healthcheck-failed" || cause === "no-key"))
    return `Export ${variable} with any text where non-interactive shells see it (a line in /etc/environment), or set \`${at}.harness.apiKeyVariable: none\`.`;
  if (asked.provider?.type === "ollama" && machine.simpleServer.mode === "host") {
    const { unit } = machine.simpleServer;
    return cause === "not-found"
      ? `Run \`ollama pull ${asked.provider.model}\`, or list it in \`${at}.simpleServer.models\` with \`pull: true\`; \`${at}.harness.ollamaModel\` names another.`
      : `See \`systemctl status ${unit}\`; \`${at}.simpleServer.listen\` and \`port\` say where it is.`;
  }
  const server = machine.inferenceServers.find(({ key }) => `local-${key}` === asked.name);
  if (server === undefined)
    return own || `Correct it where it is declared: ${machine.harness?.providers}.`;
  const of = `${at}.inferenceServers.${server.key}`;
  return OF_A_SERVER[cause](of, server.container.name, variable ?? "");
}

type ServerFix = (of: string, container: string, variable: string) => string;

const whereFix: ServerFix = (of, container) =>
  `Is ${container} up (\`serving status --wait\`)? The harness looks for it at \`${of}.port\` and \`${of}.listen\`.`;

/** What to set for an inference server, by the cause of the failure. */
const OF_A_SERVER: Readonly<Record<ProbeCause, ServerFix>> = {
  "healthcheck-failed": whereFix,
  "no-bash": () => "The harness runs healthchecks with bash: install it.",
  "no-key": (_, __, variable) => `Export ${variable} with any text.`,
  "key-refused": (of, _, variable) =>
    `The server asks for its own key: take \`--api-key\` out of \`${of}.extraArgs\`, or export ${variable} with that key.`,
  "not-found": (of) =>
    `The harness asks for \`${of}.servedModelName\`: \`serving up\` brings server and profile to the same name.`,
  "request-refused": (of, container) =>
    `See docker logs ${container}: \`${of}.model.kind\` must be chat, and \`${of}.chatTemplate\` one that takes a plain request.`,
  "server-error": (_, container) => `See serving doctor, or docker logs ${container}.`,
  "no-message": (of) => `Another program answers at \`${of}.port\`: \`ss -lntp\` shows which.`,
  "no-connection": whereFix,
  timeout: (_, container) =>
    `Is ${container} still loading (\`serving status --wait\`)? --timeout gives it longer.`,
};
