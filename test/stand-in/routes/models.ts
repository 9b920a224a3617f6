import { nulls, ok, type RouteTable } from "../exchange";

const PERMISSION = {
  id: "modelperm-stand-in",
  object: "model_permission",
  created: 1_780_000_000,
  allow_create_engine: false,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: "*",
  ...nulls("group"),
  is_blocking: false,
};

/** An entry of /v1/models. */
const card = (id: string, more: object) => ({
  id,
  object: "model",
  created: 1_780_000_000,
  owned_by: "vllm",
  ...more,
  permission: [PERMISSION],
});

/** The routes that say what is served. */
export const models: RouteTable = {
  "GET /health": () => ({ status: 200, text: "" }),
  "GET /version": ({ server }) => ok({ version: server.version }),
  "GET /v1/models": ({ server: { args } }) =>
    ok({
      object: "list",
      data: [
        ...args.servedNames.map((id) =>
          card(id, { root: args.model, parent: null, max_model_len: args.maxModelLen }),
        ),
        ...[...args.adapters].map(([id, root]) =>
          card(id, { root, parent: args.servedNames[0], max_model_len: null }),
        ),
      ],
    }),
};
