import { REDACTED, redactSecrets } from "@local-serving/base/faults/secrets";

/** Everything that a terminal would take as a command, and anything else that isn't text. */
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  /\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffd\ufeff]/g;

/** The text without secrets and without control characters. Tabs become blanks; newlines stay. */
export const redact = (text: string): string =>
  redactSecrets(text.replace(CONTROL, "").replaceAll("\t", " "));

/** Most lines of a private key; the longest that are in use have about a hundred. */
const KEY_LINES = 200;
const KEY_BEGINS = /-{4,5} ?BEGIN [A-Z\d ]{0,40}PRIVATE KEY|Private-Lines:/;
const KEY_ENDS = /-{4,5} ?END [A-Z\d ]{0,40}PRIVATE KEY|Private-MAC:/;
/** A line of a key, which may stand behind a time or a container's name; its headers and blanks. */
const KEY_LINE = /(?:^|\s)[A-Za-z\d+/]{24,}={0,2}$|^\s*(?:[A-Za-z\d+/]+={0,2}|[A-Z][\w-]+: .*)?$/;

/** A line of a key whose beginning nobody saw: no other line of a log ends so. */
const KEY_ROW = /(?:^|\s)(?=[A-Z\d+/]*[a-z])(?=[a-z\d+/]*[A-Z])(?=[A-Za-z+/]*\d)[A-Za-z\d+/]{64}$/;

/** Tells of lines that come one by one which ones are inside of a private key. */
export function privateKeyLines(): (line: string) => boolean {
  let left = 0;
  return (line) => {
    if (left === 0 && KEY_ROW.test(line)) left = KEY_LINES;
    if (left === 0 && !/PRIVATE KEY|Private-Lines/.test(line)) return false;
    const isEnd = KEY_ENDS.test(line);
    const isInside = left > 0 && (isEnd || KEY_LINE.test(line.trimEnd()));
    left = isInside && !isEnd ? left - 1 : 0;
    if (KEY_BEGINS.test(line) && !isEnd) left = KEY_LINES;
    return isInside;
  };
}

/** `redact` for such lines. */
export function lineRedactor(): (line: string) => string {
  const isInKey = privateKeyLines();
  return (line) => (isInKey(line) ? REDACTED : redact(line));
}
