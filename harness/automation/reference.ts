import { DEFAULT_HARNESS } from "../harness";
import { OURS_MARK, type ReferenceDocument, readPage } from "../reference/render";
import { automationSchema } from "./schema";
import { AUTOMATION_TEMPLATE } from "./template";

export function automationReference(): ReferenceDocument {
  return {
    ...readPage("automation-config", { ours: OURS_MARK, template: AUTOMATION_TEMPLATE.trimEnd() }),
    madeFrom: "harness/automation/schema.ts",
    closed: true,
    prefix: DEFAULT_HARNESS.prefix,
    schema: automationSchema,
  };
}
