import { redactSecrets } from "../../faults/secrets";

/** Everything that a terminal would take as a command, and anything else that isn't text. */
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  /\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffd\ufeff]/g;

/** The text without secrets and without control characters. Tabs become blanks; newlines stay. */
export const redact = (text: string): string =>
  redactSecrets(text.replace(CONTROL, "").replaceAll("\t", " "));
