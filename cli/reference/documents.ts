import { analyticsSchema, KEYLESS_VARIABLES } from "@local-serving/harness/analytics/schema";
import { automationSchema } from "@local-serving/harness/automation/schema";
import { DEFAULT_HARNESS } from "@local-serving/harness/harness";
import { providersProfileSchema } from "@local-serving/harness/providers/schema";
import { interfaceOf } from "@local-serving/harness/reference/declarations";
import {
  OURS_MARK,
  type ReferenceDocument,
  readPage,
  renderTable,
} from "@local-serving/harness/reference/render";
import { type JsonSchema, jsonSchemaOf } from "@local-serving/harness/schema/jsonSchema";
import { template } from "@local-serving/harness/templates/template";
import { recipe } from "../../components/catalogue";
import { planDocument } from "../../components/planned/schema/document";
import { NAMESPACE, stackSettings } from "../../components/settings";
import { rules } from "../../policies/rules";
import { keysOfParts } from "./keysOfParts";

const { home, prefix } = DEFAULT_HARNESS;

/**
 * Every page of docs/reference, in the order of its table of contents. A new page is a row here,
 * and its Markdown file.
 */
export function referenceDocuments(): ReferenceDocument[] {
  const started = template("automation").trimEnd();
  return [
    {
      ...readPage("stack-file", { namespace: NAMESPACE }),
      madeFrom: "components/settings",
      schema: stackSettings,
      wholeFile,
      declarations: machineTypes,
    },
    {
      ...readPage("plan", { keys: keysOfParts(jsonSchemaOf(planDocument)) }),
      madeFrom: "components/planned/schema",
      output: planDocument,
    },
    { ...readPage("model-recipe"), madeFrom: "components/catalogue", schema: recipe },
    { ...readPage("policies", { rules: rulesTable() }), madeFrom: "policies/rules" },
    {
      ...readPage("automation-config", { ours: OURS_MARK, template: started }),
      madeFrom: "packages/harness/automation/schema.ts",
      schema: automationSchema,
      prefix,
    },
    {
      ...readPage("providers-profile", { home }),
      madeFrom: "packages/harness/providers/schema.ts",
      schema: providersProfileSchema,
      closed: false,
    },
    {
      ...readPage("session-analytics", { home, prefix, variables: variablesTable() }),
      madeFrom: "packages/harness/analytics/schema",
      schema: analyticsSchema(),
      closed: false,
      prefix,
    },
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

function variablesTable(): string {
  const rows = Object.entries(KEYLESS_VARIABLES).map(([name, meaning]) => [
    `\`${prefix}${name}\``,
    meaning,
  ]);
  return renderTable(["Variable", "Meaning"], rows);
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
