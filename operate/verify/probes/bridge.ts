import { refusalText } from "../api";
import { MESSAGES, userTurn } from "../claudeCodeBody";
import { objectOr, objectsIn, parseJson, textOr } from "../json";
import { messagesAnswer, messagesAnswerOf } from "../messagesAnswer";
import { fail, pass } from "../probe";
import { freshCode } from "../prompts";
import { quote } from "../quote";
import type { BridgeTarget } from "../targets";
import { READ_FILE, RUN_COMMAND, TOOL_REQUEST } from "../tools";
import { type BridgeProbe, bodyFor, upstreamFix } from "./bridgeRequest";
import { bridgeRouting } from "./bridgeRouting";
import { used } from "./messages";

const ENTRIES_FIX =
  "model_list of bridge-config is not as planned, or the bridge was started before it was written: npm run up, or restart the bridge.";

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
