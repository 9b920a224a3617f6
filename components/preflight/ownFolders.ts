import { posix } from "node:path";
import type { Files } from "../../machines/files";
import { type MachinePlan, serversOn } from "../plan/types";
import { INSIDE, isIn } from "../settings/insideContainer";
import { type DirectoryFacts, type MachineFacts, type PreflightFinding, refused } from "./types";

/** What our own servers are always given, which is no folder of the operator's. */
const OURS = ["/run", "/var", INSIDE.modelCache, INSIDE.jitCache];

/** More links than a model has; each is asked for by itself. */
const MOST_LINKS = 50;

/** Reads the operator's own folders that servers of a machine get, here or over ssh. */
export function readOwnFolders(machine: MachinePlan, files: Files): Promise<DirectoryFacts[]> {
  const mounts = serversOn(machine).flatMap(({ container }) => container.mounts);
  const own = mounts.filter(
    ({ type, target }) => type === "bind" && !OURS.some((folder) => isIn(target, folder)),
  );
  return Promise.all(
    [...new Set(own.map(({ source }) => source))].map((path) => readOwn(path, files)),
  );
}

async function readOwn(path: string, files: Files): Promise<DirectoryFacts> {
  const found = await files.state(path);
  if (found === "missing") return { path, problem: "it is not there: Docker would not start it" };
  if (found === "unreadable") return { path, problem: "it can't be read: correct its permissions" };
  if (found.kind !== "folder") return { path, problem: "it is not a folder: correct the path" };
  const real = (await files.realPath(path)) ?? path;
  const { out } = await files.ask(["find", real, "-type", "l"]);
  for (const link of out.split("\n").filter(Boolean).slice(0, MOST_LINKS)) {
    const target = (await files.realPath(link)) ?? "nothing";
    if (!isIn(target, real))
      return {
        path,
        problem: `${posix.relative(real, link)} in it is a link to ${target}, outside it. Put the file itself there (\`cp -L\`)`,
      };
  }
  return { path };
}

/** Refuses folders that a server would not find, and adapters of the hub that vLLM doesn't load. */
export function ownFolderFindings(
  machine: MachinePlan,
  { ownFolders = [], needs }: MachineFacts,
): PreflightFinding[] {
  const missing = needs?.models ?? [];
  return [
    ...ownFolders.flatMap(({ path, problem }) =>
      problem === undefined ? [] : refused(`A server is given ${path}, and ${problem}.`),
    ),
    ...serversOn(machine).flatMap(({ key, adapters = [] }) =>
      adapters.flatMap(({ name, id, revision }) =>
        missing.some((each) => each.name === id && each.revision === revision)
          ? refused(
              `The adapter ${name} (${id}) is not in the model cache. vLLM is given its folder there and doesn't load it: run \`serving fetch\` first.`,
              `inferenceServers.${key}.adapters`,
            )
          : [],
      ),
    ),
  ];
}
