import type { TomlStatement } from "./tomlStatements";

/** Why the two readings part, and what to write instead; `{effect}` is what is known only of the one place. */
export const DIALECT_CAUSES = {
  dialect_byte_order_mark:
    "The file begins with a byte order mark, which hides the first line from the harness. Save it as UTF-8 without one.",
  dialect_line_end:
    "Lines end with CRLF; the harness takes the carriage return for a part of every name and value. Save the file with plain LF line ends.",
  dialect_header_comment:
    "The harness takes the comment behind a table's header for a part of its name.{effect} Put the comment on a line of its own.",
  dialect_indented_header:
    "The harness sees a header only at the very start of a line.{effect} Remove the spaces before it.",
  dialect_header:
    "The harness reads the header as another name: the plain line without brackets and spaces.{effect} Write it as `[providers.name]`, with no quotes and nothing behind it.",
  dialect_shadowed: "The harness takes line{effect}, inside another value, for this key. Write that value on one line.",
  dialect_phantom: "The harness takes this line, inside another value, for a key. Write that value on one line.",
  dialect_inline_table: "The harness does not look into inline tables.{effect}",
  dialect_indented_key: "The harness sees a key only at the very start of a line, and this one is indented.{effect}",
  dialect_quoted_key: "The harness does not know quoted keys.{effect}",
  dialect_dotted_key: "The harness looks a key up as it is written, under the header as it is written.{effect}",
  dialect_key:
    "The harness does not see this key: only spaces may come between it and `=`, and none around its dots.{effect}",
  dialect_tab:
    "The harness skips spaces behind `=`, and keeps a tab as a part of the value.{effect} Put a space there.",
  dialect_multi_line:
    "The harness reads one line only, so a value of several lines, or in triple quotes, does not arrive.{effect} Write it on one line, in one pair of double quotes.",
  dialect_trailing_comment:
    "The harness keeps everything behind `=`, so the comment becomes a part of the value.{effect} Put the comment on a line of its own.",
  dialect_trailing_space:
    "The harness keeps the spaces behind the value, and the closing quote with them.{effect} Remove the spaces.",
  dialect_single_quotes: "The harness keeps single quotes as a part of the value.{effect} Use double quotes.",
  dialect_escape:
    "The harness keeps TOML's escapes literally, backslash and all.{effect} Write the value without backslashes.",
  dialect_list:
    "The harness splits a list at every comma and removes every bracket.{effect} Keep commas, brackets and quotes out of the items.",
  dialect_number:
    "The harness takes a value as plain text, and only plain decimal digits are a number then.{effect} Write it without underscores, plus sign or base prefix, one space behind `=`.",
} as const;

export type DialectCause = keyof typeof DIALECT_CAUSES;

/** Why the harness's reader does not see a key at all, under the section in which it looks. */
export function causeOfBlindness(statement: TomlStatement, section: string): DialectCause {
  if (statement.value.startsWith("{")) return "dialect_inline_table";
  if (statement.column > 1) return "dialect_indented_key";
  if (/["']/.test(statement.written)) return "dialect_quoted_key";
  return statement.header?.path.join(".") === section ? "dialect_key" : "dialect_dotted_key";
}

/** Why the harness's reader sees another value than TOML; `naive` is the text that it sees. */
export function causeOfDifference({ value, rest }: TomlStatement, naive: string): DialectCause {
  const [quoted, list] = [value.startsWith('"'), value.startsWith("[")];
  if (naive.startsWith("\t")) return "dialect_tab";
  if (value.startsWith('"""') || value.startsWith("'''") || value.includes("\n")) return "dialect_multi_line";
  if (rest.includes("#")) return "dialect_trailing_comment";
  if (rest !== "") return "dialect_trailing_space";
  if (value.startsWith("'") || (list && value.includes("'"))) return "dialect_single_quotes";
  if (!quoted && !list) return "dialect_number";
  return value.includes("\\") ? "dialect_escape" : "dialect_list";
}
