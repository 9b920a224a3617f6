/** What was read of a machine before anything on it is touched. Everything here comes from reading alone. */
export interface MachineFacts {
  /** What Docker answered; `reachable: false` carries the reason. */
  readonly docker: DockerFacts;
  /** MemTotal and MemAvailable in GiB; absent where they couldn't be read. */
  readonly memory?: { readonly totalGiB: number; readonly availableGiB: number };
  /** Ports that something listens on, with the argv of the process where it could be read. */
  readonly listeners: readonly Listener[];
  /** Directories that the plan needs, and whether they can be used. */
  readonly directories: readonly DirectoryFacts[];
}

export type DockerFacts =
  | { readonly reachable: false; readonly reason: string }
  | {
      readonly reachable: true;
      /** Whether a request for all GPUs can be served. */
      readonly gpuRuntime: boolean;
      readonly containers: readonly RunningContainer[];
    };

/** A running container that carries our label for this machine. */
export interface RunningContainer {
  readonly name: string;
  /** Entrypoint and command. */
  readonly argv: readonly string[];
  readonly hostPorts: readonly number[];
}

export interface Listener {
  readonly port: number;
  /** argv of the listening process; `undefined` when it belongs to another user. */
  readonly argv?: readonly string[];
}

export interface DirectoryFacts {
  readonly path: string;
  /** Why it can't be used; `undefined` when it can. */
  readonly problem?: string;
}

/** What the preflight found: a refusal stops before the first resource, a warning is logged. */
export interface PreflightFinding {
  readonly verdict: "refused" | "warned";
  readonly message: string;
}
