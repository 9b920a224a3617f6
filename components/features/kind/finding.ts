import { defined } from "@local-serving/base/faults/defined";
import type { SettingToChange } from "../../planned";

/** What the preflight found: a refusal stops before the first resource, a warning is logged. */
export interface PreflightFinding {
  readonly verdict: "refused" | "warned";
  readonly message: string;
  /** The setting of the machine that mends it, such as `instanceA.port`, where one does. */
  readonly setting?: string;
  /** What to write there, if known. */
  readonly value?: SettingToChange["value"];
}

const says =
  (verdict: PreflightFinding["verdict"]) =>
  (message: string, setting?: string, value?: PreflightFinding["value"]): PreflightFinding => ({
    verdict,
    message,
    ...defined({ setting, value }),
  });

export const refused = says("refused");
export const warned = says("warned");
