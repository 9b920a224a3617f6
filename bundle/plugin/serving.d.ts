import { ComponentResource, ComponentResourceOptions, Input } from "@pulumi/pulumi";
import { LocalServingOutputs } from "..";

/**
 * The machines of a component that is written elsewhere: `inputs` and `options` are
 * what to register it with, and `declareBelow` makes its machines.
 */
export declare class Serving {
  constructor(
    name: string,
    args: { readonly settings: Input<object>; readonly baseDirectory?: string },
    opts?: ComponentResourceOptions,
  );
  readonly inputs: { readonly settings: Promise<object> };
  readonly options: ComponentResourceOptions;
  declareBelow(parent: ComponentResource): Promise<Declared>;
  outputsOf(declared: Promise<Declared>): LocalServingOutputs;
}

/** What `declareBelow` has declared, for `outputsOf`. */
interface Declared {
  readonly endpoints: object;
  readonly memory: object;
  readonly clients: object;
}
