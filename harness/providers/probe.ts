import { defined } from "../../faults/defined";
import { valueAt } from "../../faults/schemaFaults";
import { chatProbe, type ProviderVerdict } from "./chatProbe";
import { faultyProviders, type ProfileCheck } from "./check";
import { healthcheckProbe, PROBE_TIMEOUT_SEC } from "./healthcheck";
import type { ProfileDocument } from "./profile";
import type { ReviewerHealth } from "./reviewers";
import { type Provider, providerSchema } from "./schema";

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
 * Asks every provider of a profile: its healthcheck, as the harness reads it, and one tiny request if it is
 * openai-compatible. A provider with a fault is not asked.
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
      probed.push({ name, healthcheck: { name: `${name}: healthcheck`, status: "skip", detail, fix } });
      continue;
    }
    const healthcheck = await healthcheckProbe(name, command, env, timeoutSec);
    const chat = provider.type === "openai-compatible" ? await chatProbe(name, provider, env, timeoutSec) : undefined;
    probed.push({ name, provider, healthcheck, ...defined({ chat }) });
  }
  return probed;
}

export const verdictsOf = (probed: readonly ProbedProvider[]): ProviderVerdict[] =>
  probed.flatMap(({ healthcheck, chat }) => (chat === undefined ? [healthcheck] : [healthcheck, chat]));

/** What the harness would make of a provider as a reviewer, by its probes. */
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
