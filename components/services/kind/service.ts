import type { DataOf } from "@local-serving/base/data/dataOf";
import type { DataToCopy } from "@local-serving/machines/copies/dataCopies";
import type * as z from "zod";
import type {
  LedgerLine,
  PlannedContainer,
  PlannedFile,
  Reach,
  SecretFile,
  Upstream,
} from "../../planned";
import type { volumeSchema } from "../../planned/schema";

/**
 * A service: a program beside the servers. One object holds what the stack file says of it, what it
 * runs and what it needs; the list of them is `components/services/`. Every function takes the
 * blocks of its machine that it reads, by their keys in the stack file.
 */
export interface Service<
  Key extends string,
  Name extends string,
  Schema extends z.ZodType,
  Blocks,
  Detail,
> {
  /** Its block in the stack file, and its key in the plan where it has a detail. */
  readonly key: Key;
  /** Its name on the command line, and the role of its container. */
  readonly name: Name;
  /** Who it is, for people: `Open WebUI`. */
  readonly title: string;
  /** Type token of its component. */
  readonly component: string;
  /** The block of the stack file: optional, or with a default that says that there is none. */
  readonly settings: Schema;
  /** How its image is known by its repository, and the package whose release a tag of it names. */
  readonly image: { readonly repository: RegExp; readonly package: string };
  /** Seconds until it answers, and where they are from. */
  readonly starts: { readonly least: number; readonly most: number; readonly source: string };
  /** What a new stack file says of it; nothing if somebody has to ask for it. */
  readonly proposed?: (given: Proposal) => Proposed;
  /** What its block takes over of a container in which somebody ran the same program. */
  readonly takenOver?: (ran: RanSoFar) => Readonly<Record<string, unknown>>;
  /** What to do where a machine runs it in no container, a sentence. */
  readonly onMachine?: string;
  /**
   * It sends requests on, so those at the servers behind it end before its container is replaced.
   */
  readonly forwards?: true;
  /**
   * It reads its files and secrets when it starts and never again: another secret is another
   * container.
   */
  readonly readsOnce?: true;
  /** The data that a newer version may change for good: copied before another image takes them. */
  readonly data?: DataToCopy;
  /** What it offers clients and other services of its machine, where it is a server itself. */
  readonly offers?: (blocks: Blocks) => Upstream | undefined;
  /** Names of servers in its block that the stack file must declare. */
  readonly names?: (blocks: Blocks) => readonly NamedServer[];
  /** What else can't be in its block: faults that need several values. */
  readonly faults?: (blocks: Blocks, servers: readonly DeclaredServer[]) => readonly ServiceFault[];
  /** `undefined` where the stack file declares none. */
  readonly plan: (blocks: Blocks, target: ServiceContext) => PlannedService<Detail> | undefined;
}

/** What `serving init` knows when it proposes a service. */
export interface Proposal {
  /** The first port from this one on that is free on the machine. */
  readonly freePort: (from: number) => number;
  /**
   * Address to listen on, where the local network is served, and the name of the variable with its
   * key.
   */
  readonly network?: { readonly listen: string; readonly keyVariable: string };
  /** Servers to use, where that isn't every one of ours. */
  readonly servers?: readonly string[];
}

/** A container that somebody ran a service's program in. */
export interface RanSoFar {
  /** Ports of the machine by the port inside. */
  readonly ports: ReadonlyMap<number, number>;
  /** Its variables with the values that are known; a secret has none. */
  readonly variables: ReadonlyMap<string, string | undefined>;
  /** Variables of the operator's shell that hold the value of one of them. */
  readonly shellVariables: ReadonlyMap<string, string>;
}

/**
 * A proposed block of the stack file, and what its comments say, by the path below it; "" is the
 * block itself.
 */
export interface Proposed {
  readonly block: Readonly<Record<string, unknown>>;
  readonly comments: Readonly<Record<string, string>>;
}

/** What a service is planned from, beside its settings. */
export interface ServiceContext {
  /** Name of its machine in the stack file. */
  readonly machine: string;
  /** Docker network of the machine's containers. */
  readonly network: string;
  /** Folder on the machine for its files. */
  readonly folder: string;
  /** llama-swap, where containers ask it: their network, and where its key is. */
  readonly onDemand?: {
    readonly network: string;
    readonly keyVariable: string;
    /** The file with the key on the machine. */
    readonly keyPath: string;
  };
  /** Every server on the machine that a service may use, ours first. */
  readonly servers: readonly Upstream[];
  /** A server of another machine by its name, `dgx2.b`. */
  readonly elsewhere: (name: string) => Upstream | undefined;
}

/** What a service adds to the plan of its machine. */
export interface PlannedService<Detail> {
  /** What the plan says of it under its own key, if that is more than every service says. */
  readonly detail?: Detail;
  /** Name of its resource in the stack. */
  readonly resource: string;
  /** Absent where it runs in none of its own. */
  readonly container?: PlannedContainer;
  /** Name of another service's container that it runs in. */
  readonly inside?: string;
  /** Keys of the servers that it asks; `dgx2.b` of another machine. */
  readonly servers: readonly string[];
  readonly files: readonly PlannedFile[];
  readonly secretFiles: readonly SecretFile[];
  readonly volumes: readonly ServiceVolume[];
  /** Where it answers. */
  readonly reach?: Reach;
  readonly memory: readonly LedgerLine[];
  /** What an operator should know before it runs: a code and a sentence each. */
  readonly warnings: readonly (readonly [code: string, message: string])[];
  /** What the operator has to run, where nothing of ours may. */
  readonly commands?: readonly string[];
}

/** A Docker volume that a service keeps its data in. It stays when the stack goes. */
export type ServiceVolume = DataOf<typeof volumeSchema>;

/** A server that a block names. */
export interface NamedServer {
  readonly name: string;
  /** Below the service's block. */
  readonly path: readonly PropertyKey[];
  /** It must say what it serves: the service asks for a model by its name. */
  readonly needsModel: boolean;
}

/** A server of the stack file as the faults of services see it. */
export interface DeclaredServer {
  readonly key: string;
  readonly kind: "chat" | "base" | "embedding" | "rerank";
}

/** Something that can't be in a service's block; the path begins at the machine. */
export interface ServiceFault {
  readonly path: readonly PropertyKey[];
  readonly code: string;
  readonly message: string;
}

/** The service as it was declared. It keeps the types of its key, its settings and its plan. */
export const service = <
  const Key extends string,
  const Name extends string,
  Schema extends z.ZodType,
  Blocks,
  Detail,
>(
  declared: Service<Key, Name, Schema, Blocks, Detail>,
): Service<Key, Name, Schema, Blocks, Detail> => declared;
