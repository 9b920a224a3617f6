import { dotted, type Fault } from "../../faults/fault";
import { valueAt } from "../../faults/schemaFaults";
import { causeOfBlindness, causeOfDifference, DIALECT_CAUSES, type DialectCause } from "./dialectCauses";
import { naiveList } from "./naiveReader";
import { type ProfileDocument, parseProfile } from "./profile";
import { providerSchema } from "./schema";
import type { TomlStatement } from "./tomlStatements";

/** Keys whose text is only a note: read differently, they break nothing. */
const NOTES = new Set(["version", "company"]);

/**
 * Every place where the harness's reader takes the profile otherwise than TOML means it, with the line, the cause and
 * the way to write it so that both agree. No value is ever quoted: it might be a key.
 */
export function dialectFaults(profile: ProfileDocument): Fault[] {
  const lineEnds = lineEndFaults(profile.text);
  // Line ends are reported once; behind that, the rest is judged as if they were right.
  if (lineEnds.length > 0)
    return [...lineEnds, ...dialectFaults(parseProfile(profile.file, withPlainLineEnds(profile.text)))];
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
    ...(text.startsWith("\ufeff") ? [fault("", { line: 1, column: 1 }, "dialect_byte_order_mark")] : []),
    ...(crlf === -1 ? [] : [fault("", { line, column: 1 }, "dialect_line_end")]),
  ];
}

const withPlainLineEnds = (text: string): string => text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");

/** A header that the harness reads as another name: everything under it is lost. */
function headerFault(header: TomlStatement): Fault | undefined {
  const line = `${" ".repeat(header.column - 1)}${header.written}${header.rest}`;
  const naiveName = line.startsWith("[") ? line.replace(/[[\] ]/g, "") : undefined;
  if (naiveName === header.path.join(".") && header.kind === "table") return undefined;
  const misplaced = header.column > 1 ? "dialect_indented_header" : "dialect_header";
  const cause = header.rest.includes("#") ? "dialect_header_comment" : misplaced;
  return fault(dotted(header.path), header, cause, "Nothing under this header reaches the harness.");
}

function pairFaults(profile: ProfileDocument, statement: TomlStatement): Fault[] {
  return leaves(statement.path, valueAt(profile.value, statement.path)).flatMap(({ path, value }) => {
    const address = naiveAddress(path);
    if (address === undefined) return [];
    const found = profile.naive.get(address.section, address.key);
    if (found === undefined) {
      const remedy = `Write it as \`${address.key} = ...\` at the start of a line under \`[${address.section}]\`.`;
      const cause = causeOfBlindness(statement, address.section);
      return [fault(dotted(path), statement, cause, `It has no effect. ${remedy}`)];
    }
    if (found.line !== statement.line) return [fault(dotted(path), statement, "dialect_shadowed", String(found.line))];
    if (!differs(value, found.text, isWhole(path))) return [];
    const cause = causeOfDifference(statement, found.text);
    const place = { line: statement.line, column: statement.valueColumn };
    const refusal = refusalOf(profile, path, value, found.text);
    const harmless = refusal === undefined && (NOTES.has(path.at(-1) ?? "") || cause === "dialect_escape");
    return [fault(dotted(path), place, cause, refusal, harmless ? "warning" : "error")];
  });
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
  if (table === "providers" && key !== undefined && path.length === 3 && Object.hasOwn(providerSchema.shape, key))
    return { section: `providers.${name}`, key };
  if (table === "defaults" && (name === "peer_for" || name === "fallback_chain") && path.length === 3)
    return { section: "defaults", key: `${name}.${key}` };
  if (table === "copyright" && name === "company" && path.length === 2) return { section: "copyright", key: "company" };
  return undefined;
}

/** An inline table holds several values; any other value is one. */
function leaves(path: readonly string[], value: unknown): { path: readonly string[]; value: unknown }[] {
  if (path.length >= 4 || typeof value !== "object" || value === null || Array.isArray(value)) return [{ path, value }];
  if (value instanceof Date) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leaves([...path, key], inner));
}

/** A number as a shell and jq take it. */
const PLAIN_NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const WHOLE_NUMBER = /^-?\d+$/;

/** Whether a key takes whole numbers only: a shell, unlike TOML, does not take `300.0` or `3e2` for one. */
function isWhole(path: readonly string[]): boolean {
  const schema = providerSchema.shape[path.at(-1) as keyof typeof providerSchema.shape];
  return path[0] === "providers" && schema?.safeParse(1).success && !schema.safeParse(1.5).success;
}

function differs(value: unknown, text: string, whole: boolean): boolean {
  if (typeof value === "string") return value !== text;
  if (typeof value === "boolean") return text !== String(value);
  if (typeof value === "number")
    return !(whole && Number.isInteger(value) ? WHOLE_NUMBER : PLAIN_NUMBER).test(text) || Number(text) !== value;
  if (Array.isArray(value)) return JSON.stringify(naiveList(text)) !== JSON.stringify(value);
  return false;
}

/** What the schema has against the value as the harness reads it, when it has nothing against TOML's reading. */
function refusalOf(profile: ProfileDocument, path: readonly string[], value: unknown, text: string) {
  const [table, name, key] = path;
  if (typeof value !== "string") return "Read that way, it isn't a value of this key.";
  if (table === "defaults" && name === "peer_for" && valueAt(profile.value, ["providers", text]) === undefined)
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
  effect = "",
  severity: Fault["severity"] = "error",
): Fault {
  const message = DIALECT_CAUSES[code].replace("{effect}", () => effect && ` ${effect}`);
  return { path, code, message, severity, line, column };
}
