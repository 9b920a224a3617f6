import { NAMESPACE, stackSettings } from "../../components/settings/stackSettings";
import type { ReferenceDocument } from "../../harness/reference/document";
import type { JsonSchema } from "../../harness/schema/jsonSchema";

export function stackFileReference(): ReferenceDocument {
  return {
    name: "stack-file",
    title: "Stack file",
    madeFrom: "components/settings",
    schema: stackSettings,
    wholeFile,
    intro: [
      `YAML, \`Pulumi.<stack>.yaml\`. Everything here stands under \`config\`, with \`${NAMESPACE}:\` before the first ` +
        `part of a path: \`machines\` is written \`${NAMESPACE}:machines\`. The file is closed: a key that is not listed ` +
        "is an error. All faults are said at once, each with its line.",
      "What can't be understood is refused when the file is read; what is understood but unwise is for the " +
        "[policies](policies.md).",
    ],
  };
}

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
