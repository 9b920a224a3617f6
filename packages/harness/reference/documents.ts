import { join } from "node:path";
import { analyticsSchema, KEYLESS_VARIABLES } from "../analytics/schema";
import { automationSchema } from "../automation/schema";
import { DEFAULT_HARNESS } from "../harness";
import { providersProfileSchema } from "../providers/schema";
import { template } from "../templates/template";
import { OURS_MARK, type ReferenceDocument, readPage, renderTable } from "./render";

const { home, prefix } = DEFAULT_HARNESS;

/** The pages about the harness's own files. A new one is a row here, and its Markdown file. */
export function harnessDocuments(): ReferenceDocument[] {
  const started = template("automation").trimEnd();
  return [
    {
      ...ownPage("automation-config", { ours: OURS_MARK, template: started }),
      madeFrom: "packages/harness/automation/schema.ts",
      schema: automationSchema,
      prefix,
    },
    {
      ...ownPage("providers-profile", { home }),
      madeFrom: "packages/harness/providers/schema.ts",
      schema: providersProfileSchema,
      closed: false,
    },
    {
      ...ownPage("session-analytics", { home, prefix, variables: variablesTable() }),
      madeFrom: "packages/harness/analytics/schema",
      schema: analyticsSchema(),
      closed: false,
      prefix,
    },
  ];
}

/** A page whose words lie in this folder. */
const ownPage = (name: string, made?: Readonly<Record<string, string>>) =>
  readPage(join(__dirname, `${name}.md`), made);

function variablesTable(): string {
  const rows = Object.entries(KEYLESS_VARIABLES).map(([name, meaning]) => [
    `\`${prefix}${name}\``,
    meaning,
  ]);
  return renderTable(["Variable", "Meaning"], rows);
}
