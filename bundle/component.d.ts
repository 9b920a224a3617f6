import { ComponentResource, ComponentResourceOptions, Input, Output } from "@pulumi/pulumi";
import { MachineSettings } from "../docs/reference/stack-file";

export { MachineSettings };

/** A value of which every part may be an output, as long as it is known at preview. */
export type Given<T> = Input<T extends object ? { readonly [Key in keyof T]: Given<T[Key]> } : T>;

/** What a program says of its machines. */
export interface LocalServingArgs {
  /** Machines by name: what stands under `machines` in a stack file. */
  readonly settings: Given<{ readonly [machine: string]: MachineSettings }>;
  /**
   * Folder with `models/` and `policies/levels.json`; relative ones are below the program's own.
   * Default: that of the Pulumi project. An inline program of the Automation API has none.
   */
  readonly baseDirectory?: string;
}

/** The memory of a machine, in GiB. */
export interface MemoryFigures {
  readonly totalGiB: number;
  readonly sumGiB: number;
  /** Below zero the plan does not fit. */
  readonly leftGiB: number;
  readonly aggregateUtilization: number;
  readonly aggregateLimit: number;
  /** By what takes the memory. */
  readonly lines: {
    readonly [name: string]: {
      readonly gib: number;
      readonly basis: string;
      readonly source: string;
    };
  };
  /** By container: the largest share that fits by the sum, and by the limit. */
  readonly largestUtilization: {
    readonly [container: string]: {
      readonly bySum: number;
      readonly byAggregate: number;
      /** The largest up to both that also leaves `memoryFloorGiB`, where that is smaller. */
      readonly keepingFloor?: number;
    };
  };
}

/** Texts by machine, then by a key of it. */
export type ByMachine = { readonly [machine: string]: { readonly [key: string]: string } };

/** Outputs of a `LocalServing`. */
export interface LocalServingOutputs {
  /**
   * URLs by machine, then by the keys of servers and services; known once its machine is applied.
   */
  readonly endpoints: Output<ByMachine>;
  /** How the memory of each machine adds up. */
  readonly memory: Output<{ readonly [machine: string]: MemoryFigures }>;
  /** The command that starts each client, by machine. */
  readonly clients: Output<ByMachine>;
}

/**
 * Every machine of a Pulumi program: `settings` are checked, planned and judged as those of a stack
 * file. If they are refused, an update ends before the first resource of this component.
 */
export declare class LocalServing extends ComponentResource implements LocalServingOutputs {
  constructor(name: string, args: LocalServingArgs, opts?: ComponentResourceOptions);
  readonly endpoints: LocalServingOutputs["endpoints"];
  readonly memory: LocalServingOutputs["memory"];
  readonly clients: LocalServingOutputs["clients"];
}
