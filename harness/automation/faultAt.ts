import { dotted, type Fault, type Place } from "../../faults/fault";
import type { SourceDocument } from "../../faults/yamlDocument";

/** Makes faults of one document: each with the place of the path that it is about. */
export interface FaultMaker {
  /** An error at a path; `part` says whether the key itself or its value is at fault. */
  error(path: readonly PropertyKey[], code: string, message: string, part?: "key" | "value"): Fault;
  /** A warning at a path. */
  warning(path: readonly PropertyKey[], code: string, message: string): Fault;
}

/** A maker of faults that stand in `document`; `file` is named when it is not the file that is being checked. */
export function faultsOf(document: Pick<SourceDocument, "locate">, file?: string): FaultMaker {
  const make = (
    path: readonly PropertyKey[],
    code: string,
    message: string,
    severity: Fault["severity"],
    part: "key" | "value",
  ): Fault => {
    const place: Place = document.locate(path, part);
    return { path: dotted(path), code, message, severity, ...(file === undefined ? {} : { file }), ...place };
  };
  return {
    error: (path, code, message, part = "value") => make(path, code, message, "error", part),
    warning: (path, code, message) => make(path, code, message, "warning", "value"),
  };
}
