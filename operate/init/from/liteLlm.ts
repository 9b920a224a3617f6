import { objectOr, objectsIn, textOr } from "../../../faults/json";
import { asWritten, type LeftOut } from "../command/words";
import type { PublishedKind } from "./kind";

export const liteLlm: PublishedKind = {
  kind: "LiteLLM's configuration",
  looksLike: ({ keys }) => keys.has("model_list") || keys.has("litellm_settings"),
  servers(source) {
    const [file = {}] = source.documents();
    const names = objectsIn(file.model_list).map(
      ({ model_name: name, litellm_params: params }) =>
        textOr(name) || textOr(objectOr(params).model),
    );
    return {
      servers: [],
      leftOut: [...new Set(names)].flatMap((name) => (name === "" ? [] : [passedOn(name)])),
      none: "It starts no server: LiteLLM passes requests on. The `bridge` of a stack file is a LiteLLM whose configuration this program writes, by the servers beside it. Give what starts the vLLM behind it.",
    };
  },
};

const passedOn = (name: string): LeftOut => ({
  what: `\`${asWritten(name)}\``,
  why: "it names a model that another server serves.",
});
