import * as z from "zod";
import { strictObject } from "zod";
import { key } from "../schema/key";

/** Marks a key that the specification lists without a meaning. */
const OUR_WORDS = { ours: true } as const;

/** Text that can't be empty: an empty command, say, would do nothing and look as if it had. */
const text = (description: string, example: string) =>
  key(z.string().min(1), description, { examples: [example] });

const flag = (description: string, notes?: z.GlobalMeta) => key(z.boolean(), description, notes);

const amount = (description: string, unit: string, example?: number) =>
  key(z.number().positive(), description, { unit, ...(example && { examples: [example] }) });

/**
 * A bound that the harness counts in whole seconds with integer shell arithmetic: a fraction can't
 * be enforced there.
 */
const seconds = (description: string, example?: number) =>
  key(z.int().min(1), description, { unit: "seconds", ...(example && { examples: [example] }) });

/** Share of code that tests reach, or a distance between two such shares. */
const percentage = (description: string, example: number, notes: z.GlobalMeta = OUR_WORDS) =>
  key(z.number().min(0).max(100), description, {
    unit: "percent",
    examples: [example],
    ...notes,
  }).optional();

/**
 * The coverage block's keys that a preset file may supply; a preset holds these and nothing else.
 */
export const presetSchema = strictObject({
  min_line_pct: percentage("Smallest share of lines that tests must reach.", 80),
  min_branch_pct: percentage("Smallest share of branches that tests must reach.", 70),
  max_regression_pct: percentage(
    "How far coverage may fall below the captured baseline, in percentage points, not relative to it. It applies to the metrics that have a floor. Required for baseline `admission`, refused for `none`.",
    0.5,
    { unit: "percentage points" },
  ),
}).describe(
  "Coverage floors shared by several projects: a flat file, named by `verification.coverage.preset`.",
);

export type Preset = z.infer<typeof presetSchema>;

const coverageSchema = strictObject({
  command: text(
    "Shell command that runs the tests and writes `artifact`.",
    "npm run coverage",
  ).meta(OUR_WORDS),
  artifact: text(
    "File that `command` writes, relative to the project and inside it, symlinks resolved. It is deleted before every run, and counts only when the command has written it anew.",
    "coverage/coverage-summary.json",
  ),
  parser: key(
    z.enum(["istanbul", "lcov"]),
    "Format of `artifact`: istanbul's json-summary, or an lcov tracefile.",
  ),
  baseline: key(
    z.enum(["none", "admission"]),
    "`none`: new code, floors only. `admission`: the base commit is measured when the contract is frozen, and coverage may not fall below it.",
  ),
  ...presetSchema.shape,
  floor_enforced_at: key(
    z.enum(["landing", "phase"]),
    "When the floors are enforced: once before landing, or after every phase. The default is the public harness's; the specification has none.",
    OUR_WORDS,
  ).default("landing"),
  preset: text(
    "Bare name of a preset file that supplies floors (`--presets DIR`); what this block says itself wins over it. A preset that can't be read fails the check, unless this block supplies every floor.",
    "typescript-service",
  ).optional(),
  timeout_sec: amount(
    "Longest run of `command`; fractions are allowed. A host without `timeout` refuses a run with coverage. The specification has no default; this is the bound of a test run in the public harness's template.",
    "seconds",
  ).default(1200),
}).describe("Floors under test coverage, and where to read it.");

const readySchema = strictObject({
  url: text(
    "Absolute http(s) URL that answers with 2xx or 3xx once the app is ready. This or `command`.",
    "http://127.0.0.1:3000/healthz",
  ).optional(),
  command: text(
    "Shell command that exits 0 once the app is ready. This or `url`.",
    "./scripts/ready.sh",
  ).optional(),
  timeout_sec: seconds("How long the app may take to become ready.", 60),
}).describe("Proof that the app is up: exactly one of `url` and `command`.");

const appSchema = strictObject({
  command: text(
    "Shell command that starts the app in the foreground, in a process group of its own.",
    "npm start",
  ).meta(OUR_WORDS),
  interface: text(
    "Absolute http(s) URL at which evaluators reach the app; without it they get `ready.url`. The harness probes it as well, so that readiness is that of the app it started. Required when readiness is a command.",
    "http://127.0.0.1:3000",
  ).optional(),
  stop_timeout_sec: seconds("Time between TERM and KILL when the app is stopped.", 10),
  ready: readySchema,
}).describe("The application under test, started and stopped by the harness itself.");

const conformanceSchema = strictObject({
  evaluator: text(
    "A provider of the providers profile that declares `conformance_command`.",
    "local-evaluator",
  ),
  timeout_sec: seconds("Longest run of the evaluator. It has no default.", 600),
}).describe(
  "Evaluator that tries the running app. Required when the verification mapping has a `runtime_conformance` requirement.",
);

const visualSchema = strictObject({
  command: text(
    "Shell command of the UI check. It runs in a throwaway checkout of HEAD, where ignored files such as installed packages are missing, so it must prepare what it needs.",
    "npm ci && npm run ui:review",
  ),
  artifact: text(
    "File to which `command` writes its result, relative to the checkout and inside it. It is deleted before the run, and must be a regular file that the run has written: a JSON object with `passed` and `mode`.",
    "review/verdict.json",
  ),
  url: text(
    "Absolute http(s) URL at which the browser starts, of the same origin as the app's address.",
    "http://127.0.0.1:3000/",
  ),
  timeout_sec: seconds("Longest run of `command`.", 900),
  skip_is_failure: flag(
    "Whether a result that says passed still fails the gate if it is degraded, skipped or names no mode. Only `false` lets such a result land.",
  ).default(true),
}).describe(
  "Check of the rendered UI before landing. Required when the mapping has a `visual` requirement.",
);

const verificationSchema = strictObject({
  conformance: conformanceSchema.optional(),
  coverage: coverageSchema.optional(),
  app: appSchema.optional(),
  visual: visualSchema.optional(),
}).describe("What must be verified before a run may land.");

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
    "Time for all rounds of the review loop together, counted anew when a parked run resumes. Not the time of one round, and not a provider's `timeout_sec`, which bounds one invocation.",
  ).default(900),
})
  .describe("Bounds of the loop in which reviewers look at the work and the builder fixes it.")
  .meta(OUR_WORDS);

const capsSchema = strictObject({
  wall_clock_sec: amount(
    "Longest time of the whole run; when it has passed, the run stops.",
    "seconds",
    14400,
  )
    .meta(OUR_WORDS)
    .optional(),
  cost_usd: amount(
    "Most that the whole run may cost, measured and estimated debits together.",
    "USD",
    25,
  )
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
    "The only profiles that this repository may use. All of them must be in the user's registry; a profile that it lacks is an error.",
    { examples: [["local-coder"]] },
  ).optional(),
  default_task_route: text(
    "Route for tasks that name none; the user's registry must have it.",
    "local-first",
  )
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
    auto_failback_enabled: flag(
      "`false` forbids failing back automatically; `true` changes nothing.",
    ).optional(),
  })
    .describe(
      "Restrictions on recovery. How often it is probed, and when it counts as healthy, is policy of the user's registry.",
    )
    .optional(),
}).describe("Narrows what the user's routing registry permits; nothing here can widen it.");

const terminate = (when: string) =>
  key(
    z.enum(["terminate"]),
    `What the run does ${when}: it ends. There is no other choice.`,
    OUR_WORDS,
  ).optional();

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

/**
 * The automation config of one auto-build run: closed at every level except the blocks said to be
 * free.
 */
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
