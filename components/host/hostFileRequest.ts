import { join } from "node:path";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { scriptText } from "@local-serving/machines/shell";

/** What the script gets about one file. */
interface HostFileRequest {
  /** Absolute path on the machine, without `..` and without a symbolic link on the way. */
  readonly path: string;
  /** Octal mode, such as `0644`. */
  readonly mode: string;
  /** `user:group`; left out, the file belongs to whoever runs the script. */
  readonly owner?: string;
  /** Resource that the file belongs to: only it may undo what was written. */
  readonly holder: string;
  readonly content: string;
}

/**
 * The one script that writes on the machine; hostFile.sh says what it does and promises. Previews
 * show it uncommented.
 */
export const HOST_FILE_SCRIPT = scriptText(join(__dirname, "hostFile.sh"));

/**
 * Variable that carries the script: in the command itself it would be the first 200 lines of every
 * failure's text.
 */
export const SCRIPT_VARIABLE = "HOST_FILE_SCRIPT";

/** The command that runs the script for `write` or `restore`, as root where `elevate` says so. */
export function hostFileCommand(
  word: "write" | "restore",
  elevate: readonly string[] = [],
): string {
  return [
    ...elevate.map((each) => shellWords([each])),
    `sh -c "$${SCRIPT_VARIABLE}" host-file ${word}`,
  ].join(" ");
}

/**
 * The request as the script reads it from stdin. Throws on a value that would break a line or that
 * is no path or mode.
 */
export function hostFileRequest({ path, mode, owner, holder, content }: HostFileRequest): string {
  check("path", path, /^\/[^\n]*[^\n/]$/, "an absolute path without a line break");
  check("mode", mode, /^0[0-7]{3}$/, "an octal mode such as 0644");
  if (owner !== undefined)
    check("owner", owner, /^[a-zA-Z0-9_.-]+(:[a-zA-Z0-9_.-]+)?$/, "`user:group`");
  check("holder", holder, /^[^\n]+$/, "one line");
  const lines = ["host-file 1", `path: ${path}`, `mode: ${mode}`];
  if (owner !== undefined) lines.push(`owner: ${owner}`);
  // The holder is last: a request that was cut off before it is none.
  return `${[...lines, `bytes: ${Buffer.byteLength(content)}`, `holder: ${holder}`].join("\n")}\n\n${content}`;
}

function check(what: string, value: string, form: RegExp, expected: string): void {
  if (!form.test(value))
    throw new Error(`A host file's ${what} is ${JSON.stringify(value)}; expected ${expected}.`);
}
