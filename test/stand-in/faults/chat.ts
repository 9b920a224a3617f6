import { RefusedRequest } from "../errors";
import {
  isObject,
  type JsonObject,
  objects,
  ok,
  type Reply,
  type Route,
  type RouteTable,
} from "../exchange";
import { answered, chatCallAsXml, streamed, xmlCall } from "./callAsText";

const CHAT = "POST /v1/chat/completions";

const changed = (change: (reply: Reply, body: JsonObject) => Reply) => (healthy: RouteTable) => {
  const route: Route = (exchange) => change(healthy[CHAT]?.(exchange) ?? ok({}), exchange.body);
  return { [CHAT]: route };
};

function withMessage(body: JsonObject, message: JsonObject, finish_reason = "stop"): Reply {
  const choice = objects(body.choices)[0] ?? {};
  const before = isObject(choice.message) ? choice.message : {};
  return ok({
    ...body,
    choices: [{ ...choice, finish_reason, message: { ...before, ...message } }],
  });
}

export const chatFaults = {
  /** The wrong tool parser: the call stays in the text. */
  "xml-in-content": changed((reply) => {
    const body = answered(reply);
    const xml = body && chatCallAsXml(body);
    return body && xml ? withMessage(body, { content: xml, tool_calls: [] }) : reply;
  }),
  /** A reasoning parser on a model without a thinking mode: everything is taken for thoughts. */
  "xml-in-reasoning": changed((reply) => {
    const body = answered(reply);
    const xml = body && chatCallAsXml(body);
    return body && xml
      ? withMessage(body, { content: null, reasoning: xml, tool_calls: [] })
      : reply;
  }),
  "xml-in-stream": changed((reply) => {
    const events = streamed(reply);
    if (!events?.some((event) => JSON.stringify(event.data).includes('"tool_calls"'))) return reply;
    const stream = events.flatMap((event) => {
      const delta = isObject(event.data) ? objects(event.data.choices)[0]?.delta : undefined;
      const call = isObject(delta) ? objects(delta.tool_calls)[0]?.function : undefined;
      if (!isObject(call) || !isObject(event.data)) return [event];
      if (call.name === undefined) return [];
      const content = xmlCall(String(call.name), { path: "/etc/hostname" });
      return [
        {
          data: { ...event.data, choices: [{ index: 0, delta: { content }, finish_reason: null }] },
        },
      ];
    });
    return { status: 200, stream };
  }),
  "arguments-no-json": changed((reply) => {
    const body = answered(reply);
    return body && chatCallAsXml(body)
      ? withMessage(
          body,
          {
            tool_calls: [
              {
                id: "call_1",
                type: "function",
                function: { name: "read_file", arguments: '{"path": ' },
              },
            ],
          },
          "tool_calls",
        )
      : reply;
  }),
  "stream-without-done": changed((reply) => {
    const events = streamed(reply);
    return events === undefined ? reply : { status: 200, stream: events.slice(0, -1) };
  }),
  "stream-without-usage": changed((reply) => {
    const events = streamed(reply);
    return events === undefined
      ? reply
      : {
          status: 200,
          stream: events.filter((event) => !isObject(event.data) || !("usage" in event.data)),
        };
  }),
  /** A template that knows no `enable_thinking`. */
  "thinks-always": changed((reply, request) => {
    const body = answered(reply);
    const kwargs = isObject(request.chat_template_kwargs) ? request.chat_template_kwargs : {};
    return body && kwargs.enable_thinking === false && request.max_tokens === 4096
      ? withMessage(body, { reasoning: "Let me think." })
      : reply;
  }),
  /** Thoughts in the text, as a model's template writes them where no parser takes them out. */
  "think-tags-in-content": changed((reply, request) => {
    const body = answered(reply);
    const kwargs = isObject(request.chat_template_kwargs) ? request.chat_template_kwargs : {};
    return body && kwargs.enable_thinking === true && request.tools === undefined
      ? withMessage(body, { reasoning: null, content: "<think>\nLet me think.\n</think>\n\n9.9" })
      : reply;
  }),
  "calls-another-tool": changed((reply, request) => {
    const body = answered(reply);
    const tools = objects(request.tools);
    const call = { name: "run_command", arguments: '{"command":"cat /etc/hostname"}' };
    return body && tools.length > 2 && request.tool_choice === "auto"
      ? withMessage(
          body,
          { tool_calls: [{ id: "call_1", type: "function", function: call }] },
          "tool_calls",
        )
      : reply;
  }),
  "no-text-after-tool-result": changed((reply, request) => {
    const body = answered(reply);
    return body && objects(request.messages).at(-1)?.role === "tool"
      ? withMessage(body, { content: "" })
      : reply;
  }),
  /** A server in front that drops `response_format`. */
  "ignores-json": changed((reply, request) => {
    const body = answered(reply);
    return body && request.response_format !== undefined
      ? withMessage(body, { content: 'Sure! Here it is: {"ok": true}' })
      : reply;
  }),
  /** 200 with an error's body, as some proxies wrap a failure. */
  lying: changed((reply, request) =>
    objects(request.messages).length === 1 && request.tools === undefined && request.stream !== true
      ? ok({
          object: "error",
          message: "Internal server error",
          type: "InternalServerError",
          code: 500,
        })
      : reply,
  ),
  /** Refuses what is too long, and keeps to itself how long is too long. */
  "window-unnamed": (table: RouteTable): RouteTable => ({
    [CHAT]: (exchange) => {
      try {
        return table[CHAT]?.(exchange) ?? ok({});
      } catch (error) {
        if (!(error instanceof RefusedRequest) || error.status !== 400) throw error;
        throw new RefusedRequest(400, "BadRequestError", "Bad Request");
      }
    },
  }),
};
