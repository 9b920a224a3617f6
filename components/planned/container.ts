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
  /** Its entrypoint is the start gate, which runs `vllm serve` with `command` as its arguments. */
  readonly gate?: true;
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables whose values reach the container as files. */
  readonly secretEnv: readonly string[];
  readonly ports: readonly PublishedPort[];
  readonly mounts: readonly Mount[];
  readonly gpus: "all" | null;
  readonly ipc: "host" | "private";
  /** Size of a /dev/shm of its own. */
  readonly shmGiB?: number;
  /** Device files of the machine. */
  readonly devices?: readonly string[];
  readonly capabilities?: readonly string[];
  /** A Docker network, or `host`: then it has the machine's own addresses, and publishes nothing. */
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

/** Label that every container of ours carries; its value is the machine's name in the stack file. */
export const MACHINE_LABEL = "local-serving.machine";

/** The network of a container that has the machine's own addresses. */
export const HOST_NETWORK = "host";

/** Label with the server's key in the stack file. */
export const SERVER_LABEL = "local-serving.server";

/** Label with a fingerprint of the configuration that a container was started with. */
export const CONFIG_LABEL = "local-serving.config";

/** The variables of a container in one order, whoever named them. */
export const inNameOrder = (variables: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1)));
