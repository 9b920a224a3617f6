import type { Fault } from "../../faults/fault";

/** The fault of a model whose cache can't be planned; `field` is the field that shows it. */
export function unknownArchitecture(field: string, why: string): Fault {
  return {
    path: field,
    code: "unknown_architecture",
    message: `Unknown architecture: ${why} Its KV cache is unknown until the engine has measured it.`,
    severity: "error",
  };
}

/** The fault of a field that is needed and absent. */
export function missingField(path: string, why: string): Fault {
  return { path, code: "missing_key", message: `This field is required. ${why}`, severity: "error" };
}
