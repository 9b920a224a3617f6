import type { AnalyticsConfiguration } from "@local-serving/harness/analytics/configuration";
import type { ProfileCheck } from "@local-serving/harness/providers/check";
import type { AskedProvider } from "@local-serving/harness/providers/probe";
import type { ClientPlan } from "../../components/clients";
import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import type { PlannedContainer } from "../../components/planned";
import type { HostSimpleServerPlan } from "../../components/services/simple-server";
import type { Api } from "../sees/api";
import type { Host } from "../sees/host";
import type { ProcessStart } from "../sees/metrics";
import type { LlamaSwap, SwapPlan } from "../sees/onDemand/llamaSwap";
import type { Named } from "../stack/named";
import type { Common } from "./commonTarget";
import type { Probe } from "./probe";
import type { RanksTarget } from "./ranksTarget";

/** Something on a machine that probes ask. */
export type Target =
  | InstanceATarget
  | InstanceAClientsTarget
  | RanksTarget
  | ServerTarget
  | BridgeTarget
  | ChatUiTarget
  | SimpleServerTarget
  | SimpleModelTarget
  | ServiceTarget
  | OnDemandTarget
  | HarnessTarget
  | ProviderTarget
  | MachineTarget;

/** The probes of one kind of target. */
export type ProbesOf<Kind extends Target["kind"]> = readonly Probe<
  Extract<Target, { kind: Kind }>
>[];

/** Instance A, which is never changed. */
export interface InstanceATarget extends Common {
  readonly kind: "instance-a";
  readonly api: Api;
  readonly port: number;
  /** Its process before the first probe; `undefined` if nothing tells. */
  readonly before: ProcessStart | undefined;
}

/** Instance A as the coding clients that are pointed at it use it. */
export interface InstanceAClientsTarget extends Common {
  readonly kind: "instance-a-clients";
  readonly api: Api;
  readonly declared: Exclude<MachinePlan["hostInstance"], "none">;
  /** Empty where only `--only`, or its name, asks for it. */
  readonly clients: readonly ClientPlan[];
}

export interface ServerTarget extends Common {
  readonly kind: "inference-server";
  readonly api: Api;
  readonly server: InferenceServerPlan;
  /** Its declared names behind the canonical one. */
  readonly aliases: readonly string[];
  readonly maxModelLen: number;
  /** Times the usual number of output tokens that an answer gets; 1 if left out. */
  readonly moreTokens?: number;
  /** A setting of this server, by its full name in the stack file. */
  readonly setting: (key: string) => string;
  /** The way of the messages-style client in the stack file; `undefined` without such a client. */
  readonly messagesVia: ClientPlan["via"] | undefined;
  /** Why it doesn't run, where that is as planned. */
  readonly stopped?: string;
  /** Whether `--base-url` named it: the rest of the plan may be elsewhere. */
  readonly alone: boolean;
}

export interface BridgeTarget extends Common {
  readonly kind: "bridge";
  readonly api: Api;
  readonly model: string;
  /** Every name that it is declared to list. */
  readonly names: readonly string[];
  /** Variable that holds its key; `undefined` if the key is a placeholder. */
  readonly keyVariable: string | undefined;
  /** Names that the messages-style client pins its tiers to. */
  readonly tiers: readonly string[];
  /** The first server behind it that runs, where that is one of ours. */
  readonly server: ServerTarget | undefined;
  /** Why the first server behind it doesn't run, where that is as planned. */
  readonly stopped?: string;
}

export interface ChatUiTarget extends Common {
  readonly kind: "chat-ui";
  readonly api: Api;
  readonly container: PlannedContainer;
  /** Containers of servers that don't run, as planned. */
  readonly stopped: readonly string[];
}

export interface SimpleServerTarget extends Common {
  readonly kind: "simple-server";
  readonly api: Api;
  readonly plan: HostSimpleServerPlan;
}

/** A model that the simple server is declared to have. */
export interface SimpleModelTarget extends Common {
  readonly kind: "simple-model";
  readonly api: Api;
  readonly plan: HostSimpleServerPlan;
  readonly model: string;
  /** Whether the run names its probes; asking loads the model. */
  readonly named: boolean;
}

/** llama-swap, which starts servers by request. */
export interface OnDemandTarget extends Common {
  readonly kind: "on-demand";
  readonly planned: SwapPlan;
  readonly swap: LlamaSwap;
}

/** A service without probes of its own. */
export interface ServiceTarget extends Common {
  readonly kind: "service";
  readonly api: Api;
}

/** The harness's files. */
export interface HarnessTarget extends Common {
  readonly kind: "harness";
  readonly timeoutSeconds: number;
  readonly profile: ReadFile<{
    readonly verdict: ProfileCheck;
    readonly providers: readonly AskedProvider[];
  }>;
  /**
   * The session-analytics file upon the defaults; the environment of this shell is not the
   * harness's.
   */
  readonly analytics: ReadFile<AnalyticsConfiguration>;
  /** NAME of the variable with the judge's key. */
  readonly judgeKeyVariable: string;
}

/** A file of the harness on the machine, or why it can't be read. */
export type ReadFile<Content> = { readonly content: Content } | { readonly unreadable: string };

/** One provider of the profile, or why none can be asked. */
export interface ProviderTarget extends Common {
  readonly kind: "harness-provider";
  readonly timeoutSeconds: number;
  readonly asked: AskedProvider;
}

export interface MachineTarget extends Common {
  readonly kind: "machine";
  /**
   * When the run began, in milliseconds: of a container that started later, the probes before met
   * two.
   */
  readonly began: number;
}

export interface TargetOptions {
  readonly timeoutSeconds: number;
  /**
   * Probe an inference server here instead of at its planned address, and nothing else unless it is
   * named.
   */
  readonly baseUrl?: string;
  /** Run these probes alone. */
  readonly only?: readonly string[];
  /** Containers of servers that are probed otherwise. */
  readonly except?: readonly string[];
  /** Probe these servers and services alone. */
  readonly about?: readonly Named[];
  /** The machine's files, processes and Docker, by the machine's Docker address. */
  readonly host: (dockerHost: string) => Host;
  /** All machines of the plan: a server may run on others, too. */
  readonly machines?: readonly MachinePlan[];
}
