// What each command prints with `--format json`. docs/reference/command-output.schema.json is made
// from these types, and every such document of the tests is held against it.

import type { Refused } from "../../commandLine/command";
import type { Recipe } from "../../components/catalogue";
import type { Admission, KvPlan } from "../../components/kv";
import type { Fault } from "../../faults/fault";
import type { HarnessOutputs } from "../../harness/cli/outputs";
import type { BenchFigures } from "../bench/figures";
import type { BenchShape } from "../bench/runs";
import type { Copy } from "../copies/listCopies";
import type { DiagnosisReport } from "../doctor/report/diagnose";
import type { Drift, MachineDrift } from "../drift/drift";
import type { CommandNotes } from "../init/command/notes";
import type { Inventory } from "../inventory/inventory";
import type { Leftover } from "../inventory/leftovers";
import type { Fit } from "../models/fit";
import type { ShownSpeed } from "../models/speeds";
import type { ImageChange } from "../models/useImage";
import type { SwapsMeasured } from "../onRequest/measureSwaps";
import type { ProgramReading } from "../pin/pinProgram";
import type { ImageReading } from "../pin/readImage";
import type { CheckedPin, NewerImages } from "../pin/stackImages";
import type { HostFacts } from "../sees/computer/facts";
import type { Served } from "../sees/served";
import type { Edit } from "../stackEdit/applyEdits";
import type { ServerFigures } from "../status/itemStatus";
import type { SinceVerify } from "../status/sinceVerify";
import type { MachineStatus } from "../status/status";
import type { ListedImage } from "../upgrade/imageList";
import type { Newest } from "../upgrade/newest";
import type { Review } from "../upgrade/review";
import type { Cause } from "../verify/causes/cause";
import type { ProbeResult } from "../verify/probe";
import type { Summary } from "../verify/report";
import type { WaitedOn } from "../wait/waitForServer";

/** A stack file that was written, or would be. */
interface Change {
  /** As `git apply` takes it; empty where nothing differs. */
  readonly diff: string;
  /** Path of the old file; empty where nothing was written. */
  readonly backup: string;
}

interface InitOutput {
  readonly file: string;
  /** Files and folders that were made around it. */
  readonly made: readonly string[];
  /** Hub id of the model that server B gets; absent where it gets none. */
  readonly model?: string;
  readonly facts?: HostFacts;
  /** What has to be fixed first; the exit code is 1 then. */
  readonly mend: readonly string[];
  /** Why `serving up` would refuse the file. */
  readonly refused?: readonly string[];
  /** What became of the command that was read. */
  readonly command?: CommandNotes;
  /** Commands to run next, in order. */
  readonly next: readonly string[];
}

interface ModelRowOutput extends Omit<Fit, "recipe"> {
  /** Hub id. */
  readonly id: string;
  readonly servedModelName: string;
  /** The verdict if nothing else ran on the machine. */
  readonly alone: Fit["verdict"];
  readonly speeds: Recipe["speeds"];
  /**
   * The speed of one answer: with the values that are written (`asWritten`), else with those that
   * it names.
   */
  readonly speed: ShownSpeed | null;
}

interface ModelsOutput {
  readonly machine: string;
  /** Server of the stack file that a model would run in. */
  readonly server: string;
  readonly models: readonly ModelRowOutput[];
}

interface ModelsUseOutput extends ModelRowOutput, Change {
  readonly imageChange: ImageChange | null;
  readonly written: boolean;
}

/** `fits` is `null` where the config can't be planned. */
type KvOutput =
  | (KvPlan & {
      /** How many agents work at once, by the length of their prompts. */
      readonly agents: readonly Admission[];
    })
  | ({ readonly fits: null; readonly issues: readonly Fault[] } & Refused);

interface AddressWaitedOn extends Pick<WaitedOn, "seconds"> {
  readonly url: string;
  readonly outcome: "ready" | "timeout";
}

interface WaitOutput {
  readonly servers: readonly (
    | AddressWaitedOn
    | (WaitedOn & {
        /** With `--warm`: what was asked. */
        readonly warm?: readonly ProbeResult[];
      })
  )[];
  /** What doctor says of the machine where one died. */
  readonly diagnoses: readonly DiagnosisReport[];
  /** Services that are still starting once all servers are ready. */
  readonly starting?: readonly string[];
}

interface VerifyOutput extends Partial<Change> {
  readonly probes: readonly ProbeResult[];
  readonly summary: Summary;
  readonly causes: readonly Cause[];
}

interface DriftOutput {
  readonly machines: readonly (Omit<MachineDrift, "drifts"> & {
    readonly drifts: readonly (Omit<Drift, "mend"> & {
      /** Commands that fix it. */
      readonly mend: readonly string[];
    })[];
  })[];
  /** Commands that fix all of it, each once. */
  readonly mend: readonly string[];
}

interface StatusOutput {
  readonly machines: readonly (MachineStatus & {
    /** What `serving drift` says, in one line; empty where it isn't known. */
    readonly drift: string;
    /** What `serving verify` last found, and when. */
    readonly verify: { readonly at: string; readonly pass: number; readonly fail: number } | null;
    /** What changed of the machine's system since then. */
    readonly sinceVerify: SinceVerify | null;
  })[];
}

/** A server that somebody started by hand, with `--base-url`. */
interface AddressStatusOutput {
  readonly url: string;
  readonly state: "ready" | "does not answer";
  readonly problem: string | null;
  readonly served: Served | null;
  readonly figures: ServerFigures | null;
}

interface LogsOutput {
  readonly logs: readonly {
    readonly machine: string;
    /** Name of the container or the unit. */
    readonly name: string;
    readonly lines: readonly string[];
  }[];
}

interface TurnedContainer {
  readonly machine: string;
  readonly container: string;
  /** MemAvailable afterwards, in GiB; `null` where it can't be read. */
  readonly availableGiB: number | null;
}

/** A server that llama-swap started, and how its start ended. */
interface OnRequestStart {
  readonly start: Pick<TurnedContainer, "machine" | "container">;
  /** Always empty: llama-swap decides who stops. */
  readonly stopped: readonly string[];
  /** `null` where it did not begin, or was broken off. */
  readonly waited: WaitedOn | null;
}

type StartOutput = { readonly start: readonly TurnedContainer[] } | OnRequestStart;

interface StopOutput {
  readonly stop: readonly TurnedContainer[];
}

interface BackupOutput {
  readonly backup: {
    readonly machine: string;
    readonly service: string;
    /** Name of the copy, for `serving restore`. */
    readonly copy: string;
    readonly folder: string;
    /** How long the service was gone. */
    readonly goneSeconds: number;
  };
}

interface CopiesOutput {
  readonly machine: string;
  readonly service: string;
  readonly folder: string;
  readonly copies: readonly Copy[];
  /** Names of what else lies in the folder: no copies of ours, and never removed. */
  readonly others: readonly string[];
}

interface RestoreOutput {
  /** `null` where the answer was no. */
  readonly restored: {
    readonly machine: string;
    readonly service: string;
    readonly copy: Copy;
    /** Name of the copy that holds the data from before. */
    readonly kept: string | null;
    readonly started: boolean;
  } | null;
}

interface ClientsExportOutput {
  readonly machine: string;
  readonly folder: string;
  readonly files: readonly { readonly path: string; readonly mode: string }[];
  /** Names of the variables that hold keys on the other computer. */
  readonly variables: readonly string[];
  /** Commands that check the installation there. */
  readonly checks: readonly string[];
}

interface BenchOutput extends Partial<Change> {
  readonly machine: string;
  readonly server: string;
  readonly shape: BenchShape;
  readonly runs: readonly BenchFigures[];
  /** Speeds that others published of the model. */
  readonly published: Recipe["speeds"];
}

/** With `--swaps`. */
interface SwapsOutput extends Partial<SwapsMeasured> {
  readonly machine: string;
  readonly swaps: SwapsMeasured["swaps"];
  /** What the stack file may record of it. */
  readonly record?: {
    readonly swaps: number;
    readonly lostGiB: number;
    /** Day of the measurement. */
    readonly at: string;
  } | null;
}

interface DoctorOutput {
  readonly diagnoses: readonly DiagnosisReport[];
  /** What was read. */
  readonly looked: readonly string[];
  readonly notes: readonly string[];
  /** Faults of the stack file, without which the given files were judged. */
  readonly faults?: readonly Fault[];
}

interface PinOutput extends Partial<ImageReading>, Partial<ProgramReading>, Partial<Change> {
  readonly verdict: "pass" | "warned" | "refused" | "allowed";
  readonly reasons?: readonly string[];
  /** With `--write`. */
  readonly written?: boolean;
  readonly file?: string;
  readonly entry?: string;
}

/** With `--newer` or `--check`. */
interface PinListOutput {
  readonly images: readonly (NewerImages | CheckedPin)[];
}

interface FetchOutput {
  readonly machine: string;
  readonly complete: boolean;
  /** Why it is not. */
  readonly problems: readonly string[];
  /** What was missing at the start; sizes are `null` where nobody says them. */
  readonly missing: {
    readonly images: readonly { readonly image: string; readonly bytes: number | null }[];
    readonly models: readonly {
      readonly id: string;
      readonly revision: string | null;
      readonly bytes: number | null;
    }[];
    readonly program?: { readonly name: string; readonly bytes: number | null };
  };
  readonly disks: readonly {
    readonly paths: readonly string[];
    readonly freeBytes: number;
    readonly neededBytes: number;
  }[];
}

interface InventoryOutput extends Omit<Inventory, "record"> {
  readonly record: {
    readonly edits: readonly Edit[];
    /** The same as `git apply` takes it. */
    readonly diff: string;
  };
}

interface LeftoversOutput {
  readonly machine: string;
  readonly leftovers: readonly Leftover[];
}

interface UpgradeOutput {
  /** Version of this program that package.json names. */
  readonly pinned: string;
  readonly newest: string | null;
  readonly isNewer: boolean;
  /** What the newest release prints as its plan. */
  readonly plan: string | null;
  readonly written: boolean;
  /** Why npm can't say. */
  readonly problem?: string;
  readonly images?: readonly ListedImage[];
}

/** With a name: what is known of the image, and what a newer one would change. */
interface UpgradeImageOutput extends Newest, Partial<Review>, Partial<Change> {
  readonly name: string;
  /** Versions inside the newer image, read from it or taken from its tag. */
  readonly versions?: Readonly<Record<string, string>>;
  readonly evidence?: "read" | "tag";
  /** Ranges of transformers that each vLLM takes. */
  readonly transformers?: { readonly before: string; readonly after: string } | null;
  readonly written: boolean;
}

/** A name that has no image. */
interface NoImageOutput {
  readonly name: string;
  readonly entry: null;
  readonly image: null;
  readonly message: string;
}

/** Every command but `plan`, whose document has a schema of its own, by its words. */
export interface CommandOutputs extends HarnessOutputs {
  readonly init: InitOutput | HostFacts;
  readonly models: ModelsOutput;
  readonly "models show": ModelRowOutput & { readonly recipe: Recipe };
  readonly "models use": ModelsUseOutput;
  readonly "models add": { readonly written: readonly string[] };
  readonly kv: KvOutput;
  readonly wait: WaitOutput;
  readonly verify: VerifyOutput;
  readonly drift: DriftOutput;
  readonly status: StatusOutput | AddressStatusOutput;
  readonly logs: LogsOutput;
  readonly stop: StopOutput;
  readonly start: StartOutput;
  readonly backup: BackupOutput;
  readonly restore: CopiesOutput | RestoreOutput;
  readonly "clients export": ClientsExportOutput;
  readonly bench: BenchOutput | SwapsOutput;
  readonly doctor: DoctorOutput;
  readonly pin: PinOutput | PinListOutput;
  readonly fetch: FetchOutput;
  readonly inventory: InventoryOutput | LeftoversOutput;
  readonly "config reference":
    | { readonly written: readonly string[] }
    | { readonly stale: readonly string[] };
  readonly upgrade: UpgradeOutput | UpgradeImageOutput | NoImageOutput;
  readonly completion: { readonly shell: string; readonly script: string };
}

/** What commands print with a result, and what each prints without one. */
export interface OutputForms {
  readonly outputs: CommandOutputs;
  readonly refused: Refused;
}
