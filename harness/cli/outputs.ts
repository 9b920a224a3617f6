// What the harness's commands print with `--format json`.
import type { Refused } from "../../commandLine/command";
import type { Fault } from "../../faults/fault";
import type { EffectiveValue } from "../analytics/layers";
import type { AppRun } from "../app/lifecycle";
import type { JobEnd } from "../app/supervisor";
import type { CapturedBaseline } from "../automation/frozenContract";
import type { GateResult } from "../gates/coverageGate";
import type { Coverage } from "../gates/coverageReport";
import type { ProviderVerdict } from "../providers/chatProbe";
import type { ReviewerChain } from "../providers/reviewers";
import type { CheckResult } from "./checkResult";

interface ProvidersCheck extends CheckResult {
  readonly probes: readonly ProviderVerdict[];
  readonly reviewers: readonly ReviewerChain[];
  readonly costs: readonly {
    readonly provider: string;
    readonly basis: "metered" | "estimated";
    /** What the probe's own request cost, where the server says its tokens. */
    readonly probe_usd?: number;
  }[];
}

/** A contract that was frozen, or why it was not. */
type FreezeOutput =
  | {
      readonly frozen: true;
      readonly file: string;
      readonly sha256: string;
      readonly baseline: CapturedBaseline | null;
    }
  | { readonly frozen: false; readonly fault: string }
  | ({ readonly frozen: false } & CheckResult & Refused);

/** `ledger` is the folder that keeps output and events. */
interface AppOutput extends Omit<AppRun<never>, "result"> {
  readonly verdict: "pass" | "fail";
  /** `null` where the evaluator did not run. */
  readonly evaluator: JobEnd | null;
  readonly ledger: string;
}

/** With a faulty config there are `issues`, and nothing ran. */
interface GateOutput extends GateResult {
  readonly gate: "coverage" | "visual";
  readonly ledger?: string;
  readonly issues?: readonly Fault[];
  /** The same, as every command has them. */
  readonly faults?: readonly Fault[];
  /** `null` where nothing could be measured. */
  readonly measured?: Coverage | null;
  readonly baseline?: CapturedBaseline | null;
  /** The commit whose checkout was judged. */
  readonly commit?: string;
  readonly app?: Omit<AppRun<never>, "result">;
}

/** Every command of the harness, by its words. */
export interface HarnessOutputs {
  readonly "config check": CheckResult | ProvidersCheck;
  readonly "config show": {
    readonly values: Readonly<Record<string, EffectiveValue>>;
    readonly issues: readonly Fault[];
  };
  readonly "config set": {
    readonly written: boolean;
    readonly file: string;
    readonly key: string;
    readonly issues: readonly Fault[];
  };
  readonly "config init": { readonly written: boolean; readonly file: string };
  readonly "config freeze": FreezeOutput;
  readonly "app run": AppOutput;
  readonly "gate coverage": GateOutput;
  readonly "gate visual": GateOutput;
}
