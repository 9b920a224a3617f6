import { refusalText } from "../api";
import { claudeCodeBody, MESSAGES, type MessagesShape, userTurn } from "../claudeCodeBody";
import type { Answer } from "../http";
import { type JsonObject, parseJson } from "../json";
import { messagesAnswer, messagesAnswerOf } from "../messagesAnswer";
import { type Metrics, readMetrics } from "../metrics";
import { fail, type Probe, pass } from "../probe";
import { answerTokens, freshCode } from "../prompts";
import { quote } from "../quote";
import type { BridgeTarget } from "../targets";
import { READ_FILE, RUN_COMMAND, TOOL_REQUEST } from "../tools";
import { used } from "./messages";

type BridgeProbe = Probe<BridgeTarget>;

const PREFIX_FIX =
  "The bridge's entries must begin with `hosted_vllm/`, as the plan renders them: bring bridge-config back to the plan (npm run up).";

const upstreamFix = ({ server }: BridgeTarget) =>
  `See whether ${server?.name ?? "the server behind it"} answers (probe chat), then docker logs of the bridge.`;

/** Window to reckon with where the server behind the bridge is none of ours. */
const UNKNOWN_WINDOW = 32_768;

/** A request as a client sends it through the bridge, with room for a model that thinks first. */
function bodyFor({ model, server }: BridgeTarget, more: Partial<MessagesShape> = {}): JsonObject {
  return claudeCodeBody({
    model,
    maxTokens: answerTokens(server?.maxModelLen ?? UNKNOWN_WINDOW, true),
    ...more,
  });
}

const bridgeHealth: BridgeProbe = {
  name: "bridge-health",
  about: "the bridge lives",
  fix: ({ name }) => `See docker logs ${name}; without a master key it refuses to start.`,
  run: async ({ api, name }) => {
    const answer = await api.get("/health/liveliness");
    const alive = answer.status === 200 && parseJson(answer.text) === "I'm alive!";
    return alive
      ? pass("alive")
      : fail(
          `/health/liveliness answered ${answer.status}: ${refusalText(answer)}`,
          `What answers there is no LiteLLM proxy, or not yet: see docker logs ${name}.`,
        );
  },
};

const bridgeMessages: BridgeProbe = {
  name: "bridge-messages",
  about: "/v1/messages through the bridge answers with text",
  fix: upstreamFix,
  run: async (target) => {
    const answer = messagesAnswer(await target.api.json(MESSAGES, bodyFor(target)));
    return answer.text.trim() === ""
      ? fail(`no text (stop_reason ${quote(answer.stopReason)})`, upstreamFix(target))
      : pass(`\`${quote(answer.text)}\``);
  },
};

/** A conversation as it is in the second turn of an agent: this is where the generic prefix breaks. */
const SECOND_TURN: readonly JsonObject[] = [
  userTurn("What is in /etc/hostname?"),
  {
    role: "assistant",
    content: [
      { type: "text", text: "I read it." },
      { type: "tool_use", id: "toolu_verify", name: READ_FILE.name, input: { path: "/etc/hostname" } },
    ],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_verify", content: "spark-1" }] },
];

/** Header of the requests that a server got on /v1/responses, where its metrics count by path. */
const RESPONSES_PATH = "/v1/responses";

const bridgeRouting: BridgeProbe = {
  name: "bridge-routing",
  about: "a second turn with a tool's result goes to chat completions, not to /v1/responses",
  fix: () => PREFIX_FIX,
  run: async (target) => {
    const before = await responsesRequests(target);
    const answer = await target.api.post(
      MESSAGES,
      bodyFor(target, { tools: [READ_FILE, RUN_COMMAND], messages: SECOND_TURN }),
    );
    if (answer.status !== 200) {
      return fail(
        isDetour(answer)
          ? `${answer.status} with the validation errors of /v1/responses: ${refusalText(answer)}`
          : `a second turn was answered with ${answer.status}: ${refusalText(answer)}`,
        isDetour(answer) ? PREFIX_FIX : upstreamFix(target),
      );
    }
    const count = await target.api.post(`${MESSAGES}/count_tokens`, {
      model: target.model,
      messages: SECOND_TURN,
    });
    if (count.status === 404) {
      return fail(
        `count_tokens is answered with 404, as it is for entries that LiteLLM routes to ${RESPONSES_PATH}`,
        PREFIX_FIX,
      );
    }
    const after = await responsesRequests(target);
    if (before !== undefined && after !== undefined && after > before) {
      return fail(`the server behind it got ${after - before} requests on ${RESPONSES_PATH}`, PREFIX_FIX);
    }
    return pass(
      before === undefined || after === undefined
        ? "answered without a validation error"
        : `answered; nothing went to ${RESPONSES_PATH}`,
    );
  },
};

/** The marks of a request that was sent on in the wrong shape. */
function isDetour(answer: Answer): boolean {
  return /\d+ validation errors?|input_text|ResponseInput/.test(answer.text);
}

async function responsesRequests({ server }: BridgeTarget): Promise<number | undefined> {
  if (server === undefined || server.unreachable !== undefined) return undefined;
  const metrics: Metrics | undefined = await readMetrics(server.api).catch(() => undefined);
  return metrics?.sumWhere("http_requests_total", "handler", RESPONSES_PATH);
}

const bridgeTools: BridgeProbe = {
  name: "bridge-tools",
  about: "a tool through the bridge: a tool_use block",
  fix: upstreamFix,
  run: async (target) =>
    used(messagesAnswer(await target.api.json(MESSAGES, toolBody(target))), settings(target)),
};

const bridgeToolsStream: BridgeProbe = {
  name: "bridge-tools-stream",
  about: "the same streamed",
  fix: upstreamFix,
  run: async (target) =>
    used(messagesAnswerOf(await target.api.stream(MESSAGES, toolBody(target))), settings(target)),
};

const toolBody = (target: BridgeTarget) =>
  bodyFor(target, { tools: [READ_FILE, RUN_COMMAND], messages: [userTurn(TOOL_REQUEST)] });

const settings = ({ server }: BridgeTarget) => ({
  setting: server?.setting ?? ((key: string) => `inferenceServers.*.${key}`),
});

const bridgeSystem: BridgeProbe = {
  name: "bridge-system",
  about: "the text of a system element behind the user turn reaches the model",
  fix: ({ name }) =>
    `The adapter of this LiteLLM drops it: pin another version for ${name} (\`bridge.image\`; 1.106 and 1.109 keep it).`,
  run: async (target) => {
    const code = freshCode();
    const body = bodyFor(target, {
      messages: [
        userTurn("Which code were you given? Answer with the code."),
        { role: "system", content: `The code is ${code}.` },
      ],
    });
    const { text } = messagesAnswer(await target.api.json(MESSAGES, body));
    return text.includes(code)
      ? pass("the model knew what stood there")
      : fail(`the model did not know what stood there; it said \`${quote(text)}\``, bridgeSystem.fix(target));
  },
};

const bridgeUnknownTier: BridgeProbe = {
  name: "bridge-unknown-tier",
  about: "a model that nobody declared is refused with a message",
  fix: () => "See model_list of bridge-config: one of its patterns takes any name.",
  run: async (target) => {
    const answer = await target.api.post(MESSAGES, bodyFor(target, { model: "no-such-model" }));
    const said = refusalText(answer);
    // LiteLLM answers 400 where vLLM answers 404.
    return [400, 404].includes(answer.status) && said.includes("no-such-model")
      ? pass(`${answer.status}: ${said}`)
      : fail(
          `asked for \`no-such-model\` it answered ${answer.status}: ${said}`,
          bridgeUnknownTier.fix(target),
        );
  },
};

const bridgeTiers: BridgeProbe = {
  name: "bridge-tiers",
  about: "every model that the messages-style client is pinned to is answered",
  skip: ({ tiers }) => (tiers.length > 0 ? undefined : "no messages-style client is declared"),
  fix: () => "The names are in clients.claudeCode; the bridge answers to those of its servers.",
  run: async (target) => {
    const refused: string[] = [];
    for (const model of target.tiers) {
      const answer = await target.api.post(MESSAGES, bodyFor(target, { model, maxTokens: 16 }));
      if (answer.status !== 200)
        refused.push(`\`${quote(model)}\` (${answer.status}: ${refusalText(answer)})`);
    }
    return refused.length === 0
      ? pass(target.tiers.map(quote).join(", "))
      : fail(`refused: ${refused.join(", ")}`, bridgeTiers.fix(target));
  },
};

export const bridgeProbes: readonly BridgeProbe[] = [
  bridgeHealth,
  bridgeMessages,
  bridgeRouting,
  bridgeTools,
  bridgeToolsStream,
  bridgeSystem,
  bridgeUnknownTier,
  bridgeTiers,
];
