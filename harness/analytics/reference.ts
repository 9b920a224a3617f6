import { parseJson } from "../../faults/jsonDocument";
import { DEFAULT_HARNESS } from "../harness";
import { type ReferenceDocument, readPage, renderTable } from "../reference/render";
import { configureAnalytics } from "./configuration";
import { analyticsSchema, KEYLESS_VARIABLES } from "./schema";

export function analyticsReference(): ReferenceDocument {
  const { home, prefix } = DEFAULT_HARNESS;
  const variables = Object.entries(KEYLESS_VARIABLES).map(([name, meaning]) => [`\`${prefix}${name}\``, meaning]);
  return {
    ...readPage("session-analytics", {
      ...{ home, prefix, layers: layersExample(prefix) },
      variables: renderTable(["Variable", "Meaning"], variables),
    }),
    madeFrom: "harness/analytics/schema",
    closed: false,
    prefix,
    schema: analyticsSchema,
  };
}

/** What four layers make of three keys, as the layers themselves do it. */
function layersExample(prefix: string): string {
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
  const cells = rows.map(([key, said]) => {
    const { value, layer } = values.get(key) ?? { value: "", layer: "" };
    return [`\`${key}\``, said, value === "" ? "empty" : `\`${String(value)}\``, layer];
  });
  return renderTable(["Key", "Said", "Value", "Layer"], cells);
}
