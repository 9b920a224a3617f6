import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { keptText } from "@local-serving/base/faults/textFile";

/**
 * Folder of the engine's own files: credentials, plugins, versions, selected stacks. The engine asks
 * the system for the user's home and doesn't look at HOME, which `sudo` and services set otherwise
 * (`GetPulumiHomeDir` of Pulumi 3.248.0).
 */
export const pulumiHome = (env: NodeJS.ProcessEnv): string =>
  env.PULUMI_HOME || join(userHome(), ".pulumi");

/** The user's home as the system has it; HOME for a user that it doesn't know. */
export const userHome = (): string => attempt(() => userInfo().homedir) ?? homedir();

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
  const { stack } = objectOr(file && jsonIn(keptText(file) ?? ""));
  return typeof stack === "string" ? stack : undefined;
}

/** The project's folder by the path that the shell shows: below a link the engine goes by that. */
function asTyped(project: string, { PWD = "" }: NodeJS.ProcessEnv): string {
  for (let folder = PWD; folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(folder) && realpathSync(folder) === project) return folder;
  return project;
}
