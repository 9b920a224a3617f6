import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { isRecord, type JsonObject, jsonIn, objectsIn } from "@local-serving/base/faults/json";
import { shell } from "../app/commandEnvironment";
import { type AppSetting, withApp } from "../app/lifecycle";
import type { AutomationContract } from "../automation/resolve";
import type { GateResult } from "./coverageGate";
import { artifactOf } from "./freshArtifact";
import { inThrowawayWorktree } from "./throwawayWorktree";

type VisualContract = NonNullable<AutomationContract["verification"]["visual"]>;

/** The app runs in the project, the check in a checkout of its HEAD. */
interface VisualSetting extends AppSetting {
  readonly visual: VisualContract;
  /** Prefix of the variables that tell the check where the app is. */
  readonly prefix: string;
}

/**
 * Runs the UI check against the running app, in a throwaway checkout of HEAD, and judges its
 * result. The check finds the browser's address in `<prefix>VISUAL_URL` and the app's in
 * `<prefix>APP_URL`.
 */
export async function visualGate(setting: VisualSetting) {
  const { visual, ledger } = setting;
  const run = await withApp({ ...setting, addresses: [visual.url] }, (address, signal) =>
    check(setting, address, signal),
  );
  const { result, ...app } = run;
  const failures = [
    ...(run.failure === undefined ? [] : [run.failure]),
    ...(result?.failures ?? []),
  ];
  const passed = failures.length === 0 && result !== undefined;
  const judged = passed && result.commit !== undefined ? [`commit ${result.commit}`] : [];
  const outcome: GateResult = { verdict: passed ? "pass" : "fail", failures, judged };
  // Absent when no checkout was made.
  const checked = { ...outcome, ...defined({ commit: result?.commit }) };
  ledger.record({ event: "visual gate", command: visual.command, ...checked });
  return { ...checked, app };
}

type Checked = { readonly failures: readonly string[]; readonly commit?: string };

async function check(
  setting: VisualSetting,
  address: string,
  interrupt: AbortSignal,
): Promise<Checked> {
  const { project, env, prefix, visual, ledger } = setting;
  const variables = { [`${prefix}VISUAL_URL`]: visual.url, [`${prefix}APP_URL`]: address };
  const checked = await inThrowawayWorktree(
    { repository: project, ref: "HEAD", env, ledger, log: "visual.log", interrupt },
    async ({ directory, commit, supervisor, log }): Promise<Checked> => {
      const place = { cwd: directory, env: { ...env, ...variables } };
      const command = { argv: shell(visual.command), ...place, jobs: ledger.jobs, interrupt };
      const read = await artifactOf("visual", visual, command, { log, supervisor });
      if (interrupt.aborted) return { failures: [String(interrupt.reason)], commit };
      if ("fault" in read) {
        const why = lackingText(visual.command, project, directory);
        return { failures: [`${read.fault}${why}`], commit };
      }
      // The checkout is removed, and the result stays as evidence.
      writeFileSync(join(ledger.directory, "visual-result.json"), read.text);
      return { failures: visualFailures(read.text, visual.skip_is_failure), commit };
    },
  );
  return "fault" in checked ? { failures: [checked.fault] } : checked;
}

/** What a command names that the project has and the checkout lacks: it isn't committed. */
function lackingText(command: string, project: string, checkout: string): string {
  const lacking = command
    .split(/[\s"'`;|&()<>=]+/)
    .filter(
      (word) =>
        /^[\w.][\w./-]*$/.test(word) &&
        existsSync(join(project, word)) &&
        !existsSync(join(checkout, word)),
    );
  const where = "; it ran in a checkout of HEAD";
  return lacking.length === 0
    ? where
    : `${where}, which lacks ${[...new Set(lacking)].join(", ")}: commit that first`;
}

/** Mode of a result that ran everything, as the public harness writes it. */
const FULL = "full";

/** Verdicts of single criteria that no policy turns into a pass. */
const RED = ["fail", "unreached"];

/**
 * Judges a visual artifact: `{"passed": bool, "mode": "full"|..., "skipped": [...], "criteria":
 * [{"verdict": ...}]}`.
 * @param skipIsFailure whether a result that is degraded, skipped or without a mode fails even if
 * it says passed
 * @returns why the gate fails, one sentence each; none means that it passes
 */
export function visualFailures(text: string, skipIsFailure: boolean): string[] {
  const result = jsonIn(text);
  if (result === undefined) return ["the result is not JSON"];
  if (!isRecord(result)) return ["the result isn't a JSON object"];
  const { passed } = result;
  if (typeof passed !== "boolean") return ["the result has no `passed` of true or false"];
  const verdicts = objectsIn(result.criteria).map(({ verdict }) => verdict);
  if (passed && verdicts.some((verdict) => RED.includes(String(verdict))))
    return ["the result says passed although one of its criteria did not"];
  const gaps = gapsOf(result);
  if (verdicts.includes("skip")) gaps.push("criteria were skipped");
  const failures = passed ? [] : ["the result says that the check did not pass"];
  if (gaps.length > 0 && skipIsFailure)
    failures.push(
      `the check did not run in full (${gaps.join("; ")}), and skip_is_failure is true`,
    );
  return failures;
}

/** Values of `skipped` that mean that nothing was skipped, beside an empty list. */
const NOTHING: readonly unknown[] = [undefined, null, false, 0];

/** What a result says that it left out. */
function gapsOf({ degraded, status, mode, skipped }: JsonObject): string[] {
  const gaps = degraded === true ? ["it says degraded"] : [];
  if (status === "skipped" || status === "degraded") gaps.push(`its status is ${status}`);
  if (typeof mode !== "string" || mode === "") gaps.push("it names no mode");
  else if (mode !== FULL) gaps.push(`its mode is not \`${FULL}\``);
  const nothing = Array.isArray(skipped) ? skipped.length === 0 : NOTHING.includes(skipped);
  return nothing ? gaps : [...gaps, "something was skipped"];
}
