import { strictObject, z } from "zod";
import { key } from "../schema/key";
import { amount, flag, OUR_WORDS, seconds, text, verificationSchema } from "./verificationSchema";

/** A block whose inner keys the specification does not show: any map. */
const freeBlock = (text: string, example: Record<string, unknown>) =>
  z
    .looseObject({})
    .describe(`${text} Its keys are the harness's own: any are taken.`)
    .meta({ ...OUR_WORDS, examples: [example] });

const reviewSchema = strictObject({
  max_rounds: key(z.int().min(1), "Rounds of the gating review loop in one attempt.", {
    variable: "REVIEW_MAX_ROUNDS",
  }).default(5),
  loop_timeout_sec: seconds(
    "Time for all rounds of the review loop together, counted anew when a parked run resumes. Not the time of one " +
      "round, and not a provider's `timeout_sec`, which bounds one invocation.",
  ).default(900),
})
  .describe("Bounds of the loop in which reviewers look at the work and the builder fixes it.")
  .meta(OUR_WORDS);

const capsSchema = strictObject({
  wall_clock_sec: amount("Longest time of the whole run; when it has passed, the run stops.", "seconds", 14400)
    .meta(OUR_WORDS)
    .optional(),
  cost_usd: amount("Most that the whole run may cost, measured and estimated debits together.", "USD", 25)
    .meta(OUR_WORDS)
    .optional(),
})
  .describe("What stops the whole run.")
  .meta(OUR_WORDS);

const routingSchema = strictObject({
  enabled: flag(
    "Whether tasks of this repository are routed to profiles at all; `false` turns it off.",
    OUR_WORDS,
  ).optional(),
  allowed_profiles: key(
    z.array(z.string().min(1)),
    "The only profiles that this repository may use: what holds are those that the user's registry has, too. One " +
      "that it lacks is an error.",
    { examples: [["local-coder"]] },
  ).optional(),
  default_task_route: text("Route for tasks that name none; the user's registry must have it.", "local-first")
    .meta(OUR_WORDS)
    .optional(),
  tier2: strictObject({
    delegation_enabled: flag(
      "`false` forbids delegating packets of work to tier 2; `true` changes nothing.",
    ).optional(),
  })
    .describe("Restrictions on delegating work to tier 2.")
    .optional(),
  recovery: strictObject({
    wake_enabled: flag("`false` forbids waking automatically; `true` changes nothing.").optional(),
    auto_failback_enabled: flag("`false` forbids failing back automatically; `true` changes nothing.").optional(),
  })
    .describe(
      "Restrictions on recovery. How often it is probed, and when it counts as healthy, is policy of the user's registry.",
    )
    .optional(),
}).describe("Narrows what the user's routing registry permits; nothing here can widen it.");

const terminate = (when: string) =>
  key(z.enum(["terminate"]), `What the run does ${when}: it ends. There is no other choice.`, OUR_WORDS).optional();

const unattendedSchema = strictObject({
  on_review_breaker: terminate("when the review loop has used up its rounds or time"),
  on_stale_finding: terminate("when a reviewer's finding no longer fits the work that it is about"),
  on_origin_gate: terminate("when the work no longer fits the specification that it began from"),
  budget: strictObject({
    meter_all_invocations: flag(
      "Whether every invocation of a model is entered in the ledger, the run's record of events and costs.",
      OUR_WORDS,
    ).optional(),
    estimate_unmetered: flag(
      "Whether an invocation whose cost can't be measured is charged at `estimate_usd_per_invocation`.",
      OUR_WORDS,
    ).optional(),
    estimate_usd_per_invocation: amount(
      "Worst-case cost of one invocation that can't be measured. It counts against the same `caps.cost_usd`, and the ledger marks it `estimated`.",
      "USD",
      2,
    ).optional(),
  })
    .describe("How invocations are charged against `caps.cost_usd`.")
    .meta(OUR_WORDS)
    .optional(),
})
  .describe("What a run without a person does where a person would decide.")
  .meta(OUR_WORDS);

/** The automation config of one auto-build run: closed at every level except the blocks said to be free. */
export const automationSchema = strictObject({
  schema_version: key(
    z.literal([1, 2]),
    "Version of this file's form. The specification does not say how the two differ; both are checked alike.",
    OUR_WORDS,
  ).optional(),
  profile: key(
    z.enum(["advisory", "pr", "merge", "unattended"]),
    "How far the run may go on its own. The specification has the names only; nothing here treats them differently.",
    OUR_WORDS,
  ).optional(),
  branch: freeBlock("How the branch of the run is named, and what it starts from.", {
    name: "feature/search",
    base: "main",
  }).optional(),
  phases: freeBlock("Where the phases of the build come from, and how many there may be.", {
    source: "tasks.md",
    max_phases: 8,
  }).optional(),
  build: freeBlock("How one phase is built: turns, permissions, attempts to repair it.", {
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
}).describe("What one auto-build run does, what it must pass, and what stops it.");

export type AutomationConfig = z.infer<typeof automationSchema>;
