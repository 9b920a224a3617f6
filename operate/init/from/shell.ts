import { launchesIn, refuseSeveral } from "../command/launch";
import type { PublishedKind } from "./kind";

/** A command, or a script of them: whatever is nothing else. */
export const shellScript: PublishedKind = {
  kind: "a shell script",
  looksLike: () => true,
  servers({ text }) {
    const { launches, documents } = launchesIn(text);
    refuseSeveral(launches);
    return {
      servers: launches.map((launch) => ({ name: "its command", launch: () => launch })),
      documents,
    };
  },
};
