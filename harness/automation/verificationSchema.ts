import { strictObject, z } from "zod";
import { key } from "../schema/key";

/** Marks a key that the specification lists without a meaning. */
export const OUR_WORDS = { ours: true } as const;

/** Text that can't be empty: an empty command, say, would do nothing and look as if it had. */
export const text = (description: string, example: string) =>
  key(z.string().min(1), description, { examples: [example] });

export const flag = (description: string, notes?: z.GlobalMeta) => key(z.boolean(), description, notes);

export const amount = (description: string, unit: string, example?: number) =>
  key(z.number().positive(), description, { unit, ...(example && { examples: [example] }) });

/** A bound that the harness counts in whole seconds with integer shell arithmetic: a fraction can't be enforced there. */
export const seconds = (description: string, example?: number) =>
  key(z.int().min(1), description, { unit: "seconds", ...(example && { examples: [example] }) });

/** Share of code that tests reach, or a distance between two such shares. */
const percentage = (description: string, example: number, notes: z.GlobalMeta = OUR_WORDS) =>
  key(z.number().min(0).max(100), description, { unit: "percent", examples: [example], ...notes }).optional();

/** The coverage block's keys that a preset file may supply; a preset holds these and nothing else. */
export const presetSchema = strictObject({
  min_line_pct: percentage("Smallest share of lines that tests must reach.", 80),
  min_branch_pct: percentage("Smallest share of branches that tests must reach.", 70),
  max_regression_pct: percentage(
    "How far coverage may fall below the captured baseline, in points and not relative to it. It holds for the metrics that have a floor. Required for baseline `admission`, refused for `none`.",
    0.5,
    { unit: "percentage points" },
  ),
}).describe("Coverage floors shared by several projects: a flat file, named by `verification.coverage.preset`.");

export type Preset = z.infer<typeof presetSchema>;

const coverageSchema = strictObject({
  command: text("Shell command that runs the tests and writes `artifact`.", "npm run coverage").meta(OUR_WORDS),
  artifact: text(
    "File that `command` writes, relative to the project and inside it, symlinks resolved. It is deleted before every run, and counts only when the command has written it anew.",
    "coverage/coverage-summary.json",
  ),
  parser: key(z.enum(["istanbul", "lcov"]), "Format of `artifact`: istanbul's json-summary, or an lcov tracefile."),
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
  command: text("Shell command that exits 0 once the app is ready. This or `url`.", "./scripts/ready.sh").optional(),
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
  evaluator: text("A provider of the providers profile that declares `conformance_command`.", "local-evaluator"),
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
    "Whether a result that is degraded, skipped or says no mode fails the gate although it says passed. Only `false` lets such a result land.",
  ).default(true),
}).describe("Check of the rendered UI before landing. Required when the mapping has a `visual` requirement.");

export const verificationSchema = strictObject({
  conformance: conformanceSchema.optional(),
  coverage: coverageSchema.optional(),
  app: appSchema.optional(),
  visual: visualSchema.optional(),
}).describe("What must be verified before a run may land.");
