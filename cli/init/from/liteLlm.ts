import { defined } from "@local-serving/base/faults/defined";
import { objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { asWritten, type LeftOut } from "../command/words";
import type { PublishedKind } from "./kind";
import { type Keys, unreadIn } from "./unread";

export const liteLlm: PublishedKind = {
  kind: "LiteLLM's configuration",
  looksLike: ({ keys }) => keys.has("model_list") || keys.has("litellm_settings"),
  servers(source) {
    const [file = {}] = source.documents();
    const models = objectsIn(file.model_list).map(
      ({ model_name: name, litellm_params: params }, at) =>
        [
          textOr(name) || textOr(objectOr(params).model),
          source.lineAt(["model_list", at]),
        ] as const,
    );
    // One name may have several servers: the first line tells.
    const lines = new Map([...models].reverse());
    return {
      servers: [],
      leftOut: [
        ...[...new Set(models.map(([name]) => name))].flatMap((name) =>
          name === "" ? [] : [passedOn(name, lines.get(name))],
        ),
        ...unreadIn(file, OF_FILE, { named: (key) => `\`${key}\``, lineAt: source.lineAt }),
      ],
      none: "It starts no server: LiteLLM passes requests on. The `bridge` of a stack file is a LiteLLM whose configuration this program writes, by the servers beside it. Give what starts the vLLM behind it.",
    };
  },
};

const passedOn = (name: string, line: number | undefined): LeftOut => ({
  what: `\`${asWritten(name)}\``,
  why: "it names a model that another server serves.",
  ...defined({ line }),
});

const OF_BRIDGE = "the bridge's configuration is written by the stack file alone.";

/** What becomes of the keys beside the models. */
const OF_FILE: Keys = { model_list: true, "*": () => OF_BRIDGE };
