import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { jsonIn, objectOr } from "../../faults/json";

/** Folder of the engine's own files: credentials, plugins, versions, selected stacks. */
export const pulumiHome = (env: NodeJS.ProcessEnv): string =>
  env.PULUMI_HOME ?? join(env.HOME ?? homedir(), ".pulumi");

/**
 * The stack that `pulumi stack select` chose for a project, or PULUMI_STACK. It is read where the
 * engine keeps it, since starting the engine takes a second.
 */
export function selectedStack(project: string, env: NodeJS.ProcessEnv): string | undefined {
  const selected = env.PULUMI_STACK || keptIn(project, env);
  // The engine keeps it as `organization/local-serving/dgx`.
  return selected?.split("/").at(-1) || undefined;
}

function keptIn(project: string, env: NodeJS.ProcessEnv): string | undefined {
  const [file] = [asTyped(project, env), project]
    .map((folder) => createHash("sha1").update(join(folder, "Pulumi.yaml")).digest("hex"))
    .map((hash) => join(pulumiHome(env), `workspaces/local-serving-${hash}-workspace.json`))
    .filter((path) => existsSync(path));
  const { stack } = objectOr(file && jsonIn(readFileSync(file, "utf8")));
  return typeof stack === "string" ? stack : undefined;
}

/** The project's folder by the path that the shell shows: below a link the engine goes by that. */
function asTyped(project: string, { PWD = "" }: NodeJS.ProcessEnv): string {
  for (let folder = PWD; folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(folder) && realpathSync(folder) === project) return folder;
  return project;
}
