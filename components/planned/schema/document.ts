import * as z from "zod";
import { PLAN_VERSION } from "../planVersion";
import { machineSchema, warningSchema } from "./machine";

const version = z
  .literal(PLAN_VERSION)
  .describe(
    "Version of this format. It is raised when a key is removed or changes its meaning, not when one is added.",
  );

const judgement = z
  .object({
    name: z.string().describe("The rule, or `preflight`."),
    level: z.enum(["mandatory", "advisory", "disabled"]).describe("The level that was in force."),
    verdict: z.enum(["pass", "refused", "warned"]),
    message: z.string().describe("Empty for a pass."),
    resource: z.string().describe("Name of the resource, empty for a pass."),
    path: z.string().exactOptional().describe("The setting in the stack file that fixes it."),
    line: z.int().exactOptional().describe("Its line, if the file is known."),
    value: z
      .union([z.string(), z.number(), z.boolean()])
      .exactOptional()
      .describe("What to write there, if known."),
    note: z
      .literal(true)
      .exactOptional()
      .describe("Present if it is for information only: nothing is at risk."),
    saidBy: z
      .string()
      .exactOptional()
      .describe("The rule whose refusal says the same, of the same line. Text shows that one."),
  })
  .meta({ id: "Judgement", description: "A result of a policy or of the preflight." });

const plannedDocument = z
  .object({
    version,
    machines: z.array(machineSchema),
    warnings: z.array(warningSchema),
    policies: z.array(judgement).describe("The result of every policy."),
    findings: z.array(judgement).describe("The results in `policies` that didn't pass."),
    change: z
      .looseObject({})
      .exactOptional()
      .describe("With `--against`: what an update changes. `version` doesn't cover its format."),
  })
  .meta({ id: "Planned", description: "What `serving plan --format json` prints." });

const fault = z
  .object({
    path: z
      .string()
      .describe("Dotted path of the key (`machines.dgx.totalGiB`); empty for the file itself."),
    code: z
      .string()
      .describe("Kind of the fault, such as `unknown_key`, `wrong_type` or `out_of_range`."),
    message: z.string(),
    severity: z.enum(["error", "warning"]),
    file: z.string().exactOptional().describe("The file that `line` and `column` belong to."),
    line: z.int().exactOptional().describe("Line in the file, from 1."),
    column: z.int().exactOptional(),
  })
  .meta({ id: "Fault", description: "One thing that is wrong with the stack file." });

const faultyDocument = z
  .object({
    version,
    faults: z.array(fault).min(1).describe("The faults of the stack file, in its order."),
  })
  .meta({
    id: "Faulty",
    description:
      "What `serving plan --format json` prints for a stack file with faults, or where nothing could be planned.",
  });

/** What `up` leaves on a machine. */
export const appliedDocument = z
  .object({
    version,
    about: z.string().exactOptional().describe("What this file is, in words."),
    machine: machineSchema,
  })
  .meta({
    id: "Applied",
    description: "What `up` leaves on each machine: the plan applied to it.",
  });

/** Every document that holds a plan, or says why there is none. */
export const planDocument = z.union([plannedDocument, faultyDocument, appliedDocument]);
