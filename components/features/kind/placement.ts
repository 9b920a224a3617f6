import type { PlannedContainer, PlannedServer, Reach } from "../../planned";

/**
 * How one container of a server stands on its machine: what of it depends on where else the server
 * runs.
 */
export interface Placement {
  readonly container: string;
  /** Values of flags that no setting gives, or that differ from it. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** The same of the server's first container, by which all of them are compared. */
  readonly firstFlags: Readonly<Record<string, unknown>>;
  /** Arguments that no setting gives. */
  readonly arguments: readonly string[];
  /** Variables that the server's `environment` may set otherwise. */
  readonly defaults: Readonly<Record<string, string>>;
  readonly reach: Pick<Reach, "address" | "onLink">;
  /** Whether Docker publishes its port. */
  readonly publishes: boolean;
  readonly isolation: Pick<
    PlannedContainer,
    "ipc" | "shmGiB" | "devices" | "capabilities" | "network"
  >;
  /** What is known only once the container is: variables of its own, and fields of the plan. */
  readonly sealed: (made: {
    readonly image: string;
    readonly firstCommand: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  }) => {
    readonly variables: Readonly<Record<string, string>>;
    readonly detail: Partial<PlannedServer>;
  };
}

/** A server of the stack file, the machine to place it on, and all machines of the stack. */
export interface Placing<Server, Machine> {
  readonly machine: string;
  readonly server: Server;
  /** Name of its container where it runs alone. */
  readonly container: string;
  readonly machines: Readonly<Record<string, Machine>>;
}
