import { valueAt } from "../../faults/schemaFaults";
import { chatProbe, type ProbeResult } from "./chatProbe";
import { faultyProviders, type ProfileVerdict } from "./check";
import { healthcheckProbe } from "./healthcheck";
import { PROBE_TIMEOUT_SEC } from "./probeTimeout";
import type { ProfileDocument } from "./profile";
import { type Provider, providerSchema } from "./schema";

/** One provider of a profile, as far as it can be asked. */
export interface AskedProvider {
  readonly name: string;
  /** Absent where its table has a fault: what would run is not what was meant. */
  readonly provider?: Provider;
  /** The healthcheck's command as the harness reads it. */
  readonly healthcheck?: string;
}

/** The providers of a profile, in its order. */
export function askedProviders(document: ProfileDocument, verdict: ProfileVerdict): AskedProvider[] {
  const faulty = faultyProviders(verdict.faults);
  const tables = valueAt(document.value, ["providers"]);
  if (typeof tables !== "object" || tables === null) return [];
  return Object.entries(tables).map(([name, table]) => {
    const provider = faulty.has(name) ? undefined : readProvider(table);
    const healthcheck = document.naive.get(`providers.${name}`, "healthcheck")?.text;
    return {
      name,
      ...(provider === undefined ? {} : { provider }),
      ...(healthcheck === undefined ? {} : { healthcheck }),
    };
  });
}

/**
 * Asks every provider of a profile: its healthcheck, as the harness reads it, and one tiny request where it is
 * openai-compatible. A provider with a fault is not asked.
 */
export async function probeProviders(
  document: ProfileDocument,
  verdict: ProfileVerdict,
  env: NodeJS.ProcessEnv,
  timeoutSec = PROBE_TIMEOUT_SEC,
): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const { name, provider, healthcheck } of askedProviders(document, verdict)) {
    if (provider === undefined) {
      results.push({
        name: `${name}: healthcheck`,
        status: "skip",
        detail: "its table has faults",
        fix: "Mend them first.",
      });
      continue;
    }
    results.push(await healthcheckProbe(name, healthcheck, env, timeoutSec));
    if (provider.type === "openai-compatible") results.push(await chatProbe(name, provider, env, timeoutSec));
  }
  return results;
}

/** Keys that the schema does not know are left out, not refused. */
function readProvider(table: unknown): Provider | undefined {
  const read = providerSchema.strip().safeParse(table);
  return read.success ? read.data : undefined;
}
