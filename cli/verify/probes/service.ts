import { fail, pass } from "../probe";
import type { ProbesOf } from "../target";

/** What every service is asked that has no probes of its own. */
export const serviceProbes: ProbesOf<"service"> = [
  {
    name: "service-answers",
    about: "GET / of a service",
    fix: ({ name, machine }) =>
      `See \`serving logs ${name}\` and \`docker inspect ${name}\` on ${machine.name}.`,
    run: async ({ api }) => {
      const { status } = await api.get("/");
      return status < 500 ? pass(`answers with ${status}`) : fail(`answers with ${status}`);
    },
  },
];
