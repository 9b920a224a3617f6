import type { OnDemandAround, OnDemandPlan } from "./onDemandPlan";

const SECONDS = 60;

/** What the wrapper is told, as JSON: its own settings, the servers and the sets of them. */
export function declaredText(
  planned: OnDemandPlan,
  { sets }: Pick<OnDemandAround["together"], "sets">,
): string {
  const containerOf = new Map(planned.servers.map(({ key, container }) => [key, container]));
  const declared = {
    startWithinSeconds: planned.startWithinMinutes * SECONDS,
    retryAfterSeconds: planned.retryAfterMinutes * SECONDS,
    sets: sets.map((set) => set.flatMap((key) => containerOf.get(key) ?? [])),
    servers: planned.servers.map(({ key, container, model, port, graceSeconds, idleMinutes }) => ({
      key,
      container,
      model,
      port,
      graceSeconds,
      idleSeconds: idleMinutes === null ? null : idleMinutes * SECONDS,
    })),
  };
  return `${JSON.stringify(declared, null, 2)}\n`;
}
