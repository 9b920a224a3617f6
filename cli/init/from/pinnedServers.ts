import type { CommandServer } from "../command/fromCommand";
import type { Digests } from "../pinnedImages";
import type { PublishedServers } from "./published";
import { type Around, commandServers } from "./severalServers";

/** Asks registries for the digests of images that name none. */
export type AskRegistry = (images: readonly string[]) => Promise<Digests>;

/** The servers of a published text, with digests that registries know. */
export async function pinnedServers(
  read: PublishedServers,
  around: Around,
  ask: AskRegistry | undefined,
): Promise<CommandServer> {
  const asWritten = commandServers(read, around);
  const { server: first, refused } = asWritten;
  const images = [first, ...(first.beside ?? [])].map(({ image }) => image.image);
  const digests = refused.length > 0 ? undefined : await ask?.(images);
  return digests === undefined || digests.size === 0
    ? asWritten
    : commandServers(read, { ...around, base: { ...around.base, digests } });
}
