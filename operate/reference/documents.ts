import { recipe } from "../../components/catalogue/recipe";
import { NAMESPACE, stackSettings } from "../../components/settings/stackSettings";
import { analyticsReference } from "../../harness/analytics/reference";
import { automationReference } from "../../harness/automation/reference";
import { providersReference } from "../../harness/providers/reference";
import type { ReferenceDocument } from "../../harness/reference/render";
import type { JsonSchema } from "../../harness/schema/jsonSchema";
import { rules } from "../../policies/rules";

/** Every page of docs/reference, in the order of its table of contents. A new page is one more line here. */
export function referenceDocuments(): ReferenceDocument[] {
  return [stackFile, modelRecipe, policies, automationReference(), providersReference(), analyticsReference()];
}

const policies: ReferenceDocument = {
  name: "policies",
  title: "Policies",
  madeFrom: "policies/rules",
  intro: [
    "Rules about what may run, judged by the images and arguments of every container. `mandatory` stops an update, " +
      "`advisory` only warns. A policy configuration sets a rule's level by its name " +
      '(`{ "moving-tag": "advisory" }`); a fixed level can\'t be lowered.',
  ],
  sections: [
    {
      heading: "Rules",
      table: {
        head: ["Rule", "Level", "What it asks for"],
        rows: rules.map(({ name, level, fixed, advises, description }) => [
          `\`${name}\``,
          [level, fixed === true ? "fixed" : "", advises === true ? "gives advice, too" : ""]
            .filter(Boolean)
            .join(", "),
          description,
        ]),
      },
    },
  ],
};

const stackFile: ReferenceDocument = {
  name: "stack-file",
  title: "Stack file",
  madeFrom: "components/settings",
  schema: stackSettings,
  wholeFile,
  intro: [
    `YAML, \`Pulumi.<stack>.yaml\`. Everything here goes under \`config\`, with \`${NAMESPACE}:\` before the first ` +
      `part of a path: \`machines\` is written \`${NAMESPACE}:machines\`. The file is closed: a key that is not listed ` +
      "is an error. All faults are listed at once, each with its line.",
    "What can't be understood is refused when the file is read; what is understood but unwise is for the " +
      "[policies](policies.md).",
  ],
};

const modelRecipe: ReferenceDocument = {
  name: "model-recipe",
  title: "Model recipe",
  madeFrom: "components/catalogue",
  schema: recipe,
  intro: [
    "YAML, `models/<org>--<name>/recipe.yaml`: what is known of one model on this kind of machine. `serving models` reads " +
      "it. A value that nobody published is left out, and shown as not known.",
    "Every value of `weights`, `parsers`, `share` and `settings`, and `quantization`, `minimumVllm`, `image` and `draft`, " +
      "is named in one entry of `sources`.",
  ],
};

/** The schema of our keys, placed as in the file that Pulumi reads. */
function wholeFile(settings: JsonSchema): JsonSchema {
  const keys = Object.entries(settings.properties ?? {});
  return {
    type: "object",
    properties: {
      config: {
        type: "object",
        properties: Object.fromEntries(keys.map(([key, schema]) => [`${NAMESPACE}:${key}`, schema])),
        required: (settings.required ?? []).map((key) => `${NAMESPACE}:${key}`),
      },
    },
    required: ["config"],
  };
}
