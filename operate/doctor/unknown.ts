import { stateLine } from "./diagnoses/killed";
import type { Diagnosis, Finding } from "./diagnosis";
import { type Evidence, plannedStates } from "./evidence";
import type { Hit, LogReading } from "./scanLog";
import { RAISED, READY, TROUBLE } from "./sign";

/** What a person needs who looks further. */
const COLLECT =
  "Collect and look: `docker logs CONTAINER > server.log 2>&1`, `docker inspect CONTAINER`, /proc/meminfo, `sudo journalctl --dmesg`, `serving plan --format json`, `serving inventory`. Read them with `serving doctor --log server.log ...` once more, or take them to the project's or vLLM's issues. Keys are redacted here, not in your copies.";

const ABOUT: Pick<Diagnosis, "id" | "source" | "caughtBy"> = {
  id: "unknown",
  source: "none: no row of the specification and no known issue reads like this",
  caughtBy: false,
};

/** Trouble that no diagnosis explains: a server that died or never came up, or a log that ends in an error. */
export function unknownTrouble(evidence: Evidence): { about: typeof ABOUT; finding: Finding } | undefined {
  const states = plannedStates(evidence);
  const dead = states.find(
    ({ status, exitCode, health }) =>
      status === "restarting" ||
      status === "dead" ||
      health === "unhealthy" ||
      (status === "exited" && exitCode !== 0),
  );
  const well = (log: LogReading) =>
    states.some(
      (each) => each.name === log.container && each.status === "running" && each.health === "healthy",
    );
  const error = evidence.logs
    .filter((log) => log.kind !== "kernel" && log.kind !== "probes" && !well(log))
    .map(errorOf)
    .find((hit) => hit !== undefined);
  if (dead === undefined && error === undefined) return undefined;
  const shown = [
    ...(dead === undefined ? [] : [stateLine(dead)]),
    ...(error === undefined ? [] : [error.line]),
  ];
  return {
    about: ABOUT,
    finding: {
      cause: "There is trouble, and it is none that this doctor knows.",
      evidence: shown.join(" | "),
      advice: COLLECT,
      command: `docker logs --tail 200 ${dead?.name ?? "CONTAINER"} 2>&1 | less`,
    },
  };
}

/** The last error of a log, unless a start came through after it. */
function errorOf(log: LogReading): Hit | undefined {
  const hit = log.hits.get(RAISED) ?? log.hits.get(TROUBLE);
  const ready = log.hits.get(READY);
  if (hit === undefined || (ready !== undefined && ready.lineNumber > hit.lineNumber)) return undefined;
  return hit;
}
