import { launchesIn } from "../command/launch";
import { refuseCommand } from "../command/words";
import type { PublishedKind } from "./kind";

/** A command, or a script of them: whatever is nothing else. */
export const shellScript: PublishedKind = {
  kind: "a shell script",
  looksLike: () => true,
  servers({ text }) {
    const { launches, documents } = launchesIn(text);
    if (launches.length > 1)
      refuseCommand(`It starts ${launches.length} servers: give the command of one.`);
    return {
      servers: launches.map((launch) => ({ name: "its command", launch: () => launch })),
      documents,
    };
  },
};
