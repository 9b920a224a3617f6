import { posix } from "node:path";
import { SHARED_BLOBS_MARK } from "@local-serving/machines/hubCache";
import type { Host } from "../sees/host";

/** A file in a hub's store of all models. */
interface SharedFile {
  readonly path: string;
  /** Folders of the models, and of whatever else the hub has, that link to it. */
  readonly users: ReadonlySet<string>;
}

/** A file's place below `blobs/`, by its hash. */
const PLACE = /(?:^|\/)([0-9a-f]{2}\/[0-9a-f]{64})$/;

/**
 * The files that models of a cache share, as huggingface_hub 2.4 and later lay them out; `undefined`
 * where it can't be told who links to them.
 */
export async function sharedFiles(hub: string, host: Host): Promise<SharedFile[] | undefined> {
  const store = posix.join(hub, "blobs");
  if (!(await host.names(store)).includes(SHARED_BLOBS_MARK)) return [];
  const [files, links] = await Promise.all([
    host.ask(["find", store, ...BELOW(2), "-type", "f", "-printf", "%P\\n"]),
    host.ask(["find", hub, ...BELOW(3), "-path", "*/blobs/*", "-type", "l", "-printf", "%P %l\\n"]),
  ]);
  // A folder that can't be read may link to any of them.
  if (files.code !== 0 || links.code !== 0) return undefined;
  const users = usersOf(links.out);
  return files.out.split("\n").flatMap((line) => {
    const place = PLACE.exec(line)?.[1];
    return place === undefined
      ? []
      : [{ path: posix.join(store, place), users: users.get(place) ?? new Set<string>() }];
  });
}

const BELOW = (depth: number) => ["-mindepth", `${depth}`, "-maxdepth", `${depth}`];

/** Which folders link to each place, from lines `FOLDER/blobs/NAME TARGET`. */
function usersOf(links: string): ReadonlyMap<string, ReadonlySet<string>> {
  const users = new Map<string, Set<string>>();
  for (const line of links.split("\n")) {
    const [from = "", target = ""] = line.split(" ");
    const place = PLACE.exec(target)?.[1];
    const [folder = ""] = from.split("/");
    if (place !== undefined) users.set(place, (users.get(place) ?? new Set()).add(folder));
  }
  return users;
}
