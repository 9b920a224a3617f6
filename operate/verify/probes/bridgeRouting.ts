import { refusalText } from "../api";
import { MESSAGES, userTurn } from "../claudeCodeBody";
import type { Answer } from "../http";
import { type JsonObject, objectOr, parseJson, textOr } from "../json";
import { type Metrics, readMetrics } from "../metrics";
import { fail, pass } from "../probe";
import type { BridgeTarget } from "../targets";
import { READ_FILE, RUN_COMMAND } from "../tools";
import { type BridgeProbe, bodyFor, upstreamFix } from "./bridgeRequest";

const PREFIX_FIX =
  "The bridge's entries must begin with `hosted_vllm/`, as the plan renders them: bring bridge-config back to the plan (npm run up).";

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

/** Whether the bridge goes the way that the plan renders. The generic prefix goes another, and breaks in a second turn. */
export const bridgeRouting: BridgeProbe = {
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
  return /\d{1,9} validation errors?|input_text|ResponseInput/.test(answer.text);
}

async function responsesRequests({ server }: BridgeTarget): Promise<number | undefined> {
  if (server === undefined || server.unreachable !== undefined) return undefined;
  const metrics: Metrics | undefined = await readMetrics(server.api).catch(() => undefined);
  return metrics?.sumWhere("http_requests_total", "handler", RESPONSES_PATH);
}
