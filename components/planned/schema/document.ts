import { z } from "zod";
import { PLAN_VERSION } from "../planVersion";
import { machineSchema } from "./machine";

const version = z
  .literal(PLAN_VERSION)
  .describe("Version of this form. It is raised when a key goes or changes its meaning; keys are added without that.");

/** What `up` leaves on a machine. */
export const appliedDocument = z
  .object({
    version,
    about: z.string().exactOptional().describe("What this file is, in words."),
    machine: machineSchema,
  })
  .describe("What `up` leaves on each machine: the plan that was applied to it.");
