import type { Admission, KvPlan } from "./kv";
import type { Prefill } from "./kv/prefill";
import type { AdmissionOnPaper } from "./ledger/meminfoUse";

/** The plan: everything that will run and be written, as plain data. The same settings and evidence give the same plan. */
export interface Plan {
  readonly machines: readonly MachinePlan[];
  readonly warnings: readonly Warning[];
}

/** What one machine will run. */
export interface MachinePlan {
  readonly name: string;
  readonly dockerHost: string;
  readonly network: string;
  readonly hostInstance: HostInstanceFacts | "none";
  readonly inferenceServers: readonly InferenceServerPlan[];
  readonly bridge: BridgePlan | null;
  readonly chatUi: ChatUiPlan | null;
  readonly clients: readonly ClientPlan[];
  readonly harness: HarnessPlan | null;
  readonly containers: readonly PlannedContainer[];
  readonly files: readonly PlannedFile[];
  /** Files whose content is a secret: known by the name of the variable that holds it. */
  readonly secretFiles: readonly SecretFile[];
  readonly simpleServer: SimpleServerPlan;
  /** Words before a command that needs root; with `none` such steps are skipped and stand in `commands`. */
  readonly elevate: "none" | readonly string[];
  readonly ledger: Ledger;
  /** KV cache plan by container name; `null` where the model's layers or its room are not known. */
  readonly kv: Readonly<Record<string, ServerKv | null>>;
  /** vLLM's own check at a start, on paper: one entry a server of ours, where the machine's meminfo was given. */
  readonly admission: readonly AdmissionOnPaper[];
  readonly endpoints: readonly Endpoint[];
  /** Commands that an operator has to run, because nothing of ours may. */
  readonly commands: readonly string[];
}

/** The KV plan of one server. Its figures are those of the least room (`room.lowGiB`); `atBest` has those of the most. */
export interface ServerKv extends KvPlan {
  readonly room: KvRoom;
  /** Size of the weights in GB (10^9 bytes); `null` where it is not known. */
  readonly weightsGB: number | null;
  readonly atBest: { readonly fits: boolean; readonly maxConcurrency: number };
  /** How many coding agents work at once, by size. */
  readonly agents: readonly Admission[];
  /** What a cold prompt costs. */
  readonly prefill: readonly Prefill[];
}

/** Memory for the KV cache of one server: utilization x total, less what the server takes outside it. */
export interface KvRoom {
  /** Where the figure is from: a measurement of this image, a setting, somebody's published start, or the weights alone. */
  readonly basis: "measured" | "setting" | "published" | "estimated";
  /** The same twice where it is exact. */
  readonly lowGiB: number;
  readonly highGiB: number;
  /** What lies outside the KV cache. */
  readonly outsideGiB: { readonly low: number; readonly high: number };
  readonly source: string;
}

/** Instance A as it is declared. */
export interface HostInstanceFacts {
  readonly port: number;
  readonly gpuMemoryUtilization: number;
  readonly maxModelLen?: number;
  readonly model?: string;
  readonly weightsGB?: number;
}

/** One inference server: its container, and the facts that no argument of the container carries. */
export interface InferenceServerPlan {
  /** Key in the stack file. */
  readonly key: string;
  readonly model: { readonly id: string; readonly kind: "chat" | "base"; readonly thinking: boolean };
  readonly servedModelName: string;
  readonly container: PlannedContainer;
  readonly imageRecord: ImageFacts;
  /** Directory on the machine that holds the models; made when missing, never removed. */
  readonly modelCache: string;
  /** The Hugging Face token, where one is needed. */
  readonly tokenFile?: SecretFile;
  /** Volume for compiled kernels; it survives a replacement of the container. */
  readonly jitVolume: string;
  /** Coding clients that are pointed at this server. */
  readonly codingClients: readonly string[];
}

/** The protocol bridge: its container and what that reads. */
export interface BridgePlan {
  readonly container: PlannedContainer;
  readonly config: PlannedFile;
  /** Where its key comes from; `null` where it is a placeholder. */
  readonly key: SecretFile | null;
  /** Address and port that it is published on. */
  readonly address: string;
  readonly port: number;
  /** Keys of the servers behind it. */
  readonly servers: readonly string[];
  /** Names that it answers to; one may end in `*`. */
  readonly names: readonly string[];
}

/** The browser chat UI: its container and the volume that keeps its data. */
export interface ChatUiPlan {
  readonly container: PlannedContainer;
  /** Accounts and chats; kept when the stack goes. */
  readonly dataVolume: string;
  /** Models of an Ollama in the same container, `null` without one; kept as well. */
  readonly modelsVolume: string | null;
  /** Address and port that it is published on. */
  readonly address: string;
  readonly port: number;
  /** Keys of the servers that it is connected to. */
  readonly servers: readonly string[];
}

export type ClientName = "claude-code" | "codex" | "client-env" | "opencode" | "pi" | "qwen-code";

/** A client program that is given a configuration and a launcher. */
export interface ClientPlan {
  readonly client: ClientName;
  /** Name of the resource in the stack. */
  readonly resource: string;
  /** Whether it works only with structured tool calls. */
  readonly coding: boolean;
  /** Key of the server that answers it in the end. */
  readonly server: string;
  readonly serverKind: "inference-server" | "instance-a" | "simple-server";
  readonly via: "bridge" | "native";
  /** Base URL as it stands in its file. */
  readonly baseUrl: string;
  /** Each model variable of its file with the name that it asks for. */
  readonly tiers: Readonly<Record<string, string>>;
  /** Names that what it talks to answers to; empty where none is known, and one may end in `*`. */
  readonly names: readonly string[];
  /** Launcher that starts it. */
  readonly command: string;
  readonly files: readonly PlannedFile[];
}

/** What is given to the automation harness; the texts are among the machine's files. */
export interface HarnessPlan {
  /** What the harness's environment variables begin with, the underscore included. */
  readonly prefix: string;
  /** Path of the providers profile. */
  readonly providers: string;
  /** Path of the session-analytics file. */
  readonly analytics: string;
}

/** Versions inside an image, and how they are known. */
export interface ImageFacts {
  readonly image: string;
  /** `sha256:<64 hex>`, or "" where the image carries none. */
  readonly digest: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly evidence: "published" | "read" | "none";
  readonly source: string;
}

export type ContainerRole = "inference-server" | "chat-ui" | "bridge";

/** A container with every value made plain, nothing left to a daemon's default. */
export interface PlannedContainer {
  readonly role: ContainerRole;
  /** Name of the resource in the stack; it stays the same when the container's own name changes. */
  readonly resource: string;
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Replaces the image's own entrypoint; `null` keeps it. */
  readonly entrypoint: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables whose values reach the container as files. */
  readonly secretEnv: readonly string[];
  readonly ports: readonly PublishedPort[];
  readonly mounts: readonly Mount[];
  readonly gpus: "all" | null;
  readonly ipc: "host" | "private";
  readonly network: string;
  /** Extra host names, `name:address`. */
  readonly hosts: readonly string[];
  readonly restart: "unless-stopped";
  readonly healthcheck: Healthcheck;
  readonly ulimits: readonly { readonly name: string; readonly soft: number; readonly hard: number }[];
  readonly stopGraceSeconds: number;
  readonly labels: Readonly<Record<string, string>>;
}

export interface PublishedPort {
  readonly ip: string;
  readonly host: number;
  readonly container: number;
}

export interface Mount {
  readonly type: "bind" | "volume";
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface Healthcheck {
  readonly test: readonly string[];
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly startPeriodSeconds: number;
  readonly retries: number;
}

/** A file that will be written on the machine. */
export interface PlannedFile {
  readonly role: string;
  readonly path: string;
  readonly mode: string;
  readonly text: string;
}

/** A file whose content is the value of a variable of the operator's shell. */
export interface SecretFile {
  readonly role: string;
  readonly path: string;
  readonly mode: "0600";
  /** Name of the variable. */
  readonly variable: string;
}

/** Where the simple server (Ollama) is, and what is set of it. */
export type SimpleServerPlan =
  | { readonly mode: "none" }
  | { readonly mode: "integrated"; readonly models: readonly string[] }
  | HostSimpleServerPlan;

/** An Ollama that is installed on the host. */
export interface HostSimpleServerPlan {
  readonly mode: "host";
  /** systemd unit of the service. */
  readonly unit: string;
  /** Address and port that it listens on. */
  readonly listen: string;
  readonly port: number;
  /** Where it is reached from the machine itself. */
  readonly baseUrl: string;
  readonly modelsDirectory: string;
  /** User that the service runs as, who must own the directory. */
  readonly serviceUser: string;
  readonly models: readonly string[];
  /** Memory in GiB of a loaded model, its context included, where it is declared. */
  readonly loadedGiB: Readonly<Record<string, number>>;
  /** Whether missing models are pulled. */
  readonly pull: boolean;
  /** Drop-in of the unit. */
  readonly dropIn: PlannedFile;
}

/** Memory of one machine, line by line. */
export interface Ledger {
  readonly totalGiB: number;
  /** Sum of the utilizations of all inference servers, instance A included. */
  readonly aggregateUtilization: number;
  readonly sumGiB: number;
  readonly lines: readonly LedgerLine[];
  /** For each of our servers, the largest utilization that fits beside everything else, rounded down to 0.01. */
  readonly largestUtilizationThatFits: Readonly<Record<string, number>>;
  /** What stands behind it: the smaller of the two is the answer. */
  readonly largestUtilization: Readonly<Record<string, LargestUtilization>>;
}

/** Largest utilizations of one server, rounded down to 0.01; 0 where none fits. */
export interface LargestUtilization {
  /** By the sum of all lines against the machine's total. */
  readonly bySum: number;
  /** By the limit on the sum of utilizations. */
  readonly byAggregate: number;
}

export interface LedgerLine {
  readonly name: string;
  readonly gib: number;
  readonly basis: "setting" | "measured" | "default";
  readonly source: string;
}

export interface Endpoint {
  readonly name: string;
  readonly url: string;
}

/** Something that will work, and that an operator should know before it runs. */
export interface Warning {
  readonly machine: string;
  readonly code: string;
  readonly message: string;
}
