import { z } from "zod";

/** A bound that the harness counts in whole seconds with integer shell arithmetic: a fraction can't be enforced there. */
const wholeSeconds = (text: string) => z.int().min(1).describe(text).meta({ unit: "seconds" });

/** Share of code that tests reach, or a distance between two such shares. */
const percentage = (text: string) => z.number().min(0).max(100).describe(text).meta({ unit: "percent" });

/** A shell command line; an empty one would do nothing and look as if it had. */
const command = (text: string) => z.string().min(1).describe(text);

/** The coverage block's keys that a preset file may supply; a preset holds these and nothing else. */
export const presetSchema = z
  .strictObject({
    min_line_pct: percentage("Smallest share of lines that tests must reach.")
      .meta({ ours: true, examples: [80] })
      .optional(),
    min_branch_pct: percentage("Smallest share of branches that tests must reach.")
      .meta({ ours: true, examples: [70] })
      .optional(),
    max_regression_pct: percentage(
      "How far coverage may fall below the captured baseline, in points and not relative to it. It holds for the metrics that have a floor. Required for baseline `admission`, refused for `none`.",
    )
      .meta({ unit: "percentage points", examples: [0.5] })
      .optional(),
  })
  .describe(
    "Coverage floors shared by several projects: a flat file, named by `verification.coverage.preset`.",
  );

/** Percentages and threshold of a preset file. */
export type Preset = z.infer<typeof presetSchema>;

const coverageSchema = z
  .strictObject({
    command: command("Shell command that runs the tests and writes `artifact`.").meta({
      ours: true,
      examples: ["npm run coverage"],
    }),
    artifact: z
      .string()
      .min(1)
      .describe(
        "File that `command` writes, relative to the project and inside it, symlinks resolved. It is deleted before every run, and counts only when the command has written it anew.",
      )
      .meta({ examples: ["coverage/coverage-summary.json"] }),
    parser: z
      .enum(["istanbul", "lcov"])
      .describe("Format of `artifact`: istanbul's json-summary, or an lcov tracefile."),
    baseline: z
      .enum(["none", "admission"])
      .describe(
        "`none`: new code, floors only. `admission`: the base commit is measured when the contract is frozen, and coverage may not fall below it.",
      ),
    ...presetSchema.shape,
    floor_enforced_at: z
      .enum(["landing", "phase"])
      .describe(
        "When the floors are enforced: once before landing, or after every phase. The default is the public harness's; the specification has none.",
      )
      .meta({ ours: true })
      .default("landing"),
    preset: z
      .string()
      .min(1)
      .describe(
        "Bare name of a preset file that supplies floors (`--presets DIR`); what this block says itself wins over it. A preset that can't be read fails the check, unless this block supplies every floor.",
      )
      .meta({ examples: ["typescript-service"] })
      .optional(),
    timeout_sec: z
      .number()
      .positive()
      .describe(
        "Longest run of `command`; fractions are allowed. A host without `timeout` refuses a run with coverage. The specification has no default; this is the bound of a test run in the public harness's template.",
      )
      .meta({ unit: "seconds" })
      .default(1200),
  })
  .describe("Floors under test coverage, and where to read it.");

const readySchema = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .describe("Absolute http(s) URL that answers with 2xx or 3xx once the app is ready. This or `command`.")
      .meta({ examples: ["http://127.0.0.1:3000/healthz"] })
      .optional(),
    command: command("Shell command that exits 0 once the app is ready. This or `url`.")
      .meta({ examples: ["./scripts/ready.sh"] })
      .optional(),
    timeout_sec: wholeSeconds("How long the app may take to become ready.").meta({ examples: [60] }),
  })
  .describe("Proof that the app is up: exactly one of `url` and `command`.");

const appSchema = z
  .strictObject({
    command: command(
      "Shell command that starts the app in the foreground, in a process group of its own.",
    ).meta({
      ours: true,
      examples: ["npm start"],
    }),
    interface: z
      .string()
      .min(1)
      .describe(
        "Absolute http(s) URL at which evaluators reach the app; without it they get `ready.url`. The harness probes it as well, so that readiness is that of the app it started. Required when readiness is a command.",
      )
      .meta({ examples: ["http://127.0.0.1:3000"] })
      .optional(),
    stop_timeout_sec: wholeSeconds("Time between TERM and KILL when the app is stopped.").meta({
      examples: [10],
    }),
    ready: readySchema,
  })
  .describe("The application under test, started and stopped by the harness itself.");

const conformanceSchema = z
  .strictObject({
    evaluator: z
      .string()
      .min(1)
      .describe("A provider of the providers profile that declares `conformance_command`.")
      .meta({ examples: ["local-evaluator"] }),
    timeout_sec: wholeSeconds("Longest run of the evaluator. It has no default.").meta({ examples: [600] }),
  })
  .describe(
    "Evaluator that tries the running app. Required when the verification mapping has a `runtime_conformance` requirement.",
  );

const visualSchema = z
  .strictObject({
    command: command(
      "Shell command of the UI check. It runs in a throwaway checkout of HEAD, where ignored files such as installed packages are missing, so it must prepare what it needs.",
    ).meta({ examples: ["npm ci && npm run ui:review"] }),
    artifact: z
      .string()
      .min(1)
      .describe(
        "File to which `command` writes its result, relative to the checkout and inside it. It is deleted before the run, and must be a regular file that the run has written: a JSON object with `passed` and `mode`.",
      )
      .meta({ examples: ["review/verdict.json"] }),
    url: z
      .string()
      .min(1)
      .describe("Absolute http(s) URL at which the browser starts, of the same origin as the app's address.")
      .meta({ examples: ["http://127.0.0.1:3000/"] }),
    timeout_sec: wholeSeconds("Longest run of `command`.").meta({ examples: [900] }),
    skip_is_failure: z
      .boolean()
      .describe(
        "Whether a result that is degraded, skipped or says no mode fails the gate although it says passed. Only `false` lets such a result land.",
      )
      .default(true),
  })
  .describe("Check of the rendered UI before landing. Required when the mapping has a `visual` requirement.");

export const verificationSchema = z
  .strictObject({
    conformance: conformanceSchema.optional(),
    coverage: coverageSchema.optional(),
    app: appSchema.optional(),
    visual: visualSchema.optional(),
  })
  .describe("What must be verified before a run may land.");
