import { parseJson } from "../../faults/jsonDocument";
import { DEFAULT_HARNESS } from "../harness";
import type { ReferenceDocument, ReferenceSection } from "../reference/markdown";
import { configureAnalytics } from "./configuration";
import { analyticsSchema, KEYLESS_VARIABLES } from "./schema";

export function analyticsReference(): ReferenceDocument {
  const { home, prefix } = DEFAULT_HARNESS;
  return {
    name: "session-analytics",
    title: "Session analytics",
    madeFrom: "harness/analytics/schema",
    closed: false,
    prefix,
    schema: analyticsSchema,
    intro: [
      `JSON, \`${home}/session-analytics.json\` by default. Each key has its value from the highest layer that sets ` +
        "it: defaults, that file, the `.env` at the repository's root, the environment, arguments. Keys are merged one " +
        "by one; a list replaces the one below it. A value that is set wins also when it is empty text, 0 or the " +
        "default. An empty variable counts as not set.",
      "`serving config show analytics` shows every effective value and its layer, `serving config set analytics KEY VALUE` writes one, `serving config check analytics FILE` finds faults. A key without a variable is set in the file only. A key that is not listed here is a warning. The file never holds secrets.",
      `Variables begin with \`${prefix}\`, the harness's prefix (\`--prefix\`, or \`SERVING_HARNESS_PREFIX\`); its folder is \`--home\`, or \`SERVING_HARNESS_HOME\`. A list in a variable has commas between its items, or is a JSON array. The text for a number must be a number from its first to its last character.`,
      "The specification gives keys, defaults and variables without a meaning. The descriptions are ours, made from the key's name and from what the public harness does with it.",
    ],
    sections: [
      layersExample(),
      {
        heading: "Variables that belong to no key",
        text: ["They are read directly and have no default. `serving config show analytics` shows those that are set."],
        table: {
          head: ["Variable", "Meaning"],
          rows: Object.entries(KEYLESS_VARIABLES).map(([name, meaning]) => [`\`${prefix}${name}\``, meaning]),
        },
      },
    ],
  };
}

/** What four layers make of three keys, as the layers themselves do it. */
function layersExample(): ReferenceSection {
  const { prefix } = DEFAULT_HARNESS;
  const file = { judge: { workers: 2, default: { backend: "ollama", model: "llama3" } }, embedding: { workers: 8 } };
  const { values } = configureAnalytics({
    prefix,
    document: parseJson("session-analytics.json", JSON.stringify(file)),
    dotenv: { file: ".env", variables: { [`${prefix}SA_EMBED_WORKERS`]: "4" } },
    environment: { [`${prefix}SA_JUDGE_BACKEND`]: "openai", [`${prefix}SA_EMBED_WORKERS`]: "" },
    settings: [{ key: "similarity.top_k", value: "9" }],
  });
  const rows = [
    ["judge.workers", "the file says 2, which is also the default"],
    ["embedding.workers", `the file says 8, \`.env\` 4; in the environment the variable is empty`],
    ["judge.default.backend", `\`${prefix}SA_JUDGE_BACKEND=openai\` in the environment`],
    ["judge.default.model", "the file's model belongs to another backend: the variable selects the whole block"],
    ["similarity.top_k", "`--set similarity.top_k=9`"],
    ["similarity.threshold", "no layer sets it"],
  ] as const;
  return {
    heading: "Example: which layer wins",
    table: {
      head: ["Key", "Said", "Value", "Layer"],
      rows: rows.map(([key, said]) => {
        const { value, layer } = values.get(key) ?? { value: "", layer: "" };
        return [`\`${key}\``, said, value === "" ? "empty" : `\`${String(value)}\``, layer];
      }),
    },
  };
}
