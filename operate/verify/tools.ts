import type { JsonObject } from "./json";
import { isJsonObject, parseJson } from "./json";

/** A tool that probes offer, the same for every API. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject & { readonly required: readonly string[] };
}

const oneText = (name: string, description: string) => ({
  type: "object",
  properties: { [name]: { type: "string", description } },
  required: [name],
});

export const READ_FILE: OfferedTool = {
  name: "read_file",
  description: "Read a file and return its text.",
  parameters: oneText("path", "Absolute path of the file"),
};

export const RUN_COMMAND: OfferedTool = {
  name: "run_command",
  description: "Run a shell command and return what it prints.",
  parameters: oneText("command", "The command line"),
};

export const LIST_FOLDER: OfferedTool = {
  name: "list_folder",
  description: "List the names in a folder.",
  parameters: oneText("path", "Absolute path of the folder"),
};

/** What probes ask for when a tool has to be called: no model that can call tools answers this otherwise. */
export const TOOL_REQUEST = "Use the tool read_file to read the file /etc/hostname. Call the tool now.";

/** The tool in the form of chat completions. */
export const chatTool = ({ name, description, parameters }: OfferedTool) => ({
  type: "function",
  function: { name, description, parameters },
});

/** The tool in the form of responses. */
export const responsesTool = ({ name, description, parameters }: OfferedTool) => ({
  type: "function",
  name,
  description,
  parameters,
  strict: false,
});

/** The tool in the form of messages. */
export const messagesTool = ({ name, description, parameters }: OfferedTool) => ({
  name,
  description,
  input_schema: parameters,
});

/** Beginnings of a tool call that a parser missed, in the formats of the known model families. */
const CALL_AS_TEXT = /<tool_call>|<function=|<function_calls?>|<invoke |<parameter=|<tool_use>|<\|tool_call/;

/** Whether a text holds a tool call that should have been structured. */
export function holdsCallAsText(text: string): boolean {
  return CALL_AS_TEXT.test(text);
}

/** What is wrong with a call of one of these tools, given its name and arguments; `undefined` when nothing is. */
export function callFault(
  tools: readonly OfferedTool[],
  name: string,
  given: string | JsonObject,
): string | undefined {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return `it called \`${name}\`, which was not offered`;
  const value = typeof given === "string" ? parseJson(given) : given;
  if (!isJsonObject(value)) return `the arguments of \`${name}\` are no JSON object`;
  const missing = tool.parameters.required.filter((each) => typeof value[each] !== "string");
  return missing.length === 0 ? undefined : `the arguments of \`${name}\` lack \`${missing.join("`, `")}\``;
}
