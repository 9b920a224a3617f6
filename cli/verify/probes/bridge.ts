import {
  type JsonObject,
  jsonIn,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { ask } from "@local-serving/base/http/ask";
import { EVERY_ADDRESS, isHere } from "@local-serving/machines/address";
import { keyFault, newKey } from "../../../components/planned";
import { quote, quotedList } from "../../sees/answer";
import { answeredText, refusalText } from "../../sees/api";
import { readMetrics } from "../../sees/metrics";
import { fail, pass, type Verdict } from "../probe";
import { MESSAGES, userTurn } from "../surfaces/messages";
import { RESPONSES } from "../surfaces/responses";
import type { Question } from "../surfaces/surface";
import type { BridgeTarget, ProbesOf } from "../target";
import { AGENT_TOOLS, answerTokens, freshCode, READ_FILE, TOOL_REQUEST } from "../tools";
import { askOnTheNetwork } from "./asking";
import { judgeCall } from "./judging";
import { noReuse, reuseAsTheClient } from "./longPrompts";

type BridgeProbe = ProbesOf<"bridge">[number];

/** Where to look if the bridge answers, and the server behind it does not. */
const upstreamFix = ({ server, name }: BridgeTarget) =>
  `See whether ${server?.name ?? "the server behind it"} answers (probe chat), then docker logs ${name}: its api_base is the address as the bridge's container sees it.`;

/** Window to reckon with if the server behind the bridge is not one of ours. */
const UNKNOWN_WINDOW = 32_768;

/** A request as a client sends it through the bridge, with room for a model that thinks first. */
function bodyFor({ model, server }: BridgeTarget, more: Partial<Question> = {}): JsonObject {
  const maxTokens = answerTokens(server?.maxModelLen ?? UNKNOWN_WINDOW, true);
  return MESSAGES.ask({ model, maxTokens, ...more });
}

/**
 * Statuses of a refused key. A wrong one is 400 `No connected db.` in LiteLLM: without a database
 * it knows no other key.
 */
const KEY_REFUSED = [400, 401, 403];

const toolsThrough = (streamed: boolean): BridgeProbe => ({
  name: `bridge-tools${streamed ? "-stream" : ""}`,
  about: `a tool through the bridge: a tool_use block${streamed ? ", streamed too" : ""}`,
  fix: upstreamFix,
  run: async (target) => {
    const { api, server } = target;
    const body = bodyFor(target, { turns: TOOL_REQUEST, tools: AGENT_TOOLS });
    const answer = streamed
      ? MESSAGES.readStream(await api.stream(MESSAGES.path, body))
      : MESSAGES.read(await api.json(MESSAGES.path, body));
    const settings = server ?? { setting: (key: string) => `inferenceServers.*.${key}` };
    return judgeCall(MESSAGES, AGENT_TOOLS, answer, settings);
  },
});

export const bridgeProbes: readonly BridgeProbe[] = [
  {
    name: "bridge-health",
    about: "the bridge is alive",
    fix: ({ name }) => `See docker logs ${name}; without a master key it refuses to start.`,
    run: async ({ api, name }) => {
      const path = "/health/liveliness";
      const answer = await api.get(path);
      if (answer.status === 200 && jsonIn(answer.text) === "I'm alive!") return pass("alive");
      const fix = `The program that answers there is not a LiteLLM proxy, or not yet ready: see docker logs ${name}.`;
      return fail(answeredText(path, answer), fix);
    },
  },
  {
    name: "bridge-key",
    about: "its key is valid, and nothing is answered without it",
    skip: ({ keyVariable }) => (keyVariable === undefined ? "its key is a placeholder" : undefined),
    fix: ({ name }) =>
      `Something else answers on its port, or it has another configuration than planned: \`serving up\`, docker logs ${name}.`,
    run: async ({ api, host, machine, keyVariable = "" }) => {
      const fault = keyFault(host.env[keyVariable] ?? "");
      if (fault !== undefined) {
        const fix = `Give the bridge a new one: ${newKey(keyVariable)}, then \`serving up\`.`;
        return { ...fail(`${keyVariable} ${fault}`, fix), closes: "its key isn't valid" };
      }
      const { status } = await ask(`${api.baseUrl}/v1/models`, { timeoutSeconds: 10 });
      const answers = new Map<string, number | "other">([[api.baseUrl, status]]);
      if (isHere(machine) && machine.bridge?.address === EVERY_ADDRESS) {
        const { port } = machine.bridge;
        const seen = await askOnTheNetwork(host, port, "/v1/models");
        const silent = (await host.lanAddresses()).filter((address) => !seen.has(address));
        const fix =
          "It was started with another `bridge.listen` (`serving up`), or a firewall is in between.";
        if (silent.length > 0)
          return fail(
            `it is declared for the network, but does not answer on ${silent.join(", ")}`,
            fix,
          );
        for (const [address, answer] of seen) answers.set(address, answer);
      }
      const open = [...answers].filter(([, answer]) => answer === "other" || answer < 400);
      if (open.length > 0)
        return fail(`without a key it answers ${open.map((each) => each.join(": ")).join(", ")}`);
      return pass(`without the key it refuses requests: ${[...answers.keys()].join(", ")}`);
    },
  },
  {
    name: "bridge-models",
    about: "GET /v1/models of the bridge: it takes the key, and lists every declared name",
    fix: upstreamFix,
    run: async ({ api, keyVariable, name, names }) => {
      const answer = await api.get("/v1/models");
      if (KEY_REFUSED.includes(answer.status)) {
        const key = keyVariable === undefined ? "the placeholder key" : `the key in ${keyVariable}`;
        const fix =
          keyVariable === undefined
            ? `The bridge was started with another key than the plan's: \`serving up\`, or docker restart ${name}.`
            : `Export the key that the bridge was started with as ${keyVariable}; to give it a new one, \`serving up\` and docker restart ${name}.`;
        const refusal = fail(`it refuses ${key} (${answer.status}: ${refusalText(answer)})`, fix);
        return { ...refusal, closes: "the bridge refuses the key" };
      }
      const ids = objectsIn(objectOr(jsonIn(answer.text)).data).map((model) => textOr(model.id));
      if (answer.status !== 200 || ids.length === 0)
        return fail(answeredText("/v1/models", answer));
      const missing = names.filter((each) => !ids.includes(each));
      if (missing.length === 0) return pass(`${ids.length} names`);
      const fix =
        "model_list of bridge-config is not as planned, or the bridge was started before it was written: `serving up`, or restart the bridge.";
      return fail(`not there: ${quotedList(missing)}`, fix);
    },
  },
  {
    name: "bridge-messages",
    about: "/v1/messages through the bridge answers with text",
    fix: upstreamFix,
    run: async (target) => {
      const { text, shape } = MESSAGES.read(await target.api.json(MESSAGES.path, bodyFor(target)));
      return text.trim() === "" ? fail(`no text (${quote(shape)})`) : pass(`\`${quote(text)}\``);
    },
  },
  {
    name: "bridge-routing",
    about: "a second turn with a tool's result goes to chat completions, not to /v1/responses",
    fix: () => PREFIX_FIX,
    run: judgeRouting,
  },
  toolsThrough(false),
  toolsThrough(true),
  {
    name: "bridge-system",
    about: "the text of a system element behind the user turn reaches the model",
    fix: upstreamFix,
    run: async (target) => {
      const code = freshCode();
      const system = { role: "system", content: `The code is ${code}.` };
      const turns = [userTurn("Which code were you given? Answer with the code."), system];
      const { text } = MESSAGES.read(
        await target.api.json(MESSAGES.path, bodyFor(target, { turns })),
      );
      if (text.includes(code)) return pass("the text reached the model");
      const fix = `The adapter of this LiteLLM drops it: pin another version for ${target.name} (\`bridge.image\`; 1.103, 1.106 and 1.109 keep it).`;
      return fail(`the text did not reach the model; it said \`${quote(text)}\``, fix);
    },
  },
  {
    name: "bridge-prefix-reuse",
    about:
      "a second call with a new system element reuses the first one's prefix through the bridge (/metrics)",
    skip: ({ server }) => {
      if (server === undefined) return "the server behind it is not ours";
      return server.unreachable === undefined
        ? noReuse(server)
        : `${server.name}: ${server.unreachable}`;
    },
    fix: upstreamFix,
    run: async (target) => {
      const { reused, seen } = await reuseAsTheClient(
        (target.server ?? target).api,
        target.api,
        target,
      );
      if (reused) return pass(seen);
      const fix = `If prefix-reuse passes on the server itself, the adapter of this LiteLLM moves a new system element to the beginning: pin another version for ${target.name} (\`bridge.image\`; 1.103 leaves it where it stands).`;
      return fail(seen, fix);
    },
  },
  {
    name: "bridge-unknown-tier",
    about: "an undeclared model is refused with a message",
    fix: upstreamFix,
    run: async (target) => {
      const answer = await target.api.post(
        MESSAGES.path,
        bodyFor(target, { model: "no-such-model" }),
      );
      const said = refusalText(answer);
      // LiteLLM answers 400 where vLLM answers 404.
      if ([400, 404].includes(answer.status) && said.includes("no-such-model"))
        return pass(`${answer.status}: ${said}`);
      const fix =
        answer.status === 200
          ? "See model_list of bridge-config: one of its patterns takes any name."
          : undefined;
      return fail(`asked for \`no-such-model\` it answered ${answer.status}: ${said}`, fix);
    },
  },
  {
    name: "bridge-tiers",
    about: "every model that the messages-style client is pinned to is answered",
    skip: ({ tiers, stopped }) =>
      tiers.length > 0 ? undefined : (stopped ?? "no messages-style client is declared"),
    fix: () => "The names are in clients.claudeCode; the bridge answers to those of its servers.",
    run: async (target) => {
      const refused: string[] = [];
      for (const model of target.tiers) {
        const answer = await target.api.post(
          MESSAGES.path,
          bodyFor(target, { model, maxTokens: 16 }),
        );
        if (answer.status !== 200)
          refused.push(`\`${quote(model)}\` (${answer.status}: ${refusalText(answer)})`);
      }
      return refused.length === 0
        ? pass(quotedList(target.tiers))
        : fail(`refused: ${refused.join(", ")}`);
    },
  },
];

const PREFIX_FIX =
  "The bridge's entries must begin with `hosted_vllm/`, as the plan writes them: bring bridge-config back to the plan (`serving up`).";

/** An agent's second turn, in which the generic prefix breaks. */
const SECOND_TURN: readonly JsonObject[] = [
  userTurn("What is in /etc/hostname?"),
  {
    role: "assistant",
    content: [
      { type: "text", text: "I read it." },
      {
        type: "tool_use",
        id: "toolu_verify",
        name: READ_FILE.name,
        input: { path: "/etc/hostname" },
      },
    ],
  },
  {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_verify", content: "spark-1" }],
  },
];

/**
 * Beginning of the id of anything that came by /v1/responses: LiteLLM keeps it in a message (seen
 * in 1.103.0).
 */
const RESPONSE_ID = "resp_";

/**
 * Whether the bridge uses the planned way. The generic prefix uses another, which breaks in a
 * second turn.
 */
async function judgeRouting(target: BridgeTarget): Promise<Verdict> {
  const { api, model } = target;
  const before = await responsesRequests(target);
  const body = bodyFor(target, { tools: AGENT_TOOLS, turns: SECOND_TURN });
  const answer = await api.post(MESSAGES.path, body);
  if (answer.status !== 200) {
    // The marks of a request that was sent on in the wrong shape.
    return /\d{1,9} validation errors?|input_text|ResponseInput/.test(answer.text)
      ? fail(
          `${answer.status} with the validation errors of ${RESPONSES.path}: ${refusalText(answer)}`,
        )
      : fail(
          `a second turn was answered with ${answer.status}: ${refusalText(answer)}`,
          upstreamFix(target),
        );
  }
  if (textOr(objectOr(jsonIn(answer.text)).id).startsWith(RESPONSE_ID))
    return fail(`the answer's id begins with \`${RESPONSE_ID}\`: it came by ${RESPONSES.path}`);
  const count = await api.post(`${MESSAGES.path}/count_tokens`, { model, messages: SECOND_TURN });
  if (count.status === 404)
    return fail(
      `count_tokens is answered with 404, as for entries that LiteLLM routes to ${RESPONSES.path}`,
    );
  const after = await responsesRequests(target);
  if (before === undefined || after === undefined)
    return pass("answered without a validation error");
  if (after <= before) return pass(`answered; nothing went to ${RESPONSES.path}`);
  const seen = `the server behind it got ${after - before} requests on ${RESPONSES.path}, unless another client asked it meanwhile`;
  return fail(seen);
}

async function responsesRequests({ server }: BridgeTarget): Promise<number | undefined> {
  if (server === undefined || server.unreachable !== undefined) return undefined;
  const metrics = await readMetrics(server.api).catch(() => undefined);
  return metrics?.sum("http_requests_total", ({ handler }) => handler === RESPONSES.path);
}
