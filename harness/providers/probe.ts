import { valueAt } from "../../faults/schemaFaults";
import { chatProbe, type ProbeResult } from "./chatProbe";
import { faultyProviders, type ProfileVerdict } from "./check";
import { healthcheckProbe } from "./healthcheck";
import { PROBE_TIMEOUT_SEC } from "./probeTimeout";
import type { ProfileDocument } from "./profile";
import { type Provider, providerSchema } from "./schema";

/**
 * Asks every provider of a profile: its healthcheck, as the harness reads it, and one tiny request where it is
 * openai-compatible. A provider with a fault is not asked, since what would run is not what was meant.
 */
export async function probeProviders(
  document: ProfileDocument,
  verdict: ProfileVerdict,
  env: NodeJS.ProcessEnv,
  timeoutSec = PROBE_TIMEOUT_SEC,
): Promise<ProbeResult[]> {
  const faulty = faultyProviders(verdict.faults);
  const results: ProbeResult[] = [];
  const tables = valueAt(document.value, ["providers"]);
  if (typeof tables !== "object" || tables === null) return results;
  for (const [name, table] of Object.entries(tables)) {
    const provider = faulty.has(name) ? undefined : readProvider(table);
    if (provider === undefined) {
      results.push({
        name: `${name}: healthcheck`,
        status: "skip",
        detail: "its table has faults",
        fix: "Mend them first.",
      });
      continue;
    }
    const command = document.naive.get(`providers.${name}`, "healthcheck")?.text;
    results.push(await healthcheckProbe(name, command, env, timeoutSec));
    if (provider.type === "openai-compatible") results.push(await chatProbe(name, provider, env, timeoutSec));
  }
  return results;
}

/** Keys that the schema does not know are left out, not refused. */
function readProvider(table: unknown): Provider | undefined {
  const read = providerSchema.strip().safeParse(table);
  return read.success ? read.data : undefined;
}
