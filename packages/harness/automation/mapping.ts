import { type Fault, type FaultMaker, faultsIn, hasErrors } from "@local-serving/base/faults/fault";
import { isRecord } from "@local-serving/base/faults/json";
import { distance } from "fastest-levenshtein";
import { type ConfigView, readYamlOrJson } from "./ruleContext";

/**
 * Kinds of requirement from which a block's requiredness is derived, each with the block that it
 * makes required.
 */
const BLOCK_OF_KIND = { runtime_conformance: "conformance", visual: "visual" } as const;

export type DerivingKind = keyof typeof BLOCK_OF_KIND;

const DERIVING_KINDS = ["runtime_conformance", "visual"] as const satisfies DerivingKind[];

/** Scalars that may head a mapping written as a map; they aren't requirements. */
const HEADER_KEYS: readonly string[] = ["status", "feature_id", "schema_version", "version"];

/**
 * Letters by which a kind may differ from one that derives something before it is taken for another
 * kind.
 */
const TYPO = 2;

export interface Requirement {
  readonly id: string;
  /** Every kind that verifies it; most have one. */
  readonly kinds: readonly string[];
  /**
   * The requirement's own map, kept whole so that a frozen contract holds the criteria that were
   * judged.
   */
  readonly entry: unknown;
}

/** The verification mapping, or the faults that keep it from being used. */
export type Mapping = {
  readonly requirements: readonly Requirement[];
  readonly faults: readonly Fault[];
};

/**
 * Reads a verification mapping: a list of requirements, or a map of id to requirement, each with a
 * `kind` (or with `verifiers`, each with a `kind`). A requirement without a kind is an error: what
 * it asks for can't be derived. Throws `UnreadableInput`.
 */
export function readMapping(file: string): Mapping {
  const document = readYamlOrJson(file);
  const at = faultsIn(document, file);
  const { value, path } = requirementsOf(document.value);
  if (typeof value !== "object" || value === null)
    return {
      requirements: [],
      faults: [
        at.error(
          path,
          "wrong_type",
          "A verification mapping is a list of requirements, or a map of id to requirement.",
        ),
      ],
    };
  const faults: Fault[] = [];
  const requirements: Requirement[] = [];
  for (const [id, entry] of Object.entries(value)) {
    const here = [...path, id];
    if (!Array.isArray(value) && HEADER_KEYS.includes(id) && typeof entry !== "object") continue;
    const kinds = kindsOf(entry);
    if (kinds === undefined) {
      faults.push(at.error(here, "missing_key", "This requirement needs a `kind`, as text."));
      continue;
    }
    faults.push(
      ...kinds.flatMap((kind) => misspelled(kind).map((m) => at.error(here, "unknown_value", m))),
    );
    const own =
      Array.isArray(value) && isRecord(entry) && typeof entry.id === "string" ? entry.id : id;
    requirements.push({ id: own, kinds, entry });
  }
  return { requirements: hasErrors(faults) ? [] : requirements, faults };
}

export const requirementsOfKind = (mapping: Mapping, kind: DerivingKind): Requirement[] =>
  mapping.requirements.filter((requirement) => requirement.kinds.includes(kind));

function requirementsOf(value: unknown): { value: unknown; path: string[] } {
  const inner = isRecord(value) && "requirements" in value;
  return inner && kindsOf(value.requirements) === undefined
    ? { value: value.requirements, path: ["requirements"] }
    : { value, path: [] };
}

function kindsOf(entry: unknown): string[] | undefined {
  if (!isRecord(entry)) return undefined;
  if ("kind" in entry)
    return typeof entry.kind === "string" && entry.kind !== "" ? [entry.kind] : undefined;
  if (!("verifiers" in entry) || !Array.isArray(entry.verifiers) || entry.verifiers.length === 0)
    return undefined;
  const kinds = entry.verifiers.map((verifier) => kindsOf(verifier)?.[0]);
  return kinds.every((kind) => kind !== undefined) ? kinds : undefined;
}

/**
 * A slip of the pen in a kind that something is derived from would silently make a block optional.
 */
function misspelled(kind: string): string[] {
  const plain = kind.toLowerCase().replace(/[^a-z]/g, "");
  return DERIVING_KINDS.filter(
    (known) => kind !== known && distance(plain, known.replace(/[^a-z]/g, "")) <= TYPO,
  ).map(
    (known) =>
      `This requirement's kind is not \`${known}\`, only close to it. Write \`${known}\`, or a clearly different kind.`,
  );
}

/**
 * Faults for every block that the mapping makes required and the config lacks; the app that it
 * needs included.
 */
export function requiredFaults(config: ConfigView, mapping: Mapping, at: FaultMaker): Fault[] {
  const pathOf = (kind: DerivingKind) => ["verification", BLOCK_OF_KIND[kind]];
  const missing = DERIVING_KINDS.flatMap((kind) => {
    const path = pathOf(kind);
    const ids = requirementsOfKind(mapping, kind).map(({ id }) => id);
    if (ids.length === 0 || config.has(path)) return [];
    const message = `\`${path.join(".")}\` is required: the mapping has requirements of kind ${kind} (${few(ids)}).`;
    return [at.error(path, "missing_key", message)];
  });
  // A block that is there has already asked for its app.
  const asked =
    config.has(["verification", "app"]) || DERIVING_KINDS.some((kind) => config.has(pathOf(kind)));
  if (missing.length === 0 || asked) return missing;
  const message =
    "`verification.app` is required: what the mapping asks for is judged on a running app.";
  return [...missing, at.error(["verification", "app"], "missing_key", message)];
}

const MOST_IDS = 5;

function few(ids: readonly string[]): string {
  const shown = ids.slice(0, MOST_IDS).join(", ");
  return ids.length > MOST_IDS ? `${shown} and ${ids.length - MOST_IDS} more` : shown;
}
