import type { Edit } from "../stackEdit/applyEdits";
import type { Evidence } from "./evidence";
import type { Sign } from "./sign";

/** One trouble that is known: how it is told, what it comes from and what mends it. */
export interface Diagnosis {
  /** Kebab-case; scripts rely on it. */
  readonly id: string;
  /** Row of the specification, or the upstream issue, that describes it. */
  readonly source: string;
  /** What says it before anything starts: a policy, a warning of the plan, the preflight of `up`; `false` for nothing. */
  readonly caughtBy: string | false;
  /** Worth saying, but no explanation of a server that fails: unknown trouble beside it is still said. */
  readonly aside?: true;
  /** Explains a line that looks like trouble and is none: it is said, and counts as no fault. */
  readonly harmless?: true;
  /** What has to be looked for in logs. */
  readonly signs: readonly Sign[];
  /** Pure: the same evidence gives the same finding. `undefined` where this is not the trouble. */
  judge(evidence: Evidence): Finding | undefined;
}

/** What a diagnosis says of this machine. */
export interface Finding {
  /** The cause, in one sentence. */
  readonly cause: string;
  /** The line, or the value that was read, by which it is known. */
  readonly evidence: string;
  /** Changes of the stack file that mend it. */
  readonly edits?: readonly Edit[];
  /** What mends it where the stack file can't, or what else is to be known of the change. */
  readonly advice?: string;
  /** What to run next. */
  readonly command: string;
}

/** Applies a changed stack file, once the plan has been read. */
export const APPLY = "serving plan && npm run up";
