import { ok, type RouteTable } from "../exchange";

/** The routes that say what is served. */
export const models: RouteTable = {
  "GET /health": () => ({ status: 200, text: "" }),
  "GET /version": ({ server }) => ok({ version: server.version }),
  "GET /v1/models": ({ server: { args } }) =>
    ok({
      object: "list",
      data: args.servedNames.map((id) => ({
        id,
        object: "model",
        created: 1_780_000_000,
        owned_by: "vllm",
        root: args.model,
        parent: null,
        max_model_len: args.maxModelLen,
        permission: [],
      })),
    }),
};
