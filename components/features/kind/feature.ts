import type { Files } from "@local-serving/machines/files";
import type { PlannedMachine, PlannedServer } from "../../planned";
import type { PreflightFinding } from "./finding";
import type { Placement, Placing } from "./placement";

/**
 * A feature of servers: what the stack file says of it, what it changes of a server's plan, and what
 * is told and checked of it. The list of them is `components/features/`. Each function takes the
 * settings that it reads, or the plan.
 */
export interface Feature<ServerKeys, MachineKeys, Server, Machine> {
  /** Its keys in the stack file: of a server, and of a machine. */
  readonly settings: { readonly server: ServerKeys; readonly machine: MachineKeys };
  /** What can't be in the settings of a machine, beside the others of the stack. */
  readonly faults: (
    machine: string,
    machines: Readonly<Record<string, Machine>>,
  ) => readonly FeatureFault[];
  /** How a server stands on a machine; `undefined` where it has nothing of this feature. */
  readonly place: (placing: Placing<Server, Machine>) => Placement | undefined;
  /** What the start gate of a server is told. */
  readonly gateLines: (server: PlannedServer) => readonly (readonly (number | string)[])[];
  /** What an operator should know of a server before it runs: a code and a sentence each. */
  readonly warnings: (server: PlannedServer) => readonly (readonly [code: string, text: string])[];
  /** What `plan` says of a server: in its row, and in the lines of its container. */
  readonly texts: {
    readonly row: (server: PlannedServer) => readonly string[];
    readonly lines: (server: PlannedServer) => readonly string[];
  };
  readonly preflight: Preflight;
}

/** Something that can't be in the settings of a machine; the path begins below it. */
export interface FeatureFault {
  readonly path: readonly PropertyKey[];
  readonly code: string;
  readonly message: string;
}

/** A port that a container takes without publishing it, and the setting that chooses it. */
export interface OwnPort {
  /** The container. */
  readonly name: string;
  readonly port: number;
  readonly setting: string | undefined;
}

/** What an update reads of a machine and judges before it touches anything. */
interface Preflight {
  readonly ports: (machine: PlannedMachine) => readonly OwnPort[];
  /** Reads what only this feature knows of; `undefined` where there is nothing to read. */
  readonly read: (
    machine: PlannedMachine,
    files: Files,
    meminfo: Promise<string | undefined>,
  ) => Promise<unknown>;
  readonly judge: (machine: PlannedMachine, read: unknown) => readonly PreflightFinding[];
  /** Judges what several machines must share. */
  readonly judgeAll: (
    machines: readonly { readonly machine: PlannedMachine; readonly read: unknown }[],
  ) => readonly (PreflightFinding & { readonly machine: string })[];
}

/** The preflight of a feature that gets back what it read itself. */
export const preflightOf = <Facts>(own: {
  readonly ports: Preflight["ports"];
  readonly read: (...given: Parameters<Preflight["read"]>) => Promise<Facts | undefined>;
  readonly judge: (machine: PlannedMachine, read: Facts | undefined) => PreflightFinding[];
  readonly judgeAll: (
    machines: readonly { readonly machine: PlannedMachine; readonly read: Facts | undefined }[],
  ) => ReturnType<Preflight["judgeAll"]>;
}): Preflight => own as Preflight;

/** The feature as it was declared. It keeps the types of its keys. */
export const feature = <ServerKeys, MachineKeys, Server, Machine>(
  declared: Feature<ServerKeys, MachineKeys, Server, Machine>,
): Feature<ServerKeys, MachineKeys, Server, Machine> => declared;
