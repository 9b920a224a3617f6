import { RefusedRequest } from "../errors";
import { ok, type Route, type RouteTable } from "../exchange";

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
