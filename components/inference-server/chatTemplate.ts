import { join } from "node:path";
import { shellWord } from "@local-serving/base/faults/shellWords";
import { scriptText } from "@local-serving/machines/shell";
import type { InferenceServerSettings } from "../settings";

type WithTemplate = Pick<InferenceServerSettings, "chatTemplate">;

/**
 * Value of `chatTemplate` that stands for the model's own template, made to take a system element
 * anywhere.
 */
const TOLERANT = "tolerant";

/** Where the container's first process writes that template. */
const FILE = "/tmp/tolerant.jinja";

const SCRIPT = scriptText(join(__dirname, "tolerantTemplate.py")).trim();

/**
 * Returns the shell lines that the container runs before its gate. If the model has no template,
 * they say so and end the container.
 */
export const makesTemplate = ({ chatTemplate }: WithTemplate): string =>
  chatTemplate === TOLERANT ? `python3 -c ${shellWord(SCRIPT)} ${FILE} "$@" || exit\n` : "";

/** The value of `--chat-template`. */
export const templateArgument = ({ chatTemplate }: WithTemplate): string | undefined =>
  chatTemplate === TOLERANT ? FILE : chatTemplate;
