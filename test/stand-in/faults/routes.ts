import { RefusedRequest } from "../errors";
import { type Exchange, ok, type Route, type RouteTable } from "../exchange";

const CHAT = "POST /v1/chat/completions";

const isAdapter = ({ body, server }: Exchange): boolean =>
  typeof body.model === "string" && server.args.adapters.has(body.model);

const fails: Route = () => {
  throw new RefusedRequest(500, "InternalServerError", "EngineCore encountered an issue.");
};

export const routeFaults = {
  /** The HTTP server lives, the engine behind it has died. */
  "engine-dead": (): RouteTable => ({ "GET /health": () => ({ status: 503, text: "" }) }),
  "another-version": (): RouteTable => ({ "GET /version": () => ok({ version: "0.29.0" }) }),
  "version-below-floor": (): RouteTable => ({ "GET /version": () => ok({ version: "0.25.1" }) }),
  /** Every request that needs the engine fails. */
  "answers-500": (healthy: RouteTable): RouteTable =>
    Object.fromEntries(
      Object.keys(healthy)
        .filter((route) => route.startsWith("POST "))
        .map((route) => [route, fails]),
    ),
  /** It loaded an adapter as it started, and can't read it again. */
  "adapter-fails": (healthy: RouteTable): RouteTable => ({
    [CHAT]: (exchange) =>
      isAdapter(exchange) ? fails(exchange) : (healthy[CHAT]?.(exchange) ?? ok({})),
  }),
  /** A proxy in front that has every name answered by the model alone. */
  "adapter-left-out": (healthy: RouteTable): RouteTable => ({
    [CHAT]: (exchange) => {
      const { body } = exchange;
      const asked = isAdapter(exchange)
        ? { ...exchange, body: { ...body, model: undefined } }
        : exchange;
      return healthy[CHAT]?.(asked) ?? ok({});
    },
  }),
  /** A base model's server that generates nothing. */
  "completes-nothing": (): RouteTable => ({
    "POST /v1/completions": () =>
      ok({
        object: "text_completion",
        choices: [{ index: 0, text: "", finish_reason: "stop" }],
        usage: { completion_tokens: 0 },
      }),
  }),
};
