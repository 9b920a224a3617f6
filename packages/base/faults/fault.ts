import { defined } from "./defined";
import { counted } from "./quoting";
import { redactSecrets, withoutKeys } from "./secrets";

/** One thing that is wrong with what a person wrote, or one thing worth a warning. */
export interface Fault {
  /** Dotted path of the key (`machines.dgx.instances.b.port`); `""` is the document itself. */
  readonly path: string;
  /**
   * Short stable name of the kind of fault, for scripts: `unknown_key`, `wrong_type`,
   * `out_of_range`, ...
   */
  readonly code: string;
  /** What is wrong and what would be right, in one or two sentences. */
  readonly message: string;
  readonly severity: "error" | "warning";
  /**
   * The file that `path`, `line` and `column` belong to, where it is not the one that is being
   * checked.
   */
  readonly file?: string;
  /** 1-based line in the file, where the file is known. */
  readonly line?: number;
  readonly column?: number;
}

/** Position of a value in a file, both 1-based. */
export type Position = { readonly line: number; readonly column: number };

/** An error at a path; `place` where the file is known. */
export function errorAt(path: string, code: string, message: string, place?: Position): Fault {
  return { path, code, message, severity: "error", ...place };
}

/** A warning at a path; `place` where the file is known. */
export function warningAt(path: string, code: string, message: string, place?: Position): Fault {
  return { path, code, message, severity: "warning", ...place };
}

/**
 * Makes a fault of a path in a document. `part` says whether the key itself or its value is at
 * fault.
 */
type MakeFault = (
  path: readonly PropertyKey[],
  code: string,
  message: string,
  part?: "key" | "value",
) => Fault;

/** Makes faults of one document, each with the place of its path. */
export type FaultMaker = Readonly<Record<Fault["severity"], MakeFault>>;

/** Makes faults with places in a document; `file` is named when it isn't the file being checked. */
export function faultsIn(
  document: { locate(path: readonly PropertyKey[], part?: "key" | "value"): Position },
  file?: string,
): FaultMaker {
  const maker =
    (severity: Fault["severity"]): MakeFault =>
    (path, code, message, part) => {
      return {
        path: dotted(path),
        code,
        message,
        severity,
        ...defined({ file }),
        ...document.locate(path, part),
      };
    };
  return { error: maker("error"), warning: maker("warning") };
}

/** Joins the parts of a path with dots; list indexes are plain numbers. */
export const dotted = (path: readonly PropertyKey[]): string => path.map(String).join(".");

/** `true` when at least one fault is an error, not just a warning. */
export const hasErrors = (faults: readonly Fault[]): boolean =>
  faults.some((fault) => fault.severity === "error");

/**
 * Faults in the order in which a reader of the file meets them; those without a place come first.
 */
export const inFileOrder = (faults: readonly Fault[]): Fault[] =>
  [...faults].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));

/** One line a person can read: `Pulumi.dgx.yaml:12:7 machines.dgx.total: Unknown key ...`. */
export function faultLine(fault: Fault, file?: string): string {
  const place = fault.line === undefined ? "" : `:${fault.line}:${fault.column ?? 1}`;
  const source = fault.file ?? file;
  // If the message already names the key, it is put in front only if that helps to find the place.
  const named = source === undefined && fault.message.includes(`\`${fault.path}\``);
  const where = [source === undefined ? "" : `${source}${place}`, named ? "" : fault.path]
    .filter(Boolean)
    .join(" ");
  return where === "" ? fault.message : `${where}: ${fault.message}`;
}

/** Most faults that are listed of one input. */
const MOST_FAULTS = 1000;

/** Longest message and path in characters: they may quote a name of any length. */
const LONGEST_MESSAGE = 2000;
const LONGEST_PATH = 400;

const clipped = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest)} ...` : text;

/**
 * Faults as they are shown: with no key of a service in them, and at most 1,000, errors before
 * warnings. How many more there are is one more fault, the last.
 */
export function listed(found: readonly Fault[]): readonly Fault[] {
  const errors = found.filter(({ severity }) => severity === "error");
  const warnings = found.filter(({ severity }) => severity !== "error");
  const kept = new Set([...errors, ...warnings].slice(0, MOST_FAULTS));
  const shown = found.filter((fault) => kept.has(fault)).map(shownFault);
  const more = found.length - shown.length;
  if (more === 0) return shown;
  const message = `${more} more ${more === 1 ? "fault is" : "faults are"} not listed: fix these first.`;
  return [
    ...shown,
    { path: "", code: "more_faults", message, severity: hasErrors(found) ? "error" : "warning" },
  ];
}

/** A key that was pasted in the place of a name is in the path of its fault. */
const shownFault = (fault: Fault): Fault => ({
  ...fault,
  path: shownPath(clipped(redactSecrets(fault.path), LONGEST_PATH)),
  message: shownMessage(fault.message),
});

/** Some forms aren't looked for behind a dot, where each key of a path stands. */
function shownPath(path: string): string {
  let shown = path;
  for (let dot = shown.indexOf("."); dot >= 0; dot = shown.indexOf(".", dot + 1))
    shown = shown.slice(0, dot + 1) + redactSecrets(shown.slice(dot + 1));
  return shown;
}

/**
 * Our own words hold no secret, but what they quote may: `password=...` where a key's name is due.
 */
const shownMessage = (text: string): string =>
  clipped(withoutKeys(text.replace(/`[^`\n]+`/g, redactSecrets)), LONGEST_MESSAGE);

/** All faults of one input at once: what a user sees instead of a stack trace. */
export class FaultyInput extends Error {
  readonly faults: readonly Fault[];

  constructor(
    /** What was read: a file's path, or words such as `stack configuration`. */
    readonly input: string,
    found: readonly Fault[],
  ) {
    const faults = listed(found);
    const count = counted(found.length, "fault");
    // Without a line the input's name, just said, helps nobody to find the place.
    const lines = faults.map(
      (fault) => `  ${faultLine(fault, fault.line === undefined ? undefined : input)}`,
    );
    super([`${input}: ${count}`, ...lines].join("\n"));
    this.name = "FaultyInput";
    this.faults = faults;
  }
}

/** A file that can't be read at all, or is not YAML, TOML or JSON. */
export class UnreadableInput extends Error {
  readonly reason: string;

  constructor(
    readonly input: string,
    why: string,
    readonly place?: Position,
  ) {
    const where = place === undefined ? "" : `:${place.line}:${place.column}`;
    super(shownMessage(`${clipped(input, LONGEST_PATH)}${where}: ${why}`));
    this.name = "UnreadableInput";
    this.reason = shownMessage(why);
  }
}

/** Something outside this program that a command needs is missing. The message says what to do. */
export class Failed extends Error {
  override readonly name = "Failed";

  constructor(
    message: string,
    /** Short stable name of its kind, for scripts. */
    readonly code = "failed",
  ) {
    super(message);
  }
}

/** What `read` returns, or what is wrong with the operator's input that it reads. */
export function orInputFault<T>(read: () => T): T | FaultyInput | UnreadableInput {
  try {
    return read();
  } catch (error) {
    if (error instanceof FaultyInput || error instanceof UnreadableInput) return error;
    throw error;
  }
}
