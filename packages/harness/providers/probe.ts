import { start } from "@local-serving/base/commandLine/run";
import { defined } from "@local-serving/base/faults/defined";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { chatProbe, type ProbeCause, type ProviderVerdict } from "./chatProbe";
import { faultyProviders, type ProfileCheck } from "./check";
import type { ProfileDocument } from "./profile";
import type { ReviewerHealth } from "./reviewers";
import { type Provider, providerSchema } from "./schema";

/**
 * Longest time that one probe waits, in seconds. A provider's own `timeout_sec` is for whole
 * reviews.
 */
export const PROBE_TIMEOUT_SEC = 30;

/** One provider of a profile, as far as it can be asked. */
export interface AskedProvider {
  readonly name: string;
  /** Absent where its table has a fault: what would run is not what was meant. */
  readonly provider?: Provider;
  /** The healthcheck's command as the harness reads it. */
  readonly command?: string;
}

export function askedProviders(document: ProfileDocument, check: ProfileCheck): AskedProvider[] {
  const faulty = faultyProviders(check.faults);
  const tables = valueAt(document.value, ["providers"]);
  if (typeof tables !== "object" || tables === null) return [];
  return Object.entries(tables).map(([name, table]) => {
    // Keys that the schema does not know are left out, not refused.
    const provider = faulty.has(name) ? undefined : providerSchema.strip().safeParse(table).data;
    const command = document.naive.get(`providers.${name}`, "healthcheck")?.text;
    return { name, ...defined({ provider, command }) };
  });
}

/** A provider with the verdicts of its probes. */
export interface ProbedProvider extends AskedProvider {
  readonly healthcheck: ProviderVerdict;
  /** The tiny request; openai-compatible providers only. */
  readonly chat?: ProviderVerdict;
}

/**
 * Asks every provider of a profile: its healthcheck, as the harness reads it, and one tiny request
 * if it is openai-compatible. A provider with a fault is not asked.
 */
export async function probeProviders(
  document: ProfileDocument,
  check: ProfileCheck,
  env: NodeJS.ProcessEnv,
  timeoutSec = PROBE_TIMEOUT_SEC,
): Promise<ProbedProvider[]> {
  const probed: ProbedProvider[] = [];
  for (const { name, provider, command } of askedProviders(document, check)) {
    if (provider === undefined) {
      const [detail, fix] = ["its table has faults", "Fix them first."];
      probed.push({
        name,
        healthcheck: { name: `${name}: healthcheck`, status: "skip", detail, fix },
      });
      continue;
    }
    const healthcheck = await healthcheckProbe(name, command, env, timeoutSec);
    const chat =
      provider.type === "openai-compatible"
        ? await chatProbe(name, provider, env, timeoutSec)
        : undefined;
    probed.push({ name, provider, healthcheck, ...defined({ chat }) });
  }
  return probed;
}

export const verdictsOf = (probed: readonly ProbedProvider[]): ProviderVerdict[] =>
  probed.flatMap(({ healthcheck, chat }) =>
    chat === undefined ? [healthcheck] : [healthcheck, chat],
  );

/** Says how a provider would do as a reviewer, judging by its probes. */
export function reviewerHealth(probed: readonly ProbedProvider[], name: string): ReviewerHealth {
  const found = probed.find((each) => each.name === name);
  if (found === undefined) return { outcome: "unhealthy", detail: "it is not declared" };
  const { provider, healthcheck, chat } = found;
  if (provider === undefined || healthcheck.status === "fail")
    return { outcome: "unhealthy", detail: healthcheck.detail };
  // A server that refuses the tiny request would refuse a review too.
  if (chat?.status === "fail") return { outcome: "no-review", detail: chat.detail };
  return { outcome: "healthy", detail: healthcheck.detail };
}

/**
 * Runs a provider's healthcheck as the harness does, by `bash -c`, in a process group of its own
 * that is gone when this returns. What the command prints is thrown away: it may hold a key.
 */
export async function healthcheckProbe(
  name: string,
  command: string | undefined,
  env: NodeJS.ProcessEnv,
  timeoutSec: number,
): Promise<ProviderVerdict> {
  const result = (
    status: ProviderVerdict["status"],
    detail: string,
    fix = "",
    cause?: ProbeCause,
  ) => {
    return { name: `${name}: healthcheck`, status, detail, fix, ...defined({ cause }) };
  };
  if (!command)
    return result("skip", "no healthcheck is set", "The harness takes the provider for reachable.");
  const { stdout, stderr, ended } = start(["bash", "-c", command], { seconds: timeoutSec, env });
  stdout.resume();
  stderr.resume();
  const { code, stopped, notStarted } = await ended;
  if (code === 0) return result("pass", "the command exits with 0");
  if (notStarted !== undefined)
    return result("fail", "bash could not be started", "Install bash.", "no-bash");
  const fix = "Run the command in a shell to see what it says.";
  if (stopped === "timeout")
    return result("fail", `the command did not end within ${timeoutSec} s`, fix, "timeout");
  const detail = code === null ? "the command was killed" : `the command exits with ${code}`;
  return result("fail", detail, fix, "healthcheck-failed");
}
