import { LABEL, type PlannedContainer } from "../../components/planned";
import type { Difference } from "./difference";

/** Fingerprints by the name of an adapter, or `model.id`. */
function foldersOf({ labels }: Pick<PlannedContainer, "labels">): Map<string, string> {
  const words = (labels[LABEL.folders] ?? "").split(" ").map((word) => word.split("="));
  return new Map(words.flatMap(([name = "", hash]) => (hash === undefined ? [] : [[name, hash]])));
}

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
  const found = foldersOf(now);
  return [...foldersOf(applied)].flatMap(([name, planned]) => {
    const hash = found.get(name);
    const what = name === "model.id" ? "the model's folder" : `the folder of the adapter ${name}`;
    return hash === undefined || hash === planned
      ? []
      : [
          {
            ...{ what, planned, found: hash },
            says: `was started with other files than are now in ${what}`,
          },
        ];
  });
}
