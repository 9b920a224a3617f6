import type { DockerFacts } from "@local-serving/machines/docker/engine";
import type { Listener } from "@local-serving/machines/listeners";
import type { Subnet } from "@local-serving/machines/subnet";
import type { Kernel } from "../supply";
import type { Needs } from "./fetch";
import type { FaultyVariable } from "./variables";

/**
 * What was read of a machine before anything on it is touched. Everything here comes from reading
 * alone.
 */
export interface MachineFacts {
  /** What Docker answered; `reachable: false` carries the reason. */
  readonly docker: DockerFacts;
  /** MemTotal and MemAvailable in GiB; absent where they couldn't be read. */
  readonly memory?: { readonly totalGiB: number; readonly availableGiB: number };
  /** Ports that something listens on, with the argv of the process where it could be read. */
  readonly listeners: readonly Listener[];
  /** Directories that the plan needs, and whether they can be used. */
  readonly directories: readonly DirectoryFacts[];
  /** The operator's own folders that servers read: models, adapters and mounts; where there are any. */
  readonly ownFolders?: readonly OwnFolderFacts[];
  /** Folders of the files that are written as the operator, and whether they can be. */
  readonly fileFolders: readonly DirectoryFacts[];
  /**
   * Variables that a secret file needs and that hold no such secret, each with the reason: `is not
   * set`.
   */
  readonly faultyVariables: readonly FaultyVariable[];
  /** What was read of Ollama, where there is one. */
  readonly simpleServer?: SimpleServerFacts;
  /** Containers that the plan which was applied last has as they are planned now. */
  readonly asApplied?: readonly string[];
  /** Images and models that are not here yet, where an engine answers. */
  readonly needs?: Needs;
  /**
   * What it is, by its own files: an id of the list of devices; absent where that isn't shown, or
   * no plan names one.
   */
  readonly device?: string;
  /** Its kernel and driver. */
  readonly kernel: Kernel;
  /** What llama-swap needs, where it is declared. */
  readonly onDemand?: OnDemandFacts;
  /** What features read of it, in the order of their list. */
  readonly ofFeatures?: readonly unknown[];
}

/** A folder of the operator's, and what is wrong with it. */
export interface OwnFolderFacts {
  readonly path: string;
  /** Why nothing of it was read, in words that follow "and". */
  readonly problem?: string;
  /** What is wrong with its files, a sentence each; absent where nothing is. */
  readonly faults?: readonly string[];
}

export interface SimpleServerFacts {
  readonly answer: OllamaAnswer;
  readonly unitFound?: boolean;
  /** Whether the drop-in is there, word for word. */
  readonly dropInInPlace?: boolean;
  /** User that the service runs as; absent where there is none. */
  readonly account?: Account;
  /** The model directory and its parents, from the root; cut off where it can't be read on. */
  readonly directory?: readonly PathFacts[];
  /** Whether commands can be run as root. */
  readonly elevation?: { readonly works: boolean; readonly reason: string };
}

/** What was read of a machine for llama-swap. */
export interface OnDemandFacts {
  /** Who its unit runs as. */
  readonly user: string;
  /** Version of python3, such as `3.12`; "" where there is none. */
  readonly python: string;
  /** Programs that aren't there. */
  readonly lacks: readonly string[];
  /** Why systemd's user manager doesn't answer; absent where it does. */
  readonly noManager?: string;
  /** Whether the user's units go on after logout. */
  readonly lingers: boolean;
  /** Docker's networks, where llama-swap listens on one. */
  readonly networks: readonly {
    readonly id: string;
    readonly name: string;
    readonly subnets: readonly string[];
  }[];
  /** Routes but the default one, each with its interface. */
  readonly routes: readonly { readonly name: string; readonly subnet: Subnet }[];
}

/** What answered where Ollama should. */
export type OllamaAnswer =
  | { readonly kind: "ollama"; readonly version: string }
  | { readonly kind: "something else" }
  | { readonly kind: "nothing" };

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gids: readonly number[];
}

/** A directory as it is: owner and mode, or why that is not known. */
export interface PathFacts {
  readonly path: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
  readonly problem?: "missing" | "unreadable";
}

export interface DirectoryFacts {
  readonly path: string;
  /** Why it can't be used; `undefined` when it can. */
  readonly problem?: string;
}

/** What a policy or the preflight says about an update. */
export interface UpdateFinding {
  readonly name: string;
  readonly verdict: "pass" | "refused" | "warned";
  readonly message: string;
}
