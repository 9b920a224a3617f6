import { dotted, type Fault } from "@local-serving/base/faults/fault";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { naiveList } from "./naiveReader";
import { type ProfileDocument, parseProfile } from "./profile";
import { providerSchema } from "./schema";
import type { TomlStatement } from "./tomlStatements";

/** Keys whose text is only a note: read differently, they break nothing. */
const NOTES = new Set(["version", "company"]);

/**
 * Every place where the harness's reader takes the profile otherwise than TOML means it, with the
 * line, the cause and the way to write it so that both agree. No value is ever quoted: it might be
 * a key.
 */
export function dialectFaults(profile: ProfileDocument): Fault[] {
  const lineEnds = lineEndFaults(profile.text);
  // Line ends are reported once. The rest is judged as if they were right.
  const plain = profile.text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  if (lineEnds.length > 0)
    return [...lineEnds, ...dialectFaults(parseProfile(profile.file, plain))];
  const faults: Fault[] = [];
  const lost = new Set<TomlStatement | undefined>();
  for (const statement of profile.statements) {
    if (statement.kind !== "pair") {
      const fault = headerFault(statement);
      if (fault === undefined) continue;
      lost.add(statement);
      faults.push(fault);
    } else if (!lost.has(statement.header)) faults.push(...pairFaults(profile, statement));
  }
  return [...faults, ...phantomFaults(profile)];
}

function lineEndFaults(text: string): Fault[] {
  const crlf = text.indexOf("\r\n");
  const line = text.slice(0, Math.max(crlf, 0)).split("\n").length;
  return [
    ...(text.startsWith("\ufeff")
      ? [fault("", { line: 1, column: 1 }, "dialect_byte_order_mark")]
      : []),
    ...(crlf === -1 ? [] : [fault("", { line, column: 1 }, "dialect_line_end")]),
  ];
}

/** A header that the harness reads as another name: everything under it is lost. */
function headerFault(header: TomlStatement): Fault | undefined {
  const line = `${" ".repeat(header.column - 1)}${header.written}${header.rest}`;
  const naiveName = line.startsWith("[") ? line.replace(/[[\] ]/g, "") : undefined;
  if (naiveName === header.path.join(".") && header.kind === "table") return undefined;
  const misplaced = header.column > 1 ? "dialect_indented_header" : "dialect_header";
  const cause = header.rest.includes("#") ? "dialect_header_comment" : misplaced;
  return fault(dotted(header.path), header, cause, {
    effect: "Nothing under this header reaches the harness.",
  });
}

function pairFaults(profile: ProfileDocument, statement: TomlStatement): Fault[] {
  return leaves(statement.path, valueAt(profile.value, statement.path)).flatMap(
    ({ path, value }) => {
      const address = naiveAddress(path);
      if (address === undefined) return [];
      const found = profile.naive.get(address.section, address.key);
      if (found === undefined) {
        const remedy = `Write it as \`${address.key} = ...\` at the start of a line under \`[${address.section}]\`.`;
        const cause = causeOfBlindness(statement, address.section);
        return [fault(dotted(path), statement, cause, { effect: `It has no effect. ${remedy}` })];
      }
      if (found.line !== statement.line)
        return [fault(dotted(path), statement, "dialect_shadowed", { effect: String(found.line) })];
      if (!differs(value, found.text, isWhole(path))) return [];
      const cause = causeOfDifference(statement, found.text);
      const place = { line: statement.line, column: statement.valueColumn };
      const refusal = refusalOf(profile, path, value, found.text);
      const harmless =
        refusal === undefined && (NOTES.has(path.at(-1) ?? "") || cause === "dialect_escape");
      return [
        fault(dotted(path), place, cause, {
          effect: refusal,
          severity: harmless ? "warning" : "error",
        }),
      ];
    },
  );
}

/** Lines inside a value of several lines that the harness takes for keys. */
function phantomFaults(profile: ProfileDocument): Fault[] {
  const faults: Fault[] = [];
  const statementLines = new Set(profile.statements.map(({ line }) => line));
  for (const { section, key, value } of profile.naive.entries()) {
    if (statementLines.has(value.line)) continue;
    const path = [...section.split("."), ...key.split(".")];
    const address = naiveAddress(path);
    if (address?.section !== section || address.key !== key) continue;
    if (valueAt(profile.value, path) !== undefined) continue;
    faults.push(fault(dotted(path), { line: value.line, column: 1 }, "dialect_phantom"));
  }
  return faults;
}

/** Where the harness looks for a value; `undefined` for keys that it does not know. */
function naiveAddress(path: readonly string[]): { section: string; key: string } | undefined {
  const [table, name, key] = path;
  if (name === undefined) return undefined;
  if (
    table === "providers" &&
    key !== undefined &&
    path.length === 3 &&
    Object.hasOwn(providerSchema.shape, key)
  )
    return { section: `providers.${name}`, key };
  if (
    table === "defaults" &&
    (name === "peer_for" || name === "fallback_chain") &&
    path.length === 3
  )
    return { section: "defaults", key: `${name}.${key}` };
  if (table === "copyright" && name === "company" && path.length === 2)
    return { section: "copyright", key: "company" };
  return undefined;
}

/** An inline table holds several values; any other value is one. */
function leaves(
  path: readonly string[],
  value: unknown,
): { path: readonly string[]; value: unknown }[] {
  if (path.length >= 4 || typeof value !== "object" || value === null || Array.isArray(value))
    return [{ path, value }];
  if (value instanceof Date) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leaves([...path, key], inner));
}

/** A number as a shell and jq take it. */
const PLAIN_NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const WHOLE_NUMBER = /^-?\d+$/;

/**
 * Whether a key takes whole numbers only: a shell, unlike TOML, does not take `300.0` or `3e2` for
 * one.
 */
function isWhole(path: readonly string[]): boolean {
  const schema = providerSchema.shape[path.at(-1) as keyof typeof providerSchema.shape];
  return path[0] === "providers" && schema?.safeParse(1).success && !schema.safeParse(1.5).success;
}

function differs(value: unknown, text: string, whole: boolean): boolean {
  if (typeof value === "string") return value !== text;
  if (typeof value === "boolean") return text !== String(value);
  if (typeof value === "number")
    return (
      !(whole && Number.isInteger(value) ? WHOLE_NUMBER : PLAIN_NUMBER).test(text) ||
      Number(text) !== value
    );
  if (Array.isArray(value)) return JSON.stringify(naiveList(text)) !== JSON.stringify(value);
  return false;
}

/** Why the schema refuses the value as the harness reads it, although it accepts TOML's reading. */
function refusalOf(
  profile: ProfileDocument,
  path: readonly string[],
  value: unknown,
  text: string,
) {
  const [table, name, key] = path;
  if (typeof value !== "string") return "Read that way, it isn't a value of this key.";
  if (
    table === "defaults" &&
    name === "peer_for" &&
    valueAt(profile.value, ["providers", text]) === undefined
  )
    return "Read that way, it names a provider that is not declared.";
  if (table !== "providers" || key === undefined) return undefined;
  const schema = providerSchema.shape[key as keyof typeof providerSchema.shape];
  if (!schema.safeParse(value).success || schema.safeParse(text).success) return undefined;
  if (key === "conformance_command") return "Read that way, it lacks {review_request}.";
  return "Read that way, it isn't a value of this key.";
}

function fault(
  path: string,
  { line, column }: { line: number; column: number },
  code: DialectCause,
  {
    effect = "",
    severity = "error",
  }: { effect?: string | undefined; severity?: Fault["severity"] } = {},
): Fault {
  const message = DIALECT_CAUSES[code].replace("{effect}", () => effect && ` ${effect}`);
  return { path, code, message, severity, line, column };
}

/**
 * Says why the two readings differ, and what to write instead. `{effect}` stands for what depends
 * on the place.
 */
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
  dialect_shadowed:
    "The harness takes line{effect}, inside another value, for this key. Write that value on one line.",
  dialect_phantom:
    "The harness takes this line, inside another value, for a key. Write that value on one line.",
  dialect_inline_table: "The harness does not look into inline tables.{effect}",
  dialect_indented_key:
    "The harness sees a key only at the very start of a line, and this one is indented.{effect}",
  dialect_quoted_key: "The harness does not know quoted keys.{effect}",
  dialect_dotted_key: "The harness takes a key and its header literally, dots included.{effect}",
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
  dialect_single_quotes:
    "The harness keeps single quotes as a part of the value.{effect} Use double quotes.",
  dialect_escape:
    "The harness keeps TOML's escapes literally, backslash and all.{effect} Write the value without backslashes.",
  dialect_list:
    "The harness splits a list at every comma and removes every bracket.{effect} Keep commas, brackets and quotes out of the items.",
  dialect_number:
    "The harness reads a value as plain text, so only plain decimal digits are a number.{effect} Write it without underscores, plus sign or base prefix, one space behind `=`.",
} as const;

export type DialectCause = keyof typeof DIALECT_CAUSES;

/** Why the harness's reader does not see a key at all, under the section in which it looks. */
function causeOfBlindness(statement: TomlStatement, section: string): DialectCause {
  if (statement.value.startsWith("{")) return "dialect_inline_table";
  if (statement.column > 1) return "dialect_indented_key";
  if (/["']/.test(statement.written)) return "dialect_quoted_key";
  return statement.header?.path.join(".") === section ? "dialect_key" : "dialect_dotted_key";
}

/** Why the harness's reader sees another value than TOML; `naive` is the text that it sees. */
function causeOfDifference({ value, rest }: TomlStatement, naive: string): DialectCause {
  const [quoted, list] = [value.startsWith('"'), value.startsWith("[")];
  if (naive.startsWith("\t")) return "dialect_tab";
  if (value.startsWith('"""') || value.startsWith("'''") || value.includes("\n"))
    return "dialect_multi_line";
  if (rest.includes("#")) return "dialect_trailing_comment";
  if (rest !== "") return "dialect_trailing_space";
  if (value.startsWith("'") || (list && value.includes("'"))) return "dialect_single_quotes";
  if (!quoted && !list) return "dialect_number";
  return value.includes("\\") ? "dialect_escape" : "dialect_list";
}
