import { renderTable, typeText } from "@local-serving/harness/reference/render";
import {
  descriptionOf,
  type JsonSchema,
  schemaKeys,
} from "@local-serving/harness/schema/jsonSchema";

/** Every part of a schema that has a name, as Markdown: what it is, and a table of its keys. */
export function keysOfParts({ definitions = {} }: JsonSchema): string {
  return Object.entries(definitions)
    .map(([name, part]) => [`## ${name}`, ...formsOf(part).flatMap(formText)].join("\n\n"))
    .join("\n\n");
}

/** The forms of a part that is one of several blocks, else the part alone. */
function formsOf(part: JsonSchema): readonly JsonSchema[] {
  const forms = part.anyOf ?? [];
  const areBlocks = forms.length > 0 && forms.every(({ properties }) => properties !== undefined);
  return areBlocks ? forms : [part];
}

function formText(form: JsonSchema, at: number): string[] {
  const rows = schemaKeys(form).map(({ path, schema, required }) => [
    `\`${path.join(".")}\``,
    typeText(schema),
    required ? "always" : "",
    descriptionOf(schema),
  ]);
  const table =
    rows.length === 0 ? typeText(form) : renderTable(["Key", "Type", "There", "Meaning"], rows);
  return [...(at === 0 ? [] : ["Or:"]), descriptionOf(form), table].filter((text) => text !== "");
}
