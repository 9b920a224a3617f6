import { randomBytes } from "node:crypto";
import { isRecord, type JsonObject, jsonIn } from "@local-serving/base/faults/json";

/** A tool that probes offer, the same for every API. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject & { readonly required: readonly string[] };
}

const tool = (name: string, description: string, argument: string, about: string): OfferedTool => ({
  name,
  description,
  parameters: {
    type: "object",
    properties: { [argument]: { type: "string", description: about } },
    required: [argument],
  },
});

export const READ_FILE = tool(
  "read_file",
  "Read a file and return its text.",
  "path",
  "Absolute path of the file",
);
const RUNS = "Run a shell command and return what it prints.";
export const RUN_COMMAND = tool("run_command", RUNS, "command", "The command line");
export const LIST_FOLDER = tool(
  "list_folder",
  "List the names in a folder.",
  "path",
  "Absolute path of the folder",
);

/** What an agent offers at least. */
export const AGENT_TOOLS = [READ_FILE, RUN_COMMAND];

/** A request that needs a tool: no model that can call tools answers it otherwise. */
export const TOOL_REQUEST =
  "Use the tool read_file to read the file /etc/hostname. Call the tool now.";

/** What is wrong with a call of one of these tools; `undefined` if nothing is. */
export function callFault(
  tools: readonly OfferedTool[],
  call: Readonly<Record<"name" | "arguments", string>>,
) {
  const tool = tools.find((each) => each.name === call.name);
  if (tool === undefined) return `it called \`${call.name}\`, which was not offered`;
  const value = jsonIn(call.arguments);
  if (!isRecord(value)) return `the arguments of \`${call.name}\` are not a JSON object`;
  const missing = tool.parameters.required.filter((each) => typeof value[each] !== "string");
  return missing.length === 0
    ? undefined
    : `the arguments of \`${call.name}\` lack \`${missing.join("`, `")}\``;
}

/** A question that every chat model answers in a word. */
export const GREETING = "Say hello in one word.";

/** Output tokens for an answer in one word by a model that does not think first. */
const SHORT_ANSWER_TOKENS = 512;

/**
 * Output tokens for a model that thinks as it does for a real client: greetings were seen to take a
 * thousand and more.
 */
export const THOUGHTFUL_ANSWER_TOKENS = 4096;

/**
 * Output tokens to ask for in a window of this many, or so many times as many; at least half of the
 * window is left for the prompt.
 */
export const answerTokens = (window: number, thinks: boolean, times = 1): number =>
  Math.min(
    times * (thinks ? THOUGHTFUL_ANSWER_TOKENS : SHORT_ANSWER_TOKENS),
    Math.floor(window / 2),
  );

/**
 * Words that are one token in the usual vocabularies, so that a prompt's length in tokens is near
 * its words.
 */
const FILLER =
  "the river runs past the old stone house and the quiet garden near the long road to the green hill";

/** So many lines of such words. */
export const fillerText = (lines: number): string => Array(lines).fill(`${FILLER}.`).join("\n");

/** A code that no model can guess and no earlier prompt has held. */
export const freshCode = (): string => `QX-${randomBytes(3).toString("hex").toUpperCase()}`;

/** Text of about this many tokens that no cache has seen: it begins with a code of its own. */
export function longText(words: number): string {
  const line = FILLER.split(" ");
  const lines: string[] = [`Record ${freshCode()}.`];
  for (let count = 2; count < words; count += line.length) lines.push(`${FILLER}.`);
  return lines.join("\n");
}
