import { RefusedRequest } from "../errors";
import {
  type Exchange,
  isObject,
  type JsonObject,
  objects,
  ok,
  type Reply,
  type Route,
  type RouteTable,
} from "../exchange";
import { answered, streamed, xmlCall } from "./callAsText";

const MESSAGES = "POST /v1/messages";
const COUNT = "POST /v1/messages/count_tokens";

const changed = (change: (healthy: Route, exchange: Exchange) => Reply) => (table: RouteTable) => {
  const healthy: Route = (exchange) => table[MESSAGES]?.(exchange) ?? ok({});
  return { [MESSAGES]: (exchange: Exchange) => change(healthy, exchange) };
};

const endsWithSystem = (body: JsonObject) => objects(body.messages).at(-1)?.role === "system";

/**
 * A tool_use answer as an affected build gives it: end_turn, the call as pseudo-XML in a text
 * block.
 */
function asText(reply: Reply): Reply {
  const body = answered(reply);
  const call = body && objects(body.content).find((block) => block.type === "tool_use");
  if (body === undefined || call === undefined) return reply;
  const text = `I'll read that file.\n\n${xmlCall(String(call.name), isObject(call.input) ? call.input : {})}`;
  return ok({ ...body, stop_reason: "end_turn", content: [{ type: "text", text }] });
}

export const messagesFaults = {
  /** 200, end_turn, the tool call as pseudo-XML: only behind a system element. */
  "end-turn-pseudo-xml": changed((healthy, exchange) =>
    endsWithSystem(exchange.body) ? asText(healthy(exchange)) : healthy(exchange),
  ),
  /** Up to vLLM 0.22, and for templates that want the system text first. */
  "refuses-system-turn": changed((healthy, exchange) => {
    if (endsWithSystem(exchange.body)) {
      throw new RefusedRequest(400, "BadRequestError", "System message must be at the beginning.");
    }
    return healthy(exchange);
  }),
  /**
   * vLLM 0.26 and 0.30 without a chat template of their own: the element joins the system text that
   * leads the prompt.
   */
  "merges-system-turns": changed((healthy, exchange) => {
    const { body } = exchange;
    const [system, others] = [true, false].map((is) =>
      objects(body.messages).filter(({ role }) => (role === "system") === is),
    );
    const leading = [...(system ?? []).flatMap(({ content }) => content), ...[body.system].flat()];
    return healthy({ ...exchange, body: { ...body, system: leading, messages: others ?? [] } });
  }),
  /** Fails in one run of three at the default temperature, and never at 0. */
  "now-and-then-pseudo-xml": (table: RouteTable) => {
    let runs = 0;
    return changed((healthy, exchange) => {
      const drawn = endsWithSystem(exchange.body) && exchange.body.temperature === undefined;
      if (drawn) runs += 1;
      return drawn && runs % 3 === 0 ? asText(healthy(exchange)) : healthy(exchange);
    })(table);
  },
  "messages-tools-as-text": changed((healthy, exchange) =>
    endsWithSystem(exchange.body) ? healthy(exchange) : asText(healthy(exchange)),
  ),
  /** All of the output went into thoughts. */
  "messages-without-text": changed((healthy, exchange) => {
    const reply = healthy(exchange);
    const body = answered(reply);
    const greeting = exchange.body.tools === undefined && exchange.body.model !== undefined;
    return body === undefined || !greeting
      ? reply
      : ok({
          ...body,
          stop_reason: "max_tokens",
          usage: { input_tokens: 1, output_tokens: exchange.body.max_tokens },
          content: [{ type: "thinking", thinking: "Let me", signature: "" }],
        });
  }),
  "messages-stream-cut": changed((healthy, exchange) => {
    const reply = healthy(exchange);
    const events = streamed(reply);
    return events === undefined ? reply : { status: 200, stream: events.slice(0, -1) };
  }),
  "echoes-alias": changed((healthy, exchange) => {
    const reply = healthy(exchange);
    const body = answered(reply);
    return body === undefined ? reply : ok({ ...body, model: exchange.body.model });
  }),
  /** A proxy in front that takes any name. */
  "answers-any-model": changed((healthy, exchange) =>
    healthy({ ...exchange, body: { ...exchange.body, model: undefined } }),
  ),
  "no-count-tokens": (): RouteTable => ({
    [COUNT]: () => ({ status: 404, json: { detail: "Not Found" } }),
  }),
  "counts-nothing": (): RouteTable => ({ [COUNT]: () => ok({ input_tokens: 0 }) }),
};
