import { objectOr, objectsIn, textOr } from "../../../faults/json";
import { fail, pass, passUnless, quote } from "../probe";
import type { ProbesOf } from "../target";

export const monitoringProbes: ProbesOf<"monitoring"> = [
  {
    name: "figures",
    about: "Prometheus gets figures from everything that it is to ask",
    fix: ({ name }) => `See docker logs ${name}; a server gives figures once it serves.`,
    run: async ({ api }) => {
      const { data } = await api.json("/api/v1/targets?state=active");
      const targets = objectsIn(objectOr(data).activeTargets).map(({ labels, health, lastError }) => ({
        job: textOr(objectOr(labels).job),
        health: textOr(health),
        why: quote(textOr(lastError)),
      }));
      if (targets.length === 0) return fail("it asks nobody", "npm run up brings its configuration to the plan.");
      // What it has not asked yet is unknown, for the first quarter of a minute.
      const dark = targets.filter(({ health }) => health !== "up");
      const faults = dark.map(({ job, health, why }) => `${job} is ${health}${health === "down" ? ` (${why})` : ""}`);
      return passUnless(faults, targets.map(({ job }) => job).join(", "));
    },
  },
  {
    name: "dashboard",
    about: "Grafana shows the dashboard of this machine",
    fix: () => "npm run up brings Grafana and its files to the plan; docker logs grafana says what it could not read.",
    run: async ({ grafana, machine }) => {
      const { dashboard } = await grafana.json("/api/dashboards/home");
      const title = textOr(objectOr(dashboard).title);
      const isOurs = title.endsWith(`: ${machine.name}`);
      return isOurs ? pass(title) : fail(`its first page is ${quote(title || "nothing")}`);
    },
  },
];
