import type { z } from "zod";
import { renderTable, typeText } from "../../harness/reference/render";
import { descriptionOf, jsonSchemaOf, schemaKeys } from "../../harness/schema/jsonSchema";

/**
 * Every part of the plan's schema that has a name, as Markdown: what it is, and a table of its
 * keys.
 */
export function planKeys(schema: z.ZodType): string {
  const parts = Object.entries(jsonSchemaOf(schema).definitions ?? {});
  return parts
    .map(([name, part]) => {
      const rows = schemaKeys(part).map(({ path, schema, required }) => [
        `\`${path.join(".")}\``,
        typeText(schema),
        required ? "always" : "",
        descriptionOf(schema),
      ]);
      const table = renderTable(["Key", "Type", "There", "Meaning"], rows);
      return [`## ${name}`, descriptionOf(part), table].join("\n\n");
    })
    .join("\n\n");
}
