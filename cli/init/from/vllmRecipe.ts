import { isRecord, type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import { asWritten, type LeftOut } from "../command/words";
import { alike } from "../notCarriedOver";
import { scalarText, scalarTexts } from "./container";
import type { PublishedKind } from "./kind";
import { type Keys, unreadIn } from "./unread";

/** A model's page of vllm-project/recipes: its model, arguments for all, and features with theirs. */
export const vllmRecipe: PublishedKind = {
  kind: "a recipe of vllm-project/recipes",
  looksLike: ({ keys, text }) => keys.has("model") && /^\s+["']?model_id["']?:/m.test(text),
  servers(source) {
    const [file = {}] = source.documents();
    const model = objectOr(file.model);
    const id = textOr(model.model_id);
    if (id === "") return { servers: [], none: "It names no `model_id`." };
    const asked = new Set(scalarTexts(file.opt_in_features));
    const features = Object.entries(objectOr(file.features));
    const words = [
      ...[id, ...scalarTexts(model.base_args)],
      ...features.flatMap(([name, each]) =>
        asked.has(name) ? [] : scalarTexts(objectOr(each).args),
      ),
    ];
    const variables = new Map(
      Object.entries(objectOr(model.base_env)).map(([name, value]) => [
        name,
        scalarText(value) ?? "",
      ]),
    );
    return {
      servers: [{ name: "its model", launch: () => ({ words, variables, leftOut: [] }) }],
      leftOut: [
        ...[...asked].map(featureLeftOut),
        ...variantsOf(file),
        ...unreadIn(file, OF_FILE, {
          named: (key) => `the recipe's \`${key}\``,
          lineAt: source.lineAt,
          otherwise: "it isn't what everybody gets who follows the recipe.",
        }),
      ],
    };
  },
};

/** What becomes of the keys beside the model. */
const OF_FILE: Keys = {
  ...alike(true, "model features opt_in_features variants", "meta guide recipe_version"),
};

const featureLeftOut = (name: string): LeftOut => ({
  what: `its feature \`${asWritten(name)}\``,
  why: "the recipe has it only for those who ask for it.",
});

/** Other weights of the same model. */
const variantsOf = ({ variants }: JsonObject): LeftOut[] =>
  Object.entries(objectOr(variants)).flatMap(([name, variant]) => {
    const id = isRecord(variant) ? textOr(variant.model_id) : "";
    if (id === "") return [];
    return [{ what: `its variant \`${asWritten(name)}\``, why: `its weights are others: ${id}.` }];
  });
