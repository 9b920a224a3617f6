import { join } from "node:path";
import { interfaceOf } from "@local-serving/harness/reference/declarations";
import { harnessDocuments } from "@local-serving/harness/reference/documents";
import {
  type ReferenceDocument,
  readPage,
  renderTable,
} from "@local-serving/harness/reference/render";
import { type JsonSchema, jsonSchemaOf } from "@local-serving/harness/schema/jsonSchema";
import { recipe } from "../../components/catalogue";
import { planDocument } from "../../components/planned/schema/document";
import { NAMESPACE, stackSettings } from "../../components/settings";
import { rules } from "../../policies/rules";
import { keysOfParts } from "./keysOfParts";

/** A page whose words lie in this folder. */
const ownPage = (name: string, made?: Readonly<Record<string, string>>) =>
  readPage(join(__dirname, `${name}.md`), made);

/**
 * Every page of docs/reference, in the order of its table of contents. A new page is a row here,
 * and its Markdown file.
 */
export function referenceDocuments(): ReferenceDocument[] {
  return [
    {
      ...ownPage("stack-file", { namespace: NAMESPACE }),
      madeFrom: "components/settings",
      schema: stackSettings,
      wholeFile,
      declarations: machineTypes,
    },
    {
      ...ownPage("plan", { keys: keysOfParts(jsonSchemaOf(planDocument)) }),
      madeFrom: "components/planned/schema",
      output: planDocument,
    },
    { ...ownPage("model-recipe"), madeFrom: "components/catalogue", schema: recipe },
    { ...ownPage("policies", { rules: rulesTable() }), madeFrom: "policies/rules" },
    ...harnessDocuments(),
  ];
}

function rulesTable(): string {
  const rows = rules.map(({ name, level, fixed, advises, description }) => {
    const levels = [
      level,
      fixed === true ? "fixed" : "",
      advises === true ? "gives advice, too" : "",
    ];
    return [`\`${name}\``, levels.filter(Boolean).join(", "), description];
  });
  return renderTable(["Rule", "Level", "What it asks for"], rows);
}

/** The type of a machine's settings, for programs that declare one. */
function machineTypes(settings: JsonSchema): string {
  const machine = settings.properties?.machines?.additionalProperties;
  return interfaceOf(
    "MachineSettings",
    "A machine, as below `machines` in a stack file.",
    typeof machine === "object" ? machine : {},
  );
}

/** The schema of our keys, placed as in the file that Pulumi reads. */
function wholeFile(settings: JsonSchema): JsonSchema {
  const keys = Object.entries(settings.properties ?? {});
  return {
    type: "object",
    properties: {
      config: {
        type: "object",
        properties: Object.fromEntries(
          keys.map(([key, schema]) => [`${NAMESPACE}:${key}`, schema]),
        ),
        required: (settings.required ?? []).map((key) => `${NAMESPACE}:${key}`),
      },
    },
    required: ["config"],
  };
}
