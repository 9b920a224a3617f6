import { objectsIn, textOr } from "../json";
import { readMetrics } from "../metrics";
import { fail, type Probe, pass } from "../probe";
import { quote } from "../quote";
import type { InstanceATarget } from "../targets";

/** Instance A still answers and is still the process that it was before the probes: nothing of ours touched it. */
export const instanceA: Probe<InstanceATarget> = {
  name: "instance-a",
  about: "instance A answers and is the same process as before",
  fix: ({ port }) =>
    `It is not ours and nothing here starts it: see who listens on ${port} (\`ss -lntp\`), or declare \`instanceA: none\`.`,
  run: async (target) => {
    const ids = objectsIn((await target.api.json("/v1/models")).data).map((model) => textOr(model.id));
    const pid = (await target.host.listener(target.port))?.pid;
    const now = pid === undefined ? undefined : await target.host.startTime(pid);
    const before = target.startTimeBefore;
    if (before !== undefined && now !== before) {
      return fail(
        "it is another process than before the probes: it was restarted meanwhile",
        "Nothing here restarts it: see its own log, and the kernel's for a process killed for memory.",
      );
    }
    const serves = `serves ${ids.map(quote).join(", ") || "no model"}`;
    if (before !== undefined) return pass(`${serves}; same process as before (${String(pid)})`);
    const started = await startOf(target);
    return pass(`${serves}; its process belongs to another user${started}`);
  },
};

/** Start time by its own metrics, where it shows them. */
async function startOf({ api }: InstanceATarget): Promise<string> {
  const metrics = await readMetrics(api).catch(() => undefined);
  const seconds = metrics?.sum("process_start_time_seconds");
  return seconds === undefined ? "" : `, started ${new Date(seconds * 1000).toISOString()}`;
}
