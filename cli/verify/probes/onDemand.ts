import { quotedList } from "../../sees/answer";
import { fail, pass } from "../probe";
import type { ProbesOf } from "../target";

/** What llama-swap itself is asked; its servers have the probes of any server. */
export const onDemandProbes: ProbesOf<"on-demand"> = [
  {
    name: "on-demand-models",
    about: "llama-swap lists every model that it starts",
    fix: ({ machine }) =>
      `Start it again with what was applied: \`systemctl --user restart ${machine.onDemand?.unit}\`, then \`serving status --against applied\`.`,
    run: async ({ swap, planned }) => {
      const listed = await swap.names();
      const missing = planned.servers
        .flatMap(({ model, names }) => [model, ...names])
        .filter((name) => !listed.includes(name));
      return missing.length === 0
        ? pass(`it lists ${quotedList(planned.servers.map(({ model }) => model))}`)
        : fail(`it does not list ${quotedList(missing)}`);
    },
  },
];
