import { objectsIn, textOr } from "../json";
import { processStart } from "../metrics";
import { fail, pass } from "../probe";
import { quotedList } from "../quote";
import type { ProbesOf } from "../target";

/** Instance A still answers and is the same process as before the probes: nothing of ours touched it. */
export const instanceAProbes: ProbesOf<"instance-a"> = [
  {
    name: "instance-a",
    about: "instance A answers and is the same process as before",
    fix: ({ port }) =>
      `It is not ours and nothing here starts it: see who listens on ${port} (\`ss -lntp\`), or declare \`instanceA: none\`.`,
    run: async ({ api, host, port, before }) => {
      const ids = objectsIn((await api.json("/v1/models")).data).map((model) => textOr(model.id));
      const serves = `serves ${quotedList(ids, "no model")}`;
      const now = await processStart(host, api, port);
      if (before === undefined)
        return pass(`${serves}; its process belongs to another user, and it does not say when it started`);
      if (now?.mark === before.mark) return pass(`${serves}; same process as before (${now.words})`);
      return fail(
        "it is another process than before the probes: it was restarted meanwhile",
        "Nothing here restarts it: see its own log, and the kernel's for a process killed for memory.",
      );
    },
  },
];
