import { refusalText } from "../api";
import { claudeCodeBody, MESSAGES, type MessagesShape, userTurn } from "../claudeCodeBody";
import type { Answer } from "../http";
import { type JsonObject, objectOr, objectsIn, parseJson, textOr } from "../json";
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

const ENTRIES_FIX =
  "model_list of bridge-config is not as planned, or the bridge was started before it was written: npm run up, or restart the bridge.";

const upstreamFix = ({ server, name }: BridgeTarget) =>
  `See whether ${server?.name ?? "the server behind it"} answers (probe chat), then docker logs ${name}: its api_base is the address as the bridge's container sees it.`;

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

/** Statuses of a refused key. A wrong one is 400 `No connected db.` in LiteLLM: without a database it knows no other key. */
const KEY_REFUSED = [400, 401, 403];

const bridgeModels: BridgeProbe = {
  name: "bridge-models",
  about: "GET /v1/models of the bridge: the key is taken, every declared name is there",
  fix: upstreamFix,
  run: async (target) => {
    const { api, keyVariable, names } = target;
    const answer = await api.get("/v1/models");
    if (KEY_REFUSED.includes(answer.status)) {
      const key = keyVariable === undefined ? "the placeholder key" : `the key in ${keyVariable}`;
      return {
        ...fail(`it refuses ${key} (${answer.status}: ${refusalText(answer)})`, keyFix(target)),
        closes: "the bridge refuses the key",
      };
    }
    const listed = parseJson(answer.text);
    const ids = objectsIn(objectOr(listed).data).map((model) => textOr(model.id));
    if (answer.status !== 200 || ids.length === 0) {
      return fail(`/v1/models answered ${answer.status}: ${refusalText(answer)}`, upstreamFix(target));
    }
    const missing = names.filter((name) => !ids.includes(name));
    return missing.length === 0
      ? pass(`${ids.length} names`)
      : fail(`not there: ${missing.map(quote).join(", ")}`, ENTRIES_FIX);
  },
};

function keyFix({ keyVariable, name }: BridgeTarget): string {
  return keyVariable === undefined
    ? `The bridge was started with another key than the plan's: npm run up, or docker restart ${name}.`
    : `Export the key that the bridge was started with as ${keyVariable}; to give it a new one, npm run up and docker restart ${name}.`;
}

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

const RESPONSES_PATH = "/v1/responses";

/** Beginning of the id of whatever came by /v1/responses: LiteLLM keeps it in a message (seen in 1.103.0). */
const RESPONSE_ID = "resp_";

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
    const id = textOr(objectOr(parseJson(answer.text)).id);
    if (id.startsWith(RESPONSE_ID)) {
      return fail(`the answer's id begins with \`${RESPONSE_ID}\`: it came by ${RESPONSES_PATH}`, PREFIX_FIX);
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
      return fail(
        `the server behind it got ${after - before} requests on ${RESPONSES_PATH}, unless another client asked it meanwhile`,
        PREFIX_FIX,
      );
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
  fix: upstreamFix,
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
      : fail(
          `the model did not know what stood there; it said \`${quote(text)}\``,
          `The adapter of this LiteLLM drops it: pin another version for ${target.name} (\`bridge.image\`; 1.103, 1.106 and 1.109 keep it).`,
        );
  },
};

const bridgeUnknownTier: BridgeProbe = {
  name: "bridge-unknown-tier",
  about: "a model that nobody declared is refused with a message",
  fix: upstreamFix,
  run: async (target) => {
    const answer = await target.api.post(MESSAGES, bodyFor(target, { model: "no-such-model" }));
    const said = refusalText(answer);
    // LiteLLM answers 400 where vLLM answers 404.
    return [400, 404].includes(answer.status) && said.includes("no-such-model")
      ? pass(`${answer.status}: ${said}`)
      : fail(
          `asked for \`no-such-model\` it answered ${answer.status}: ${said}`,
          answer.status === 200
            ? "See model_list of bridge-config: one of its patterns takes any name."
            : upstreamFix(target),
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
  bridgeModels,
  bridgeMessages,
  bridgeRouting,
  bridgeTools,
  bridgeToolsStream,
  bridgeSystem,
  bridgeUnknownTier,
  bridgeTiers,
];
