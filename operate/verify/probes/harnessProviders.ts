import { faultLine } from "../../../faults/fault";
import type { ProbeCause, ProviderVerdict } from "../../../harness/providers/chatProbe";
import { chatProbe } from "../../../harness/providers/chatProbe";
import { healthcheckProbe, PROBE_TIMEOUT_SEC } from "../../../harness/providers/healthcheck";
import { Api } from "../api";
import type { HarnessTarget, ProviderTarget } from "../harnessTargets";
import { fail, type Probe, pass, skip, type Verdict } from "../probe";
import { ollamaHas } from "./ollama";

/** Faults of a profile that are said; the check has them all. */
const FAULTS_SAID = 3;

/** The profile is one that the harness reads as it is meant. */
export const harnessProfile: Probe<HarnessTarget> = {
  name: "harness-profile",
  about: "the harness's providers profile on the machine can be read, without faults",
  fix: ({ machine: { harness, name } }) =>
    `npm run up writes ${harness?.providers} from \`machines.${name}.harness\`; what was edited is kept beside it.`,
  run: async (target) => {
    const { profile } = target;
    if ("unreadable" in profile) return fail(profile.unreadable, harnessProfile.fix(target));
    const { verdict, providers } = profile.content;
    const errors = verdict.faults.filter(({ severity }) => severity === "error");
    if (errors.length > 0) {
      const said = errors.slice(0, FAULTS_SAID).map((fault) => faultLine(fault));
      const more = errors.length > FAULTS_SAID ? [`${errors.length - FAULTS_SAID} more`] : [];
      return fail([...said, ...more].join("; "), harnessProfile.fix(target));
    }
    return providers.length === 0
      ? fail("it names no provider", harnessProfile.fix(target))
      : pass(providers.map(({ name }) => name).join(", "));
  },
};

type ProviderProbe = Probe<ProviderTarget>;

const byHealthcheckAlone = (type: string) => `a provider of type ${type} is asked by its healthcheck alone`;

const FAULTY = "its table has faults (see harness-profile)";

const healthcheck: ProviderProbe = {
  name: "harness-healthcheck",
  about: "the provider's healthcheck, run as the harness runs it",
  skip: ({ asked: { provider } }) => (provider === undefined ? FAULTY : undefined),
  fix: (target) => fixOf(target, "healthcheck-failed", ""),
  run: async (target) => {
    const { host, asked, timeoutSeconds } = target;
    const limit = Math.min(PROBE_TIMEOUT_SEC, timeoutSeconds);
    return verdictOf(target, await healthcheckProbe(asked.name, asked.command, host.env, limit));
  },
};

const chat: ProviderProbe = {
  name: "harness-chat",
  about: "a tiny request to an openai-compatible provider, with both switches against hidden reasoning",
  skip: ({ asked: { provider } }) => {
    if (provider === undefined) return FAULTY;
    return provider.type === "openai-compatible"
      ? undefined
      : provider.type === "ollama"
        ? "harness-model looks for its model instead: no model of Ollama is loaded for this"
        : byHealthcheckAlone(provider.type);
  },
  fix: (target) => fixOf(target, "no-connection", ""),
  run: async (target) => {
    const { host, asked, timeoutSeconds } = target;
    if (asked.provider === undefined) return skip(FAULTY);
    return verdictOf(target, await chatProbe(asked.name, asked.provider, host.env, timeoutSeconds));
  },
};

/** A healthcheck of Ollama passes whatever models it has. */
const model: ProviderProbe = {
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
    const { host = "", model: name = "" } = asked.provider ?? {};
    return (await ollamaHas(new Api(`http://${host}`, timeoutSeconds), name))
      ? pass(name)
      : fail(`${host} has no model ${name}`, fixOf(target, "not-found", ""));
  },
};

export const harnessProviderProbes: readonly ProviderProbe[] = [healthcheck, chat, model];

function verdictOf(target: ProviderTarget, { status, detail, fix, cause }: ProviderVerdict): Verdict {
  return { status, detail, fix: cause === undefined ? "" : fixOf(target, cause, fix) };
}

/** What to set in the stack file; a provider that is none of ours gets what the profile's own check says. */
function fixOf({ machine, host, asked }: ProviderTarget, cause: ProbeCause, own: string): string {
  const at = `machines.${machine.name}`;
  const variable = asked.provider?.api_key_env;
  const keyless = variable !== undefined && (host.env[variable] ?? "") === "";
  if (keyless && (cause === "healthcheck-failed" || cause === "no-key")) {
    return `Export ${variable} with any text where shells that are not interactive see it (a line in /etc/environment), or set \`${at}.harness.apiKeyVariable: none\`.`;
  }
  if (asked.provider?.type === "ollama" && machine.simpleServer.mode === "host") {
    const { unit } = machine.simpleServer;
    return cause === "not-found"
      ? `ollama pull ${asked.provider.model}, or list it in \`${at}.simpleServer.models\` with \`pull: true\`; \`${at}.harness.ollamaModel\` names another.`
      : `See \`systemctl status ${unit}\`; \`${at}.simpleServer.listen\` and \`port\` say where it is.`;
  }
  const server = machine.inferenceServers.find(({ key }) => `local-${key}` === asked.name);
  if (server === undefined)
    return own === "" ? `Mend it where it is declared: ${machine.harness?.providers}.` : own;
  const of = `${at}.inferenceServers.${server.key}`;
  return OF_A_SERVER[cause](of, server.container.name, variable ?? "");
}

/** What to set for an inference server, by what stands behind the failure. */
const OF_A_SERVER: Readonly<Record<ProbeCause, (of: string, container: string, variable: string) => string>> =
  {
    "healthcheck-failed": (of, container) =>
      `Is ${container} up (serving wait)? \`${of}.port\` and \`${of}.listen\` say where the harness looks for it.`,
    "no-bash": () => "The harness runs healthchecks by bash: install it.",
    "no-key": (_, __, variable) => `Export ${variable} with any text.`,
    "key-refused": (of, _, variable) =>
      `The server asks for a key of its own: take \`--api-key\` out of \`${of}.extraArgs\`, or export ${variable} with that key.`,
    "not-found": (of) =>
      `\`${of}.servedModelName\` is what the harness asks for: npm run up brings server and profile to the same name.`,
    "request-refused": (of, container) =>
      `See docker logs ${container}: \`${of}.model.kind\` must be chat, and \`${of}.chatTemplate\` one that takes a plain request.`,
    "server-error": (_, container) => `serving doctor, or docker logs ${container}.`,
    "no-message": (of) => `Something else answers at \`${of}.port\`: \`ss -lntp\` shows what.`,
    "no-connection": (of, container) =>
      `Is ${container} up (serving wait)? \`${of}.port\` and \`${of}.listen\` say where the harness looks for it.`,
    timeout: (_, container) => `Is ${container} still loading (serving wait)? --timeout gives it longer.`,
  };
