import { z } from "zod";
import { verificationSchema } from "./verificationSchema";

/** Marks a key that the specification lists without a meaning. */
const OUR_WORDS = { ours: true } as const;

/** A block whose inner keys the specification does not show: any map. */
const freeBlock = (text: string, example: Record<string, unknown>) =>
  z
    .looseObject({})
    .describe(`${text} Its keys are the harness's own: any are taken.`)
    .meta({ ...OUR_WORDS, examples: [example] });

const reviewSchema = z
  .strictObject({
    max_rounds: z
      .int()
      .min(1)
      .describe("Rounds of the gating review loop in one attempt.")
      .meta({ variable: "REVIEW_MAX_ROUNDS" })
      .default(5),
    loop_timeout_sec: z
      .int()
      .min(1)
      .describe(
        "Time for all rounds of the review loop together, counted anew when a parked run resumes. Not the time of one " +
          "round, and not a provider's `timeout_sec`, which bounds one invocation.",
      )
      .meta({ unit: "seconds" })
      .default(900),
  })
  .describe("Bounds of the loop in which reviewers look at the work and the builder mends it.")
  .meta(OUR_WORDS);

const capsSchema = z
  .strictObject({
    wall_clock_sec: z
      .number()
      .positive()
      .describe("Longest time of the whole run; when it has passed, the run stops.")
      .meta({ ...OUR_WORDS, unit: "seconds", examples: [14400] })
      .optional(),
    cost_usd: z
      .number()
      .positive()
      .describe("Most that the whole run may cost, measured and estimated debits together.")
      .meta({ ...OUR_WORDS, unit: "USD", examples: [25] })
      .optional(),
  })
  .describe("What stops the whole run.")
  .meta(OUR_WORDS);

const routingSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .describe("Whether tasks of this repository are routed to profiles at all; `false` turns it off.")
      .meta(OUR_WORDS)
      .optional(),
    allowed_profiles: z
      .array(z.string().min(1))
      .describe(
        "The only profiles that this repository may use: what holds are those that the user's registry has, too. One " +
          "that it lacks is an error.",
      )
      .meta({ examples: [["local-coder"]] })
      .optional(),
    default_task_route: z
      .string()
      .min(1)
      .describe("Route for tasks that name none; the user's registry must have it.")
      .meta({ ...OUR_WORDS, examples: ["local-first"] })
      .optional(),
    tier2: z
      .strictObject({
        delegation_enabled: z
          .boolean()
          .describe("`false` forbids delegating packets of work to tier 2; `true` changes nothing.")
          .optional(),
      })
      .describe("Restrictions on delegating work to tier 2.")
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
      .describe(
        "Restrictions on recovery. How often it is probed, and when it counts as healthy, is policy of the user's registry.",
      )
      .optional(),
  })
  .describe("Narrows what the user's routing registry permits; nothing here can widen it.");

const terminate = (when: string) =>
  z
    .enum(["terminate"])
    .describe(`What the run does ${when}: it ends. There is no other choice.`)
    .meta(OUR_WORDS)
    .optional();

const unattendedSchema = z
  .strictObject({
    on_review_breaker: terminate("when the review loop has used up its rounds or time"),
    on_stale_finding: terminate("when a reviewer's finding no longer fits the work that it is about"),
    on_origin_gate: terminate("when the work no longer fits the specification that it began from"),
    budget: z
      .strictObject({
        meter_all_invocations: z
          .boolean()
          .describe(
            "Whether every invocation of a model is entered in the ledger, the run's record of events and costs.",
          )
          .meta(OUR_WORDS)
          .optional(),
        estimate_unmetered: z
          .boolean()
          .describe(
            "Whether an invocation whose cost can't be measured is charged at `estimate_usd_per_invocation`.",
          )
          .meta(OUR_WORDS)
          .optional(),
        estimate_usd_per_invocation: z
          .number()
          .positive()
          .describe(
            "Worst-case cost of one invocation that can't be measured. It counts against the same `caps.cost_usd`, and the ledger marks it `estimated`.",
          )
          .meta({ unit: "USD", examples: [2] })
          .optional(),
      })
      .describe("How invocations are charged against `caps.cost_usd`.")
      .meta(OUR_WORDS)
      .optional(),
  })
  .describe("What a run without a person does where a person would decide.")
  .meta(OUR_WORDS);

/** The automation config of one auto-build run: closed at every level except the blocks said to be free. */
export const automationSchema = z
  .strictObject({
    schema_version: z
      .literal([1, 2])
      .describe(
        "Version of this file's form. The specification does not say how the two differ; both are checked alike.",
      )
      .meta(OUR_WORDS)
      .optional(),
    profile: z
      .enum(["advisory", "pr", "merge", "unattended"])
      .describe(
        "How far the run may go on its own. The specification has the names only; nothing here treats them differently.",
      )
      .meta(OUR_WORDS)
      .optional(),
    branch: freeBlock("How the branch of the run is named, and what it starts from.", {
      name: "feature/search",
      base: "main",
    }).optional(),
    phases: freeBlock("Where the phases of the build come from, and how many there may be.", {
      source: "tasks.md",
      max_phases: 8,
    }).optional(),
    build: freeBlock("How one phase is built: turns, permissions, attempts to mend.", {
      max_turns: 80,
    }).optional(),
    verification: verificationSchema.optional(),
    review: reviewSchema.prefault({}),
    caps: capsSchema.optional(),
    notify: freeBlock("How people hear that the run has ended or waits for them.", {
      command: "./scripts/notify.sh",
    }).optional(),
    merge: freeBlock("Whether and how finished work is merged.", { enabled: false }).optional(),
    routing: routingSchema.optional(),
    unattended: unattendedSchema.optional(),
  })
  .describe("What one auto-build run does, what it must pass, and what stops it.");

/** An automation config as its schema reads it: every default filled in. */
export type AutomationConfig = z.infer<typeof automationSchema>;
