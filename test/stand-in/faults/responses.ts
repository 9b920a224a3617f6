import { RefusedRequest } from "../errors";
import {
  type Exchange,
  type JsonObject,
  objects,
  ok,
  type Reply,
  type Route,
  type RouteTable,
} from "../exchange";
import { answered, streamed, xmlCall } from "./callAsText";

const RESPONSES = "POST /v1/responses";

const changed = (change: (healthy: Route, exchange: Exchange) => Reply) => (table: RouteTable) => {
  const healthy: Route = (exchange) => table[RESPONSES]?.(exchange) ?? ok({});
  return { [RESPONSES]: (exchange: Exchange) => change(healthy, exchange) };
};

export const responsesFaults = {
  /** An older server, or one that is no vLLM. */
  "no-responses": changed(() => ({ status: 404, json: { detail: "Not Found" } })),
  "refuses-developer": changed((healthy, exchange) => {
    const turns = objects(exchange.body.input);
    if (exchange.body.tools === undefined && turns.some((turn) => turn.role === "developer")) {
      throw new RefusedRequest(400, "BadRequestError", "Unexpected message role.");
    }
    return healthy(exchange);
  }),
  "responses-stream-cut": changed((healthy, exchange) => {
    const reply = healthy(exchange);
    const events = streamed(reply);
    return events === undefined ? reply : { status: 200, stream: events.slice(0, -1) };
  }),
  "responses-call-as-text": changed((healthy, exchange) => {
    const reply = healthy(exchange);
    const body = answered(reply);
    const call = body && objects(body.output).find((item) => item.type === "function_call");
    if (body === undefined || call === undefined) return reply;
    const text = xmlCall(String(call.name), JSON.parse(String(call.arguments)) as JsonObject);
    return ok({
      ...body,
      output: [
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text, annotations: [] }],
        },
      ],
    });
  }),
  "responses-without-text": changed((healthy, exchange) => {
    const reply = healthy(exchange);
    const body = answered(reply);
    const plain = typeof exchange.body.input === "string";
    const usage = { input_tokens: 1, output_tokens: exchange.body.max_output_tokens };
    return body !== undefined && plain
      ? ok({ ...body, status: "incomplete", output: [], usage })
      : reply;
  }),
};
