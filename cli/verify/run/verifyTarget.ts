import { interruption, untilInterrupted } from "@local-serving/base/commandLine/interrupt";
import { defined } from "@local-serving/base/faults/defined";
import { redact } from "../../programs/redact";
import type { Cause } from "../../rules/report";
import type { ServerSeen } from "../../rules/serverSeen";
import { sentence } from "../../sees/answer";
import { type Probe, type ProbeResult, skip, type Verdict, withoutSecrets } from "../probe";
import type { VerifyProgress } from "../report";
import type { Target, TargetOptions } from "../target";
import { probesFor } from "./catalog";
import { lookCloser } from "./lookCloser";
import { type Run, runProbe } from "./runProbe";
import { WatchedApi } from "./watchedApi";

export interface VerifyOptions extends TargetOptions {
  readonly progress?: VerifyProgress;
  /** Ends the run: the probe that runs and those behind it are skipped. */
  readonly interrupt?: AbortSignal;
  /** Gets what the probes saw of a server in which some failed. */
  readonly sees?: (seen: ServerSeen) => void;
}

/**
 * After this many requests to a target that timed out, its other probes are not run: a run must
 * end.
 */
const TIMEOUTS_ALLOWED = 2;

/**
 * Times the tokens that an answer gets which was cut off: a model that thinks for long ends then, a
 * model that never ends does not.
 */
const MORE_TOKENS = 4;

/** After this many answers that were cut off twice, no further one is asked for again. */
const NEVER_ENDING = 2;

const NOT_THAT_SERVER =
  "with --base-url, only that server is probed; name this probe with --only to run it too";

/** What a run found: the verdict of each probe, and what explains the failures. */
export interface VerifyOutcome {
  readonly probes: readonly ProbeResult[];
  readonly causes: readonly Cause[];
}

/** Probes one target, and says what explains its failures. */
export async function verifyTarget(
  target: Target,
  secrets: readonly string[],
  options: VerifyOptions,
): Promise<VerifyOutcome> {
  const watched = target.kind === "inference-server" ? new WatchedApi(target.api) : undefined;
  const results = await probeAll(target, watched, secrets, options);
  const failed = results.filter(({ status }) => status === "fail").map(({ name }) => name);
  if (
    target.kind !== "inference-server" ||
    watched === undefined ||
    failed.length === 0 ||
    options.interrupt?.aborted === true
  )
    return { probes: results, causes: [] };
  const server = await lookCloser(target, watched, failed);
  options.sees?.(server);
  // Reading the rules takes 0.1 s.
  const { causesOf } = await import("../../rules/report");
  const causes = causesOf({ logs: [], probes: results, server }).map((cause) => ({
    ...cause,
    cause: withoutSecrets(cause.cause, secrets),
  }));
  return { probes: results.map((each) => explained(each, causes)), causes };
}

/** The first probe that a cause explains says what to do, the others name that probe. */
function explained(probe: ProbeResult, causes: readonly Cause[]): ProbeResult {
  const found = causes.find(({ probes }) => probes.includes(probe.name));
  if (found === undefined) return probe;
  const { id, cause, advice, command, probes } = found;
  return probe.name === probes[0]
    ? { ...probe, fix: `${cause} ${advice}`, cause: id, why: { cause, advice, command } }
    : { ...probe, fix: `See ${probes[0]}: it has the cause.`, cause: id };
}

async function probeAll(
  target: Target,
  watched: WatchedApi | undefined,
  secrets: readonly string[],
  options: VerifyOptions,
): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  let [timeouts, cut] = [0, 0];
  let closed = isAside(target, options) ? NOT_THAT_SERVER : target.unreachable;
  for (const probe of probesFor(target).filter(chosen(options))) {
    const started = performance.now();
    closed = interruptedBy(options) ?? closed;
    const reason = closed ?? probe.skip?.(target);
    if (reason === undefined) options.progress?.starts(probe.name, target.name, probe.about);
    const verdict: Run =
      reason === undefined
        ? await untilEnd(ask(probe, target, watched, cut < NEVER_ENDING), options)
        : skip(reason);
    if (verdict.status === "fail") closed ??= await closedAs(target, watched, probe.name);
    if (verdict.noAnswer === "timeout") timeouts += 1;
    if (verdict.cut) cut += 1;
    if (timeouts >= TIMEOUTS_ALLOWED)
      closed = `not run: ${timeouts} requests to ${target.name} timed out`;
    if (verdict.closes !== undefined) closed = `not run: ${verdict.closes} (see ${probe.name})`;
    const run = { verdict, seconds: (performance.now() - started) / 1000 };
    results.push(report(resultOf(probe, target, run, secrets), options));
  }
  return results;
}

/** Why nothing else is asked of a server that failed a probe: what answers there isn't vLLM. */
async function closedAs(target: Target, watched: WatchedApi | undefined, probe: string) {
  if (watched === undefined || watched.wantsKey || watched.isRefused) return undefined;
  return (await watched.isOther())
    ? `not run: ${target.name} does not answer as vLLM does (see ${probe})`
    : undefined;
}

/** The rest of the plan of a server at `--base-url` may be elsewhere. */
const isAside = ({ kind }: Target, { baseUrl, only }: VerifyOptions): boolean =>
  baseUrl !== undefined && only === undefined && kind !== "inference-server";

const interruptedBy = ({ interrupt }: VerifyOptions): string | undefined =>
  interrupt?.aborted ? `not run to its end: ${interruption(interrupt)}` : undefined;

/** What a probe finds, unless the run is interrupted before. */
async function untilEnd(probing: Promise<Run>, options: VerifyOptions): Promise<Run> {
  const { interrupt } = options;
  if (interrupt === undefined) return probing;
  return (await untilInterrupted(probing, interrupt)) ?? skip(interruptedBy(options) ?? "");
}

/** Runs a probe, and once more with more tokens where an answer was cut off. */
async function ask(
  probe: Probe<Target>,
  target: Target,
  watched: WatchedApi | undefined,
  again: boolean,
): Promise<Run> {
  if (target.kind !== "inference-server" || watched === undefined) return runProbe(probe, target);
  watched.probe = probe.name;
  const verdict = await runProbe(probe, { ...target, api: watched });
  for (const part of verdict.parts ?? []) watched.parts.push({ ...part, probe: probe.name });
  if (watched.wantsKey) return { ...verdict, closes: `${target.name} wants a key` };
  if (!verdict.cut || !again) return verdict;
  const second = await runProbe(probe, { ...target, api: watched, moreTokens: MORE_TOKENS });
  // One that doesn't come in time says no more than the first.
  return second.noAnswer === "timeout" ? verdict : second;
}

function resultOf(
  { name, fix }: Probe<Target>,
  target: Target,
  { verdict, seconds }: { readonly verdict: Verdict; readonly seconds: number },
  secrets: readonly string[],
): ProbeResult {
  const { status, detail, figure } = verdict;
  return {
    ...defined({ figure }),
    name,
    target: target.name,
    status,
    // Our own keys are replaced by their values, anybody else's that a server repeats by their
    // form.
    detail: sentence(redact(withoutSecrets(detail, secrets))),
    fix: withoutSecrets(verdict.fix ?? (status === "fail" ? fix(target) : ""), secrets),
    seconds,
  };
}

export function chosen({ only }: VerifyOptions): (probe: { readonly name: string }) => boolean {
  return ({ name }) => only === undefined || only.includes(name);
}

export function report(result: ProbeResult, { progress }: VerifyOptions): ProbeResult {
  progress?.ended(result);
  return result;
}
