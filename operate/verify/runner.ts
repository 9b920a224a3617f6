import { Failed } from "../../commandLine/exit";
import type { MachinePlan, Plan } from "../../components/plan/types";
import { isPlaceholder } from "../../components/settings/secretValue";
import { redact } from "../redact";
import { ABSENT, KINDS, probesFor, probesOf } from "./catalog";
import type { Host } from "./host";
import { NoAnswer } from "./http";
import { BadAnswer, fail, type Probe, type ProbeResult, skip, type Verdict } from "./probe";
import { CHAT_UI_KEY_VARIABLE } from "./probes/chatUi";
import { quote, sentence, withoutSecrets } from "./quote";
import { type Target, targetsOf } from "./targets";

export interface VerifyOptions {
  /** Names of the probes to run; all when it is left out. */
  readonly only?: readonly string[];
  /** Seconds that one answer of a model may take. */
  readonly timeoutSeconds: number;
  /** Probe an inference server here, and nothing else of the plan unless `only` names it. */
  readonly baseUrl?: string;
  /** The machine's files, processes and Docker, by the machine's Docker address. */
  readonly host: (dockerHost: string) => Host;
  /** Told before each probe that really runs, and after each result. */
  readonly progress?: {
    readonly starts: (name: string, target: string, about: string) => void;
    readonly ended: (result: ProbeResult) => void;
  };
}

/** After this many requests of one target that ran into their limit, its other probes are not run: a run has an end. */
const TIMEOUTS_ALLOWED = 2;

/** Probes everything that the plan has. Never throws for what a server does. */
export async function verify(plan: Plan, options: VerifyOptions): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const machine of plan.machines) results.push(...(await verifyMachine(machine, options)));
  return results;
}

async function verifyMachine(machine: MachinePlan, options: VerifyOptions): Promise<ProbeResult[]> {
  const host = options.host(machine.dockerHost);
  const targets = await targetsOf(machine, host, options);
  const secrets = secretsOf(machine, targets, host);
  const results: ProbeResult[] = [];
  for (const kind of KINDS) {
    const ofKind = targets.filter((target) => target.kind === kind);
    if (ofKind.length === 0) {
      for (const { name } of probesOf(kind).filter(chosen(options))) {
        results.push(report({ ...skip(ABSENT[kind]), name, target: machine.name, seconds: 0 }, options));
      }
    }
    for (const target of ofKind) results.push(...(await verifyTarget(target, secrets, options)));
  }
  return results;
}

async function verifyTarget(
  target: Target,
  secrets: readonly string[],
  options: VerifyOptions,
): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  let timeouts = 0;
  let closed = outOfSight(target, options) ?? target.unreachable;
  for (const probe of probesFor(target).filter(chosen(options))) {
    const started = performance.now();
    const reason = closed ?? probe.skip?.(target);
    if (reason === undefined) options.progress?.starts(probe.name, target.name, probe.about);
    const { verdict, noAnswer } =
      reason === undefined ? await run(probe, target) : { verdict: skip(reason), noAnswer: undefined };
    if (noAnswer?.reason === "timeout") timeouts += 1;
    if (noAnswer?.reason === "refused")
      closed = `not run: ${target.name} does not answer (see ${probe.name})`;
    if (timeouts >= TIMEOUTS_ALLOWED)
      closed = `not run: ${target.name} let ${timeouts} requests run into their limit`;
    if (verdict.closes !== undefined) closed = `not run: ${verdict.closes} (see ${probe.name})`;
    const result = {
      name: probe.name,
      target: target.name,
      status: verdict.status,
      // Our own keys by what they are, anybody else's that a server repeats by their form.
      detail: sentence(redact(withoutSecrets(verdict.detail, secrets))),
      fix: withoutSecrets(verdict.fix, secrets),
      seconds: (performance.now() - started) / 1000,
    };
    results.push(report(result, options));
  }
  return results;
}

interface Run {
  readonly verdict: Verdict;
  readonly noAnswer: NoAnswer | undefined;
}

async function run(probe: Probe, target: Target): Promise<Run> {
  try {
    return { verdict: await probe.run(target), noAnswer: undefined };
  } catch (error) {
    if (error instanceof NoAnswer) {
      // Where nobody is, it matters why, and what this probe is about does not. The first one of a kind asks whether it lives.
      const asked = error.reason === "refused" ? (probesFor(target)[0] ?? probe) : probe;
      return { verdict: fail(error.message, asked.fix(target)), noAnswer: error };
    }
    if (error instanceof BadAnswer || error instanceof Failed) {
      return { verdict: fail(error.message, probe.fix(target)), noAnswer: undefined };
    }
    // An answer nested a million deep, say: one that no probe foresaw ends its own probe and not the run.
    const said = quote(error instanceof Error ? error.message : String(error));
    return {
      verdict: fail(`the answer could not be judged: ${said}`, probe.fix(target)),
      noAnswer: undefined,
    };
  }
}

/** A server that was named by its URL is judged by itself: what else the plan has may be far from here. */
function outOfSight(target: Target, { baseUrl, only }: VerifyOptions): string | undefined {
  if (baseUrl === undefined || target.kind === "inference-server" || only !== undefined) return undefined;
  return "--base-url names one server; name this probe with --only to run it too";
}

function chosen({ only }: VerifyOptions): (probe: { readonly name: string }) => boolean {
  return ({ name }) => only === undefined || only.includes(name);
}

function report(result: ProbeResult, { progress }: VerifyOptions): ProbeResult {
  progress?.ended(result);
  return result;
}

/** Every key that a request of ours may carry, so that no server's echo of it is printed. Placeholders are no secrets. */
function secretsOf(machine: MachinePlan, targets: readonly Target[], host: Host): string[] {
  const names = [
    CHAT_UI_KEY_VARIABLE,
    ...machine.secretFiles.map((file) => file.variable),
    ...targets.flatMap(({ keyVariables = [] }) => keyVariables),
  ];
  return names.map((name) => host.env[name] ?? "").filter((value) => !isPlaceholder(value));
}
