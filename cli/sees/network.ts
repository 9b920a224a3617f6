import { Failed } from "@local-serving/base/faults/fault";
import { type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import type { PlannedContainer } from "../../components/planned";
import { type Host, inspected } from "./host";

/** A network that a container should be on, and isn't. */
export interface OffNetwork {
  readonly network: string;
  /** Docker has none of that name, or one that was made since: this container can't join it. */
  readonly removed: boolean;
}

/** The same, with the container. */
export interface OffNetworkOf extends OffNetwork {
  readonly container: string;
  readonly runs: boolean;
}

/** Docker's networks: the id of each, by its name. Throws `Failed` with docker's own words. */
export async function networkIds({
  docker,
}: Pick<Host, "docker">): Promise<ReadonlyMap<string, string>> {
  const listed = await docker(["network", "ls", "--no-trunc", "--format", "{{.Name}} {{.ID}}"]);
  return new Map(
    listed.split("\n").flatMap((line) => {
      const [name = "", id = ""] = line.split(" ");
      return name === "" ? [] : [[name, id] as const];
    }),
  );
}

/**
 * The networks of its plan that a container is not on, by `docker inspect`. A stopped container
 * keeps the id of a network that was removed, and can't start by it.
 */
export function offNetworks(
  { network, moreNetworks = [] }: Pick<PlannedContainer, "network" | "moreNetworks">,
  inspected: JsonObject,
  ids?: ReadonlyMap<string, string>,
): OffNetwork[] {
  const joined = objectOr(objectOr(inspected.NetworkSettings).Networks);
  return [network, ...moreNetworks].flatMap((each) => {
    const own = textOr(objectOr(joined[each]).NetworkID);
    const id = ids?.get(each);
    const removed = ids !== undefined && (id === undefined || (own !== "" && own !== id));
    return each in joined && !removed ? [] : [{ network: each, removed }];
  });
}

/** Whether a container runs, by `docker inspect`; not if there is none. */
export const runsNow = (found: JsonObject | undefined): boolean =>
  objectOr(found?.State).Status === "running";

/** The same of every container that is there; nothing where Docker can't tell. */
export async function offNetworksOn(
  host: Pick<Host, "docker">,
  containers: readonly PlannedContainer[],
): Promise<OffNetworkOf[]> {
  try {
    const ids = await networkIds(host);
    const all = containers.map(async (planned) => {
      const found = await inspected(host, planned.name);
      if (found === undefined) return [];
      const own = { container: planned.name, runs: runsNow(found) };
      return offNetworks(planned, found, ids).map((each) => ({ ...own, ...each }));
    });
    return (await Promise.all(all)).flat();
  } catch (error) {
    if (error instanceof Failed) return [];
    throw error;
  }
}
