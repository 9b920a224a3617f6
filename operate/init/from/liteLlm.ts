import type { PublishedKind } from "./kind";

export const liteLlm: PublishedKind = {
  kind: "LiteLLM's configuration",
  looksLike: ({ keys }) => keys.has("model_list") || keys.has("litellm_settings"),
  servers: () => ({
    servers: [],
    none: "It starts no server: LiteLLM passes requests on. The `bridge` of a stack file is a LiteLLM whose configuration this program writes, by the servers beside it. Give what starts the vLLM behind it.",
  }),
};
