import * as z from "zod";
import { strictObject } from "zod";
import { shortName } from "../planned/fields";
import { machine } from "./machine";

/** Namespace of our keys in a Pulumi stack file: the project's name. */
export const NAMESPACE = "local-serving";

/** What an operator edits: the values of our namespace in Pulumi.<stack>.yaml. */
export const stackSettings = strictObject({
  machines: z
    .record(shortName(), machine)
    .refine((machines) => Object.keys(machines).length > 0, "At least one machine is needed")
    .describe("The machines of this stack, by short name. Most stacks have one."),
}).describe("Settings of the local serving environment.");

export type StackSettings = z.output<typeof stackSettings>;
