import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { refusesExpandableSegments } from "@local-serving/vllm/argv/connectors";
import { demandOf } from "@local-serving/vllm/argv/memoryDemand";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import type { MemoryDemand } from "@local-serving/vllm/utilization";
import type { Placement } from "../features/kind";
import {
  type ImageFacts,
  inNameOrder,
  LABEL,
  type PlannedContainer,
  type Reach,
  type SecretFile,
} from "../planned";
import type { inferenceServerSchema } from "../planned/schema";
import { INSIDE, type InferenceServerSettings, type MachineSettings } from "../settings";
import { makesTemplate } from "./chatTemplate";
import { hubModels } from "./hubModels";
import { launchArguments } from "./launchArguments";
import {
  folderMounts,
  foldersLabel,
  ownModelFields,
  type PlannedAdapter,
  plannedAdapters,
} from "./ownModels";
import { placementOf } from "./placement";
import { type Serve, served } from "./serve";
import { GATED_PROGRAM, gatedEntrypoint, gateMounts, healthUrl } from "./startGate";

/** One inference server: its container, and facts that the container's arguments don't carry. */
export type InferenceServerPlan = DataOf<typeof inferenceServerSchema>;

const TOKEN_INSIDE = "/run/secrets/hugging-face-token";

/**
 * Seconds vLLM waits for its own engine; its default of 600 ends a first start that is still
 * compiling.
 */
const ENGINE_READY_TIMEOUT_SECONDS = 3600;

/** Variables that every server has, unless its `environment` says otherwise. */
export const USUAL_VARIABLES = {
  // Without it, PyTorch keeps what one long prompt took: on a GB10, 337,000 tokens left 1.35 of
  // 10.4 GB available for good (MiaAI-Lab/GLM-5.3 #57, 2026-09).
  PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True",
  VLLM_ENGINE_READY_TIMEOUT_S: String(ENGINE_READY_TIMEOUT_SECONDS),
} as const;

/** 64 MiB of stack, as the published recipes for this machine set it. */
const STACK_BYTES = 67_108_864;

/** Directories on the machine that a server uses. */
export interface ServerDirectories {
  /** Models; made when missing, never removed. */
  readonly modelCache: string;
  /** What we keep on the machine. */
  readonly state: string;
  /** What the start gate reads. */
  readonly gate: string;
  /** Home of the operator on the machine, which `~/` means. */
  readonly home: string;
}

/** What a server is planned from, beside its own settings and its machine's. */
export interface ServerSurroundings {
  readonly directories: ServerDirectories;
  /** All machines of the stack: a server may run on several. */
  readonly machines: Readonly<Record<string, MachineSettings>>;
  /** Names of the coding clients that are pointed at the server. */
  readonly codingClients: readonly string[];
  /** Fingerprint of a declared folder's files, by its path in the stack file; where it is known. */
  readonly digestOf: (place: string) => string | undefined;
}

/** Inputs of the `InferenceServer` component: what policies read of it beside its container. */
export function serverInputs(
  machine: string,
  { container, model, codingClients }: InferenceServerPlan,
) {
  return { machine, container: container.name, model, codingClients };
}

/** Inputs of the `ImageRecord` component: what policies read of what is known of its image. */
export const imageRecordInputs = ({ digest, versions, evidence, recordedOf }: ImageFacts) => ({
  digest,
  versions,
  evidence,
  recordedOf,
});

/**
 * Name of the resource that records the versions inside a server's image, by the name of its own.
 */
export const imageRecordName = (server: string): string => `${server}-image-record`;

/** A server as a machine of the stack file declares it. */
interface DeclaredServer {
  readonly machineName: string;
  readonly machine: MachineSettings;
  readonly key: string;
  readonly server: InferenceServerSettings;
}

/** Everything that one inference server declares on this machine. */
export function plannedServer(
  declared: DeclaredServer,
  { directories, machines, codingClients, digestOf }: ServerSurroundings,
): InferenceServerPlan {
  const { machineName, machine, key, server } = declared;
  const jitVolume = `${machine.network}-${key}-jit`;
  const token = tokenFile(machineName, key, server, directories.state);
  // In the letters that Docker allows.
  const headName = `vllm-${server.servedModelName.replace(/[^a-zA-Z0-9_.-]+/g, "-").toLowerCase()}-${server.port}`;
  const placement = placementOf(declared, headName, machines);
  const name = placement.container;
  const serve = served(key, name, server);
  const env = environment(server, placement.defaults);
  const { variables, detail } = placement.sealed({
    image: server.image,
    firstCommand: launchArguments(server, serve, { ...placement, flags: placement.firstFlags }),
    env,
  });
  const adapters = plannedAdapters(server, directories.home);
  const reach: Reach = { key, name, port: server.port, path: "/v1", ...placement.reach };
  const container = serverContainer(declared, {
    directories,
    jitVolume,
    token,
    name,
    serve,
    env: inNameOrder({ ...env, ...variables }),
    placement,
    reach,
    adapters,
    folders: foldersLabel(server, digestOf),
  });
  const demand = demandOf(readServerArguments(container.command), { adaptersCounted: true });
  const memory: MemoryDemand = demand.known
    ? demand.memory
    : { utilization: server.gpuMemoryUtilization };
  return {
    key,
    model: { id: server.model.id, kind: server.model.kind, thinking: server.model.thinking },
    servedModelName: server.servedModelName,
    serve,
    reach,
    container,
    ...detail,
    memory,
    imageRecord: imageFacts(server),
    modelCache: directories.modelCache,
    hubModels: hubModels(server),
    ...ownModelFields(server, adapters),
    ...defined({ tokenFile: token }),
    jitVolume,
    codingClients,
  };
}

/** What is computed for a server before its container. */
interface Prepared {
  readonly directories: ServerDirectories;
  readonly jitVolume: string;
  readonly token: SecretFile | undefined;
  /** Name of the container. */
  readonly name: string;
  readonly serve: Serve;
  readonly env: Readonly<Record<string, string>>;
  readonly placement: Placement;
  readonly reach: Reach;
  readonly adapters: readonly PlannedAdapter[];
  /** The label by which folders are told, where they are known. */
  readonly folders: Readonly<Record<string, string>>;
}

function serverContainer(
  { machineName, machine, key, server }: DeclaredServer,
  {
    directories,
    jitVolume,
    token,
    name,
    serve,
    env,
    placement,
    reach,
    adapters,
    folders,
  }: Prepared,
): PlannedContainer {
  return {
    role: "inference-server",
    resource: `${machineName}-${key}`,
    name,
    image: server.image,
    command: launchArguments(server, serve, placement),
    entrypoint: gatedEntrypoint(name, makesTemplate(server)),
    gate: { starts: GATED_PROGRAM },
    env,
    secretEnv: token === undefined ? [] : [token.variable],
    ports: placement.publishes
      ? [{ ip: reach.address, host: server.port, container: server.port }]
      : [],
    mounts: [
      { type: "bind", source: directories.modelCache, target: INSIDE.modelCache, readOnly: false },
      { type: "volume", source: jitVolume, target: INSIDE.jitCache, readOnly: false },
      ...gateMounts(directories.gate, machine.network),
      ...(token === undefined
        ? []
        : [{ type: "bind" as const, source: token.path, target: TOKEN_INSIDE, readOnly: true }]),
      ...folderMounts(server, adapters, directories.home),
    ],
    gpus: "all",
    ...placement.isolation,
    hosts: ["host.docker.internal:host-gateway"],
    ...(server.start === "onRequest"
      ? { start: server.start, restart: "no" }
      : { restart: "unless-stopped" }),
    healthcheck: {
      // curl is part of the image; the port is the server's own, inside the container.
      test: ["CMD", "curl", "-fsS", "-o", "/dev/null", healthUrl(reach)],
      intervalSeconds: server.healthcheck.intervalSeconds,
      timeoutSeconds: server.healthcheck.timeoutSeconds,
      startPeriodSeconds: server.healthcheck.startPeriodMinutes * 60,
      retries: server.healthcheck.retries,
    },
    ulimits: [
      { name: "memlock", soft: server.lockedMemoryBytes, hard: server.lockedMemoryBytes },
      { name: "stack", soft: STACK_BYTES, hard: STACK_BYTES },
    ],
    stopGraceSeconds: server.stopGraceSeconds,
    labels: {
      [LABEL.machine]: machineName,
      [LABEL.server]: key,
      ...folders,
      ...(server.start === "onRequest" ? { [LABEL.start]: server.start } : {}),
    },
  };
}

/**
 * A token is never in an environment, where `docker inspect` would show it: huggingface_hub reads
 * it from this file.
 */
function tokenFile(
  machineName: string,
  key: string,
  { huggingFaceTokenVariable: variable }: InferenceServerSettings,
  stateDirectory: string,
): SecretFile | undefined {
  if (variable === undefined) return undefined;
  const path = `${stateDirectory}/${machineName}/secrets/${key}-hugging-face-token`;
  return {
    role: `hugging-face-token-${key}`,
    resource: `${machineName}-${key}-token`,
    partOf: `${machineName}-${key}`,
    purpose: `Hugging Face token of ${key}.`,
    path,
    mode: "0600",
    variable,
  };
}

/** The variables that are the same on every machine of a server. */
function environment(
  server: InferenceServerSettings,
  more: Readonly<Record<string, string>>,
): Record<string, string> {
  const jobs = String(server.compileJobs);
  const { PYTORCH_CUDA_ALLOC_CONF, VLLM_ENGINE_READY_TIMEOUT_S } = USUAL_VARIABLES;
  const ours: Record<string, string> = {
    ...more,
    ...(server.huggingFaceTokenVariable === undefined ? {} : { HF_TOKEN_PATH: TOKEN_INSIDE }),
    FLASHINFER_WORKSPACE_BASE: `${INSIDE.jitCache}/flashinfer`,
    MAX_JOBS: jobs,
    NINJA_JOBS: jobs,
    ...(refusesExpandableSegments(readServerArguments(server.extraArgs))
      ? {}
      : { PYTORCH_CUDA_ALLOC_CONF }),
    TORCHINDUCTOR_CACHE_DIR: `${INSIDE.jitCache}/inductor`,
    TRITON_CACHE_DIR: `${INSIDE.jitCache}/triton`,
    VLLM_CACHE_ROOT: `${INSIDE.jitCache}/vllm`,
    VLLM_ENGINE_READY_TIMEOUT_S,
    // The specification asks for it; vLLM dropped it in 0.24, and `moeBackend` does what it meant.
    VLLM_USE_FLASHINFER_MOE_FP4: "0",
  };
  return inNameOrder({ ...ours, ...server.environment });
}

function imageFacts(server: InferenceServerSettings): ImageFacts {
  const { versions } = server;
  return {
    image: server.image,
    digest: imageReference(server.image)?.digest ?? "",
    versions: defined({ vllm: versions?.vllm, transformers: versions?.transformers }),
    evidence: versions?.evidence ?? "none",
    source: versions?.source ?? "",
    recordedOf: versions?.digest ?? "",
    ...defined({ platformDigest: versions?.platformDigest }),
  };
}
