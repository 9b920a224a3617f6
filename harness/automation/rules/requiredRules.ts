import type { Fault } from "../../../faults/fault";
import type { ConfigView } from "../configView";
import type { FaultMaker } from "../faultAt";
import { type DerivingKind, type Mapping, requirementsOfKind } from "../mapping";

/** The block that each kind of requirement makes required. */
const BLOCK_OF_KIND: Readonly<Record<DerivingKind, "conformance" | "visual">> = {
  runtime_conformance: "conformance",
  visual: "visual",
};

/** Faults for every block that the mapping makes required and the config lacks; the app that it needs included. */
export function requiredFaults(config: ConfigView, mapping: Mapping, at: FaultMaker): Fault[] {
  const kinds: DerivingKind[] = ["runtime_conformance", "visual"];
  const missing = kinds.flatMap((kind) => {
    const path = ["verification", BLOCK_OF_KIND[kind]];
    const ids = requirementsOfKind(mapping, kind).map(({ id }) => id);
    if (ids.length === 0 || config.has(path)) return [];
    const message = `\`${path.join(".")}\` is required: the mapping has requirements of kind ${kind} (${few(ids)}).`;
    return [at.error(path, "missing_key", message)];
  });
  const blocks = kinds.map((kind) => ["verification", BLOCK_OF_KIND[kind]]);
  // A block that is there has already asked for its app.
  if (
    missing.length === 0 ||
    config.has(["verification", "app"]) ||
    blocks.some((path) => config.has(path))
  ) {
    return missing;
  }
  const message = "`verification.app` is required: what the mapping asks for is judged on a running app.";
  return [...missing, at.error(["verification", "app"], "missing_key", message)];
}

/** Ids shown in one message. */
const MOST_IDS = 5;

function few(ids: readonly string[]): string {
  const shown = ids.slice(0, MOST_IDS).join(", ");
  return ids.length > MOST_IDS ? `${shown} and ${ids.length - MOST_IDS} more` : shown;
}
