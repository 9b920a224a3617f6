import type { Fault } from "../../../faults/fault";
import { artifactPathFault, containedArtifact } from "../artifactPath";
import type { ConfigView } from "../configView";
import type { FaultMaker } from "../faultAt";

/** Every key that names a file which a gate deletes and reads. */
const ARTIFACTS = [
  ["verification", "coverage", "artifact"],
  ["verification", "visual", "artifact"],
] as const;

/**
 * Faults of artifact paths: they must stay inside the project, as text and, where the project is known, with its
 * symlinks resolved as they are now. The gates resolve them again before they delete and after the command has run.
 */
export function artifactFaults(config: ConfigView, project: string | undefined, at: FaultMaker): Fault[] {
  return ARTIFACTS.flatMap((path) => {
    const artifact = config.text(path);
    if (artifact === undefined) return [];
    const fault =
      artifactPathFault(artifact) ?? (project === undefined ? undefined : linkFault(project, artifact));
    return fault === undefined ? [] : [at.error(path, "not_contained", `The artifact's path ${fault}.`)];
  });
}

function linkFault(project: string, artifact: string): string | undefined {
  const place = containedArtifact(project, artifact);
  return "fault" in place ? place.fault : undefined;
}
