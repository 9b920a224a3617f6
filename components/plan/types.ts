import type { BridgePlan } from "../bridge/plannedBridge";
import type { ChatUiPlan } from "../chat-ui/plannedChatUi";
import type { ClientPlan } from "../clients/plannedClients";
import type { ClientRole } from "../clients/registry";
import type { HarnessPlan } from "../harness-files/plannedHarness";
import type { InferenceServerPlan } from "../inference-server/plannedServer";
import type { Serve } from "../inference-server/serve";
import type { Ledger } from "../memory/ledger";
import type { AdmissionOnPaper } from "../memory/machineMemory";
import type { ServerKv } from "../memory/serverKv";
import type { StartNeeds } from "../memory/startNeeds";
import type { PlannedContainer } from "../planned/container";
import type { HostInstanceFacts, Warning } from "../planned/facts";
import type { FileRole, PlannedFile, SecretFile } from "../planned/file";
import type { Endpoint, Reach } from "../planned/reach";
import type { SimpleServerPlan } from "../simple-server/plannedSimpleServer";

/** The plan: everything that will run and be written, as plain data. The same settings and evidence give the same plan. */
export type Plan = { readonly machines: readonly MachinePlan[]; readonly warnings: readonly Warning[] };

/** Every server of ours that takes memory on a machine: those that answer, and workers of other machines' servers. */
export const serversOn = ({
  inferenceServers,
  ranks,
}: Pick<MachinePlan, "inferenceServers" | "ranks">): InferenceServerPlan[] => [...inferenceServers, ...ranks];

/** What one machine will run. */
export interface MachinePlan {
  readonly name: string;
  readonly dockerHost: string;
  readonly network: string;
  /** Home directory that its paths were planned below, where it is another computer and nobody declared it. */
  readonly home?: string;
  readonly hostInstance: HostInstanceFacts | "none";
  /** The servers that answer here; of one over several machines, its head. */
  readonly inferenceServers: readonly InferenceServerPlan[];
  /** Workers of other machines' servers that run here: containers without an API. */
  readonly ranks: readonly InferenceServerPlan[];
  /** What each of `inferenceServers` serves. */
  readonly serve: readonly Serve[];
  readonly bridge: BridgePlan | null;
  readonly chatUi: ChatUiPlan | null;
  readonly clients: readonly ClientPlan[];
  readonly harness: HarnessPlan | null;
  readonly containers: readonly PlannedContainer[];
  readonly files: readonly PlannedFile<FileRole | ClientRole>[];
  /** Files whose content is a secret: known by the name of the variable that holds it. */
  readonly secretFiles: readonly SecretFile[];
  readonly simpleServer: SimpleServerPlan;
  /** Words before a command that needs root; with `none` such steps are skipped and listed in `commands`. */
  readonly elevate: "none" | readonly string[];
  /** How long an update lets requests end before their server goes. */
  readonly waitForRequestsMinutes: number;
  readonly ledger: Ledger;
  /** What containers with GPUs take that are no inference servers, in GiB, where it is declared. */
  readonly otherGpuMemoryGiB?: number;
  /** GPUs of the machine, where it has more than one. */
  readonly gpus?: number;
  /** KV cache plan by container name; `null` where the model's layers or its room are not known. */
  readonly kv: Readonly<Record<string, ServerKv | null>>;
  /** The least that each server of ours needs to start, by container name. */
  readonly starts: Readonly<Record<string, StartNeeds>>;
  /** vLLM's own check at a start, on paper: one entry a server of ours, where the machine's meminfo was given. */
  readonly admission: readonly AdmissionOnPaper[];
  /** Everything that answers on a port, instance A included. */
  readonly reach: readonly Reach[];
  /** The same as a program on the machine asks it. */
  readonly endpoints: readonly Endpoint[];
  /** Commands that an operator has to run, because nothing of ours may. */
  readonly commands: readonly string[];
}
