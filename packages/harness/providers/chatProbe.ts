import { defined } from "@local-serving/base/faults/defined";
import { isRecord, jsonIn, objectOr, objectsIn } from "@local-serving/base/faults/json";
import { ask as askServer, type HttpAnswer, NoAnswer } from "@local-serving/base/http/ask";
import { type Usage, usageOf } from "./cost";
import type { Provider } from "./schema";

/** What to do about each cause of a failed chat request. */
const FIXES = {
  "no-key":
    "Export it where non-interactive shells see it; a server that ignores keys takes any text.",
  "key-refused": "Check `api_key_env` and its value.",
  "not-found": "Check `model` against `/v1/models`, and that `base_url` ends in `/v1`.",
  "request-refused":
    "Check `model` and `max_tokens` against the server's log: the prompt and max_tokens must fit its context.",
  "server-error": "See the server's log.",
  "no-message": "Is `base_url` a chat-completions API?",
  "no-connection": "Check that the server runs and that `base_url` names its host and port.",
  timeout: "Is the model still loading? Ask again once the server answers `/v1/models`.",
} as const;

/** Cause of a failed probe, for callers that can give a better fix. */
export type ProbeCause = keyof typeof FIXES | "healthcheck-failed" | "no-bash";

/**
 * What a probe of a provider found. `detail` and `fix` never hold a key, a command or a server's
 * own words.
 */
export interface ProviderVerdict {
  readonly name: string;
  readonly status: "pass" | "fail" | "skip";
  readonly detail: string;
  /** What to do about it; empty when there is nothing to do. */
  readonly fix: string;
  readonly cause?: ProbeCause;
  /** Tokens of the probe's request, if the server reported them. */
  readonly usage?: Usage;
}

/** Tokens of the answer: enough to see one, few enough to cost nothing. */
const PROBE_TOKENS = 16;

/**
 * Sends one tiny chat request to an openai-compatible provider, with both switches that turn hidden
 * reasoning off.
 */
export async function chatProbe(
  name: string,
  provider: Provider,
  env: NodeJS.ProcessEnv,
  timeoutSec: number,
): Promise<ProviderVerdict> {
  const about = { name: `${name}: chat request`, fix: "" };
  const failure = ({ cause, detail }: Failure): ProviderVerdict => {
    return { ...about, status: "fail", detail, fix: FIXES[cause], cause };
  };
  if (!provider.base_url || !provider.model)
    return {
      ...about,
      status: "skip",
      detail: "no base_url or no model",
      fix: "Set `base_url` and `model`.",
    };
  const key = provider.api_key_env === undefined ? undefined : env[provider.api_key_env];
  if (provider.api_key_env !== undefined && !key)
    return failure({ cause: "no-key", detail: `the variable ${provider.api_key_env} is not set` });
  const refused: (readonly ThinkingSwitch[])[] = [];
  let switches: readonly ThinkingSwitch[] | undefined = BOTH_SWITCHES;
  while (switches !== undefined) {
    const answer = await ask(provider, switches, key, timeoutSec);
    if ("cause" in answer) return failure(answer);
    if (answer.status !== 400) {
      const judged = judge(answer);
      if ("cause" in judged) return failure(judged);
      return {
        ...about,
        status: "pass",
        detail: `answered; ${acceptedSwitches(switches)}`,
        ...judged,
      };
    }
    refused.push(switches);
    switches = nextSwitches(refused, answer.text);
  }
  const detail =
    "the server answers 400, with and without the switches that turn hidden reasoning off";
  return failure({ cause: "request-refused", detail });
}

type Failure = { readonly cause: keyof typeof FIXES; readonly detail: string };

async function ask(
  provider: Provider,
  switches: readonly ThinkingSwitch[],
  key: string | undefined,
  timeoutSec: number,
): Promise<HttpAnswer | Failure> {
  const body = {
    model: provider.model,
    messages: [{ role: "user", content: "Answer with the word OK." }],
    max_tokens: Math.min(PROBE_TOKENS, provider.max_tokens),
    temperature: provider.temperature,
    ...Object.assign({}, ...switches.map((name) => SWITCH_FIELDS[name])),
  };
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  try {
    const url = `${provider.base_url}/chat/completions`;
    return await askServer(url, { body, headers, timeoutSeconds: timeoutSec });
  } catch (error) {
    return error instanceof NoAnswer && error.reason === "timeout"
      ? { cause: "timeout", detail: `no answer within ${timeoutSec} s` }
      : {
          cause: "no-connection",
          detail: `no connection: ${error instanceof NoAnswer ? error.message : "refused"}`,
        };
  }
}

function judge({ status, text }: HttpAnswer): Failure | { readonly usage?: Usage } {
  if (status === 401 || status === 403)
    return { cause: "key-refused", detail: `the server refuses the key (HTTP ${status})` };
  if (status === 404) return { cause: "not-found", detail: "HTTP 404" };
  if (status < 200 || status > 299) return { cause: "server-error", detail: `HTTP ${status}` };
  const body = objectOr(jsonIn(text));
  if (!isRecord(objectsIn(body.choices)[0]?.message))
    return { cause: "no-message", detail: "the answer holds no `choices[0].message`" };
  return defined({ usage: usageOf(body) });
}

function acceptedSwitches(switches: readonly ThinkingSwitch[]): string {
  const field = {
    chat_template: "chat_template_kwargs.enable_thinking",
    thinking: "thinking.type",
  };
  const dropped = BOTH_SWITCHES.filter((name) => !switches.includes(name)).map(
    (name) => field[name],
  );
  return dropped.length === 0
    ? "it takes both switches that turn hidden reasoning off"
    : `it answers 400 to ${dropped.join(" and ")}, and takes the request without`;
}

/** The two ways to turn hidden reasoning off that a request can carry. */
type ThinkingSwitch = "chat_template" | "thinking";

/** What each switch adds to a chat-completions request. */
export const SWITCH_FIELDS: Readonly<Record<ThinkingSwitch, Readonly<Record<string, unknown>>>> = {
  chat_template: { chat_template_kwargs: { enable_thinking: false } },
  thinking: { thinking: { type: "disabled" } },
};

/** Both switches: what is sent first. */
export const BOTH_SWITCHES: readonly ThinkingSwitch[] = ["chat_template", "thinking"];

/**
 * The switches of the request to send after a server has answered 400 to all of `refused`, or
 * `undefined` when even a request without any was refused. The switch that the server complains of
 * is left out first.
 */
export function nextSwitches(refused: readonly (readonly ThinkingSwitch[])[], complaint = "") {
  const ofTemplate = /chat_template|enable_thinking/.test(complaint);
  const ofThinking = /(?<![A-Za-z_])thinking(?![A-Za-z_])/.test(complaint);
  const singles: ThinkingSwitch[] = ["chat_template", "thinking"];
  if (ofTemplate && !ofThinking) singles.reverse();
  const order = [BOTH_SWITCHES, ...singles.map((only) => [only]), []];
  return order.find((switches) => !refused.some((tried) => tried.join() === switches.join()));
}
