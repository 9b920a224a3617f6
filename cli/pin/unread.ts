import { imageReference } from "@local-serving/machines/docker/imageReference";
import type { StackSettings } from "../../components/settings";
import type { Judged } from "../../policies/judge";
import type { PlannedStack } from "../stack/readStack";
import { isPinRule, refusedUnread } from "./judgeImage";
import { type ImageEntry, imageEntries } from "./writePin";

/**
 * Entries whose image nobody has looked into: it has no digest, or a server's versions were not
 * read in the image of that digest. One that its name already refuses is left out.
 */
export const unreadEntries = (settings: StackSettings): ImageEntry[] =>
  imageEntries(settings).filter(
    (entry) => isUnread(entry) && refusedUnread(entry.image, entry).length === 0,
  );

function isUnread({ path, image, versions }: ImageEntry): boolean {
  const digest = imageReference(image)?.digest;
  if (digest === undefined) return true;
  const isServer = path[0] === "inferenceServers";
  return isServer && (versions?.evidence !== "read" || versions.digest !== digest);
}

/** Whether the versions of an entry are known without a look into its image. */
export const isKnown = ({ image, versions }: ImageEntry): boolean =>
  imageReference(image)?.digest !== undefined && versions !== undefined;

/** Whether a look into the images of these entries mends what a policy refuses. */
export const mendsByReading = (
  { name, resource }: Judged,
  unread: readonly ImageEntry[],
  { plan }: Pick<PlannedStack, "plan">,
): boolean =>
  isPinRule(name) &&
  unread.some(({ machine, image }) =>
    plan.machines.some(
      ({ name: its, containers }) =>
        its === machine &&
        containers.some((each) => each.resource === resource && each.image === image),
    ),
  );
