import { z } from "zod";
import { verificationSchema } from "./verificationSchema";

/** A block whose inner keys the specification does not show: any map. */
const freeBlock = (text: string) => z.looseObject({}).describe(text);

const reviewSchema = z
  .strictObject({
    max_rounds: z
      .int()
      .min(1)
      .describe("Rounds of the gating review loop for each attempt.")
      .meta({ variable: "REVIEW_MAX_ROUNDS" })
      .default(5),
    loop_timeout_sec: z
      .int()
      .min(1)
      .describe("Time for all rounds of the review loop together, counted anew when a parked run resumes.")
      .meta({ unit: "seconds" })
      .default(900),
  })
  .describe("Bounds of the review loop.");

const capsSchema = z
  .strictObject({
    wall_clock_sec: z
      .number()
      .positive()
      .describe("Longest time of the whole run.")
      .meta({ unit: "seconds", examples: [14400] })
      .optional(),
    cost_usd: z
      .number()
      .positive()
      .describe("Most that the whole run may cost, measured and estimated together.")
      .meta({ unit: "USD", examples: [25] })
      .optional(),
  })
  .describe("What stops the run.");

const routingSchema = z
  .strictObject({
    enabled: z.boolean().describe("`false` turns routing off for this repository.").optional(),
    allowed_profiles: z
      .array(z.string().min(1))
      .describe("The only profiles of the user's registry that this repository may use.")
      .meta({ examples: [["local-coder"]] })
      .optional(),
    default_task_route: z
      .string()
      .min(1)
      .describe("Route of the registry for tasks that name none.")
      .meta({ examples: ["local-first"] })
      .optional(),
    tier2: z
      .strictObject({
        delegation_enabled: z
          .boolean()
          .describe("`false` forbids delegating packets to tier 2; `true` changes nothing.")
          .optional(),
      })
      .describe("Restrictions on tier 2.")
      .optional(),
    recovery: z
      .strictObject({
        wake_enabled: z
          .boolean()
          .describe("`false` forbids waking automatically; `true` changes nothing.")
          .optional(),
        auto_failback_enabled: z
          .boolean()
          .describe("`false` forbids failing back automatically; `true` changes nothing.")
          .optional(),
      })
      .describe("Restrictions on recovery.")
      .optional(),
  })
  .describe("Narrows what the user's routing registry permits; nothing here can widen it.");

const terminate = (text: string) => z.enum(["terminate"]).describe(text).optional();

const unattendedSchema = z
  .strictObject({
    on_review_breaker: terminate("What happens when the review loop runs out: only `terminate`."),
    on_stale_finding: terminate("What happens on a finding that no longer applies: only `terminate`."),
    on_origin_gate: terminate("What happens when the origin gate fails: only `terminate`."),
    budget: z
      .strictObject({
        meter_all_invocations: z
          .boolean()
          .describe("Whether every invocation is entered in the ledger.")
          .optional(),
        estimate_unmetered: z
          .boolean()
          .describe("Whether an invocation without a measured cost is entered at the estimate.")
          .optional(),
        estimate_usd_per_invocation: z
          .number()
          .positive()
          .describe(
            "Worst-case cost of one invocation that can't be measured. It counts against `caps.cost_usd` and is marked as estimated.",
          )
          .meta({ unit: "USD", examples: [2] })
          .optional(),
      })
      .describe("How invocations are charged.")
      .optional(),
  })
  .describe("What an unattended run does where a person would decide.");

/** The automation config of one auto-build run: closed at every level except the blocks said to be free. */
export const automationSchema = z
  .strictObject({
    schema_version: z.literal([1, 2]).describe("Version of this file's form: 1 or 2.").optional(),
    profile: z
      .enum(["advisory", "pr", "merge", "unattended"])
      .describe("How far the run may go on its own.")
      .optional(),
    branch: freeBlock("Naming of branches; any keys.").optional(),
    phases: freeBlock("Phases of the build; any keys.").optional(),
    build: freeBlock("How a phase is built; any keys.").optional(),
    verification: verificationSchema.optional(),
    review: reviewSchema.prefault({}),
    caps: capsSchema.optional(),
    notify: freeBlock("Whom the run tells; any keys.").optional(),
    merge: freeBlock("How a finished run is merged; any keys.").optional(),
    routing: routingSchema.optional(),
    unattended: unattendedSchema.optional(),
  })
  .describe("What one auto-build run does, what it must pass, and what stops it.");

/** An automation config as its schema reads it: every default filled in. */
export type AutomationConfig = z.infer<typeof automationSchema>;
