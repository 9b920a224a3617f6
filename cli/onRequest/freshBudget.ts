import { docker } from "@local-serving/machines/docker/docker";
import { startsFile } from "../../components/inference-server";
import { hostOf, inspect } from "../sees/host";

/**
 * Lets the start gate of a container forget the starts that failed, so that it opens again. The file
 * is in a volume of the container, which need not run.
 */
export async function freshBudget(dockerHost: string, container: string): Promise<void> {
  const found = await inspect(hostOf(dockerHost), container);
  if (found === undefined) return;
  const rm = ["--entrypoint", "rm", found.imageId, "-f", startsFile(container)];
  await docker(["run", "--rm", "--volumes-from", container, ...rm], dockerHost);
}
