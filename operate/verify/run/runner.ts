import { Failed } from "../../../commandLine/exit";
import type { MachinePlan } from "../../../components/plan";
import { isPlaceholder } from "../../../faults/secrets";
import { NoAnswer, type NoAnswerReason } from "../../../http/ask";
import { redact } from "../../programs/redact";
import { BadAnswer, quote, sentence } from "../../sees/answer";
import type { Host } from "../../sees/host";
import { tunnelTo } from "../../sees/tunnel";
import { fail, type Probe, type ProbeResult, skip, type Verdict, withoutSecrets } from "../probe";
import { CHAT_UI_KEY_VARIABLE } from "../probes/chatUi";
import type { VerifyProgress } from "../report";
import type { Target, TargetOptions } from "../target";
import { targetsOf } from "../targetsOf";
import { KINDS, probesFor, probesOf, whyAbsent } from "./catalog";

export interface VerifyOptions extends TargetOptions {
  readonly only?: readonly string[];
  readonly progress?: VerifyProgress;
}

/**
 * After this many requests to a target that timed out, its other probes are not run: a run must
 * end.
 */
const TIMEOUTS_ALLOWED = 2;

const NOT_THAT_SERVER =
  "with --base-url, only that server is probed; name this probe with --only to run it too";

/** Probes everything on a machine of the plan. Never throws because of a server. */
export async function verify(machine: MachinePlan, options: VerifyOptions): Promise<ProbeResult[]> {
  const host = options.host(machine.dockerHost);
  // The server at `--base-url` has an address of its own.
  const tunnel = options.baseUrl === undefined ? await tunnelTo(machine) : undefined;
  try {
    const targets = await targetsOf(machine, host, options, tunnel);
    const secrets = secretsOf(machine, targets, host);
    const results: ProbeResult[] = [];
    for (const kind of KINDS) {
      const ofKind = targets.filter((target) => target.kind === kind);
      const absent = { ...skip(whyAbsent(kind)), fix: "", target: machine.name, seconds: 0 };
      const without = ofKind.length === 0 ? probesOf(kind).filter(chosen(options)) : [];
      results.push(...without.map(({ name }) => report({ ...absent, name }, options)));
      for (const target of ofKind) results.push(...(await verifyTarget(target, secrets, options)));
    }
    return results;
  } finally {
    tunnel?.close();
  }
}

async function verifyTarget(
  target: Target,
  secrets: readonly string[],
  options: VerifyOptions,
): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  let timeouts = 0;
  // The rest of the plan may be elsewhere.
  const aside =
    options.baseUrl !== undefined &&
    options.only === undefined &&
    target.kind !== "inference-server";
  let closed = aside ? NOT_THAT_SERVER : target.unreachable;
  for (const probe of probesFor(target).filter(chosen(options))) {
    const started = performance.now();
    const reason = closed ?? probe.skip?.(target);
    if (reason === undefined) options.progress?.starts(probe.name, target.name, probe.about);
    const verdict: Run = reason === undefined ? await run(probe, target) : skip(reason);
    if (verdict.noAnswer === "timeout") timeouts += 1;
    if (timeouts >= TIMEOUTS_ALLOWED)
      closed = `not run: ${target.name} let ${timeouts} requests time out`;
    if (verdict.closes !== undefined) closed = `not run: ${verdict.closes} (see ${probe.name})`;
    const result = {
      name: probe.name,
      target: target.name,
      status: verdict.status,
      // Our own keys are replaced by their values, anybody else's that a server repeats by their
      // form.
      detail: sentence(redact(withoutSecrets(verdict.detail, secrets))),
      fix: withoutSecrets(
        verdict.fix ?? (verdict.status === "fail" ? probe.fix(target) : ""),
        secrets,
      ),
      seconds: (performance.now() - started) / 1000,
    };
    results.push(report(result, options));
  }
  return results;
}

/** A verdict, and why there was no answer to judge. */
interface Run extends Verdict {
  readonly noAnswer?: NoAnswerReason;
}

async function run(probe: Probe<Target>, target: Target): Promise<Run> {
  try {
    return await probe.run(target);
  } catch (error) {
    if (error instanceof NoAnswer && error.reason === "refused") {
      // If nobody answers, only the reason matters; the first probe of a kind asks whether its
      // target is alive.
      const [first = probe] = probesFor(target);
      const closes = `${target.name} does not answer`;
      return { ...fail(error.message, first.fix(target)), noAnswer: error.reason, closes };
    }
    if (error instanceof NoAnswer) return { ...fail(error.message), noAnswer: error.reason };
    if (error instanceof BadAnswer && error.isFailure) {
      const ours = target.machine.containers.some(({ name }) => name === target.name);
      const where = ours ? ` (docker logs ${target.name})` : "";
      return fail(
        error.message,
        `The server failed: its log says why${where}, then serving doctor.`,
      );
    }
    if (error instanceof BadAnswer || error instanceof Failed) return fail(error.message);
    // An unforeseen answer, such as one nested a million deep, ends its own probe and not the run.
    const said = quote(error instanceof Error ? error.message : String(error));
    return fail(`the answer could not be judged: ${said}`);
  }
}

function chosen({ only }: VerifyOptions): (probe: { readonly name: string }) => boolean {
  return ({ name }) => only === undefined || only.includes(name);
}

function report(result: ProbeResult, { progress }: VerifyOptions): ProbeResult {
  progress?.ended(result);
  return result;
}

/**
 * Every key that our requests may carry, so that a server's echo of it isn't printed. Placeholders
 * are not secrets.
 */
function secretsOf(machine: MachinePlan, targets: readonly Target[], host: Host): string[] {
  const names = [
    CHAT_UI_KEY_VARIABLE,
    ...machine.secretFiles.map((file) => file.variable),
    ...targets.flatMap(({ keyVariables = [] }) => keyVariables),
  ];
  return names.map((name) => host.env[name] ?? "").filter((value) => !isPlaceholder(value));
}
