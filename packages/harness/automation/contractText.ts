import type { AutomationFiles } from "./checkAutomation";
import type { AutomationContract, ReviewOverride } from "./resolve";

type Verification = AutomationContract["verification"];

/** What a config resolves to, one line for each block that says something. */
export function contractLines(
  { review, verification, routing, caps, unattended }: AutomationContract,
  override: ReviewOverride,
): string[] {
  const { coverage, app, conformance, visual } = verification;
  const blocks: readonly (readonly [name: string, text: string | undefined])[] = [
    ["review", reviewText(review, override)],
    ["coverage", coverage && coverageText(coverage)],
    ["app", app && `at ${app.address}, ${app.stop_timeout_sec} s from TERM to KILL`],
    [
      "conformance",
      conformance && `by ${conformance.evaluator}, within ${conformance.timeout_sec} s`,
    ],
    ["visual", visual && visualText(visual)],
    ["routing", routing && (routing.enabled === false ? "off" : profilesText(routing))],
    ["caps", caps && settingsText(caps)],
    ["unattended", unattended && settingsText(unattended)],
  ];
  return blocks.flatMap(([name, text]) => (text === undefined ? [] : [`${name}: ${text}`]));
}

/** The limits of a review, with the variable that set one. */
function reviewText(
  { max_rounds, loop_timeout_sec }: AutomationContract["review"],
  { variable, rounds }: ReviewOverride,
): string {
  const source = rounds === undefined ? "" : ` (from ${variable})`;
  return `at most ${max_rounds} rounds per attempt${source}, ${loop_timeout_sec} s for all rounds together`;
}

/** Floors as they hold, whoever supplied them. */
function coverageText(coverage: NonNullable<Verification["coverage"]>): string {
  const { min_line_pct, min_branch_pct, max_regression_pct, preset, preset_sha256 } = coverage;
  const floors = [
    ...(min_line_pct === undefined ? [] : [`lines at least ${min_line_pct} %`]),
    ...(min_branch_pct === undefined ? [] : [`branches at least ${min_branch_pct} %`]),
    ...(max_regression_pct === undefined
      ? []
      : [`at most ${max_regression_pct} percentage points below the baseline`]),
  ];
  const source = preset_sha256 === null ? "" : ` (with preset ${preset})`;
  return `${floors.join(", ")}${source}; baseline ${coverage.baseline}, ${coverage.parser} at ${coverage.artifact}`;
}

const visualText = ({
  url,
  timeout_sec,
  skip_is_failure,
}: NonNullable<Verification["visual"]>): string =>
  `of ${url}, within ${timeout_sec} s; what it skips ${skip_is_failure ? "fails" : "doesn't fail"}`;

function profilesText(routing: NonNullable<AutomationContract["routing"]>): string {
  const profiles = routing.effective_profiles ?? routing.allowed_profiles;
  const route = routing.default_task_route;
  return [
    profiles === undefined ? "narrows no profile" : `profiles ${profiles.join(", ") || "none"}`,
    ...(route === undefined ? [] : [`route ${route}`]),
  ].join(", ");
}

/** A small block as it stands. */
const settingsText = (block: object): string =>
  Object.entries(block)
    .map(([key, value]) => `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ") || "empty";

/** What no file was given for, as the end of a verdict. */
export function uncheckedText(
  { verification, routing }: AutomationContract,
  given: Pick<AutomationFiles, "mapping" | "registry" | "providers">,
): string {
  const names = routing?.allowed_profiles ?? routing?.default_task_route;
  const unchecked = [
    ...(verification.conformance !== undefined && given.providers === undefined
      ? ["evaluator (--providers)"]
      : []),
    ...(names !== undefined && given.registry === undefined
      ? ["routing's names (--registry)"]
      : []),
    ...(given.mapping === undefined ? ["what the requirements need (--mapping)"] : []),
  ];
  return unchecked.length === 0 ? "" : `; not checked: ${unchecked.join(", ")}`;
}
