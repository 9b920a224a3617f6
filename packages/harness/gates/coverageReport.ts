import { isRecord, type JsonObject, jsonIn, objectOr } from "@local-serving/base/faults/json";

/** Coverage of an artifact in percent; `null` for a metric that it lacks, which is not 0. */
export type Coverage = { readonly line_pct: number | null; readonly branch_pct: number | null };

export type CoverageFormat = "istanbul" | "lcov";

/** An artifact that is not what its parser expects; the message says why. */
export class UnreadableCoverage extends Error {
  override readonly name = "UnreadableCoverage";
}

/** Reads a coverage artifact. Throws `UnreadableCoverage` rather than guess. */
export const readCoverage = (format: CoverageFormat, text: string): Coverage =>
  format === "istanbul" ? readIstanbul(text) : readLcov(text);

/**
 * Reads istanbul's json-summary: `total.lines` and `total.branches`. What is covered is computed
 * from the counts, since `pct` is rounded and may be anything; where a report has no counts, its
 * `pct` counts.
 */
function readIstanbul(text: string): Coverage {
  const summary = jsonIn(text);
  if (summary === undefined)
    throw new UnreadableCoverage(
      "is not JSON; istanbul's `json-summary` reporter writes coverage-summary.json",
    );
  const { total } = objectOr(summary);
  if (!isRecord(total))
    throw new UnreadableCoverage(
      "has no `total`; it must be the output of istanbul's `json-summary` reporter",
    );
  const line_pct = istanbulMetric(total, "lines");
  if (line_pct === null && total.lines === undefined)
    throw new UnreadableCoverage("has no `total.lines`");
  return { line_pct, branch_pct: istanbulMetric(total, "branches") };
}

function istanbulMetric(totals: JsonObject, name: string): number | null {
  const metric = totals[name];
  if (metric === undefined || metric === null) return null;
  const { pct, total: all, covered } = objectOr(metric);
  // Nothing to cover means no coverage: istanbul reports 100 or "Unknown" then.
  if (all === 0) return null;
  if (all !== undefined || covered !== undefined) {
    const [found, hit] = [count(all, name), count(covered, name)];
    if (hit > found) throw new UnreadableCoverage(`covers more ${name} than there are`);
    return share([[found, hit]]);
  }
  if (pct === "Unknown") return null;
  if (typeof pct !== "number" || !(pct >= 0 && pct <= 100))
    throw new UnreadableCoverage(`has no percentage from 0 to 100 in \`total.${name}.pct\``);
  return pct;
}

function count(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new UnreadableCoverage(
    `has no whole numbers in \`total.${name}.total\` and \`total.${name}.covered\``,
  );
}

/** What the records of one source file add up to. */
interface SourceFile {
  records: number;
  readonly lines: Map<string, boolean>;
  readonly branches: Map<string, boolean>;
  readonly counts: Map<string, number>;
}

const COUNTERS = ["LF", "LH", "BRF", "BRH"];

/** Lines that say of one line or branch of a source how often it ran. */
const DETAILS = {
  DA: { of: "lines", form: /^(\d+),(-?\d+)(?:,.*)?$/, lacks: "line number" },
  BRDA: { of: "branches", form: /^(.*),(-|\d+)$/, lacks: "branch" },
} as const;

/**
 * Reads an lcov tracefile (geninfo(1), FILES). The counters LF/LH and BRF/BRH of every record are
 * summed; where they are missing, or a file has several records (one for each test), the DA and
 * BRDA lines are counted instead.
 */
function readLcov(text: string): Coverage {
  const files = new Map<string, SourceFile>();
  let current: SourceFile | undefined;
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.replace(/\r$/, "");
    const [, key = "", rest = ""] = /^([A-Z]+):(.*)$/.exec(line) ?? [];
    let fault: string | undefined;
    if (key === "SF") {
      fault = current && "begins a record inside another one";
      current = fileOf(files, rest);
    } else if (line === "end_of_record") {
      fault = current === undefined ? "ends a record that never began" : pairFault(current);
      current = undefined;
    } else if (current !== undefined) fault = addLine(current, key, rest);
    if (fault !== undefined)
      throw new UnreadableCoverage(`isn't an lcov tracefile: line ${index + 1} ${fault}`);
  }
  if (current !== undefined)
    throw new UnreadableCoverage("is cut off: its last record has no end_of_record");
  const all = [...files.values()];
  const line_pct = share(all.map((file) => tally(file, file.lines, "LF", "LH")));
  if (line_pct === null) throw new UnreadableCoverage("has no lines at all");
  return {
    line_pct,
    branch_pct: share(all.map((file) => tally(file, file.branches, "BRF", "BRH"))),
  };
}

/** The source file that a record begins for. */
function fileOf(files: Map<string, SourceFile>, name: string): SourceFile {
  const file = files.get(name) ?? {
    records: 0,
    lines: new Map(),
    branches: new Map(),
    counts: new Map(),
  };
  file.records += 1;
  files.set(name, file);
  return file;
}

/** Adds what a line says to its file, or returns what is wrong with it. */
function addLine(file: SourceFile, key: string, rest: string): string | undefined {
  if (COUNTERS.includes(key)) {
    if (!/^\d+$/.test(rest)) return `has no whole number in ${key}`;
    if (file.records === 1 && file.counts.has(key)) return `has a second ${key} in one record`;
    file.counts.set(key, Number(rest));
  } else if (key === "DA" || key === "BRDA") {
    const { of, form, lacks } = DETAILS[key];
    const [, detail, times] = form.exec(rest) ?? [];
    if (detail === undefined) return `has no ${lacks} and count in ${key}`;
    file[of].set(detail, file[of].get(detail) === true || Number(times) > 0);
  }
  return undefined;
}

/** What is wrong with the counters of a file's only record. */
function pairFault({ records, counts }: SourceFile): string | undefined {
  if (records > 1) return undefined;
  for (const [found, hit] of [
    ["LF", "LH"],
    ["BRF", "BRH"],
  ] as const) {
    const [all, covered] = [counts.get(found), counts.get(hit)];
    if ((all === undefined) !== (covered === undefined))
      return `ends a record with only one of ${found} and ${hit}`;
    if (all !== undefined && covered !== undefined && covered > all)
      return `ends a record with ${hit} above ${found}`;
  }
  return undefined;
}

function tally(
  file: SourceFile,
  seen: ReadonlyMap<string, boolean>,
  found: string,
  hit: string,
): [number, number] {
  const counted = file.counts.get(found);
  if (file.records === 1 && counted !== undefined) return [counted, file.counts.get(hit) ?? 0];
  if (file.records > 1 && seen.size === 0 && (counted ?? 0) > 0)
    throw new UnreadableCoverage(
      `has several records for one file, and no detail lines to merge their ${found} by`,
    );
  return [seen.size, [...seen.values()].filter(Boolean).length];
}

function share(tallies: readonly (readonly [number, number])[]): number | null {
  const found = tallies.reduce((sum, [all]) => sum + all, 0);
  const hit = tallies.reduce((sum, [, covered]) => sum + covered, 0);
  return found === 0 ? null : (100 * hit) / found;
}
