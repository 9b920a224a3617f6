import { folderHashes, type PlannedContainer } from "../../components/planned";
import type { Difference } from "./difference";

/** Where a folder is mounted from: another path is another plan, and no change of its files. */
const sources = ({ mounts }: PlannedContainer) =>
  mounts.map(({ source, target }) => `${source} ${target}`);

/**
 * Folders of the operator's whose files have changed since a container was planned, by its plan as
 * it was applied and as it is now.
 */
export function folderDifferences(
  applied: PlannedContainer,
  now: PlannedContainer | undefined,
): Difference[] {
  if (now === undefined || sources(applied).join("\n") !== sources(now).join("\n")) return [];
  const found = folderHashes(now);
  return [...folderHashes(applied)].flatMap(([what, planned]) => {
    const hash = found.get(what);
    const says = `was started with other files than ${what} has now`;
    return hash === undefined || hash === planned ? [] : [{ what, planned, found: hash, says }];
  });
}
