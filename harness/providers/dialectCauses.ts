import type { PlacedStatement } from "./profile";

/** Why the two readings part, and what to write instead. */
export interface Cause {
  readonly code: string;
  /** What the harness does, as a sentence without its full stop. */
  readonly says: string;
  readonly remedy: string;
}

/** Why the harness's reader does not see a key at all. */
export function causeOfBlindness(
  statement: PlacedStatement,
  wanted: { section: string; key: string },
): Cause {
  const remedy = `Write it as \`${wanted.key} = ...\` at the start of a line under \`[${wanted.section}]\`.`;
  if (statement.value.startsWith("{"))
    return {
      code: "dialect_inline_table",
      says: "The harness does not look into inline tables",
      remedy,
    };
  if (statement.column > 1)
    return {
      code: "dialect_indented_key",
      says: "The harness sees a key only at the very start of a line, and this one is indented",
      remedy,
    };
  if (/["']/.test(statement.written))
    return { code: "dialect_quoted_key", says: "The harness does not know quoted keys", remedy };
  if (statement.header?.path.join(".") !== wanted.section)
    return {
      code: "dialect_dotted_key",
      says: "The harness looks a key up as it is written, under the header as it is written",
      remedy,
    };
  return {
    code: "dialect_key",
    says: "The harness does not see this key: only spaces may come between it and `=`, and none around its dots",
    remedy,
  };
}

/** Why the harness's reader sees another value than TOML; `naive` is the text that it sees. */
export function causeOfDifference(statement: PlacedStatement, naive: string): Cause {
  const { value, rest } = statement;
  if (naive.startsWith("\t"))
    return {
      code: "dialect_tab",
      says: "The harness skips spaces behind `=`, and keeps a tab as a part of the value",
      remedy: "Put a space there.",
    };
  if (value.startsWith('"""') || value.startsWith("'''") || value.includes("\n"))
    return {
      code: "dialect_multi_line",
      says: "The harness reads one line only, so a value of several lines, or in triple quotes, does not arrive",
      remedy: "Write it on one line, in one pair of double quotes.",
    };
  if (rest.includes("#"))
    return {
      code: "dialect_trailing_comment",
      says: "The harness keeps everything behind `=`, so the comment becomes a part of the value",
      remedy: "Put the comment on a line of its own.",
    };
  if (rest !== "")
    return {
      code: "dialect_trailing_space",
      says: "The harness keeps the spaces behind the value, and the closing quote with them",
      remedy: "Remove the spaces.",
    };
  if (value.includes("'") && (value.startsWith("'") || value.startsWith("[")))
    return {
      code: "dialect_single_quotes",
      says: "The harness keeps single quotes as a part of the value",
      remedy: "Use double quotes.",
    };
  if (value.startsWith('"') || value.startsWith("["))
    return value.includes("\\")
      ? {
          code: "dialect_escape",
          says: "The harness keeps TOML's escapes literally, backslash and all",
          remedy: "Write the value without backslashes.",
        }
      : {
          code: "dialect_list",
          says: "The harness splits a list at every comma and removes every bracket",
          remedy: "Keep commas, brackets and quotes out of the items.",
        };
  return {
    code: "dialect_number",
    says: "The harness takes a value as plain text, and only plain decimal digits are a number then",
    remedy: "Write it without underscores, plus sign or base prefix, one space behind `=`.",
  };
}
