import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { keptText } from "@local-serving/base/faults/textFile";
import { isRunning } from "@local-serving/machines/update/process";
import { pulumiHome, userHome } from "../stack/selectedStack";
import { pageFromProject } from "../stack/stackFile";

/**
 * Folder below the project that holds the state and its passphrase, unless the operator has logged
 * in elsewhere.
 */
const STATE_FOLDER = ".pulumi-state";

/** Where a state has the locks of its stacks. */
const LOCKS = ".pulumi/locks";

/** Bytes of randomness in a passphrase that we make. */
const PASSPHRASE_BYTES = 32;

/**
 * Variables that tell the engine where its state is and how its secrets are locked. What the
 * operator has set or logged in to stays as it is; else the state is a local folder, and a random
 * passphrase is made once, readable by the operator alone. An empty passphrase is never chosen for
 * anybody.
 */
export function backendEnvironment(
  project: string,
  stack: string,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  if (!isOurs(env)) return {};
  const folder = join(project, STATE_FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const given =
    env.PULUMI_CONFIG_PASSPHRASE !== undefined || env.PULUMI_CONFIG_PASSPHRASE_FILE !== undefined;
  return {
    PULUMI_BACKEND_URL: `file://${folder}`,
    ...(given ? {} : { PULUMI_CONFIG_PASSPHRASE_FILE: passphraseFile(project, stack, folder) }),
  };
}

function passphraseFile(project: string, stack: string, folder: string): string {
  const file = join(folder, "passphrase");
  if (existsSync(file)) return file;
  if (/^encryptionsalt:/m.test(textOf(join(project, `Pulumi.${stack}.yaml`))))
    throw new WrongUse(
      `Pulumi.${stack}.yaml was locked with a passphrase that is not here (it has an \`encryptionsalt\`). Set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to it, or copy it to ${file}. For a stack that never held a secret, removing the \`encryptionsalt\` line starts afresh.`,
    );
  const passphrase = randomBytes(PASSPHRASE_BYTES).toString("base64url");
  writeFileSync(file, `${passphrase}\n`, { mode: 0o600, flag: "wx" });
  say(
    `Made a passphrase for this state: ${file}. Set PULUMI_CONFIG_PASSPHRASE to use your own. Pulumi adds a line \`encryptionsalt\` to Pulumi.${stack}.yaml and takes out the blanks inside \`{ }\`: commit both. Keep a copy of ${folder} elsewhere (${pageFromProject("docs/guide/backup.md#what-else-to-keep")}).`,
  );
  return file;
}

/** The folder of a state that we chose the place of; `undefined` where the operator did. */
export const ownStateFolder = (project: string, env: NodeJS.ProcessEnv): string | undefined =>
  isOurs(env) ? join(project, STATE_FOLDER) : undefined;

/** The engine's own entries of a state, and those that only group others: they are nothing applied. */
const NOTHING_MADE = /^(?:pulumi:pulumi:Stack|pulumi:providers:|local-serving:index:)/;

/**
 * Whether nothing of a stack is applied and no `up` is under way, as far as our own state folder
 * shows; `false` where the state is elsewhere. A refused `up` leaves the stack's own entry.
 */
export function stateIsEmpty(project: string, stack: string, env: NodeJS.ProcessEnv): boolean {
  const locks = filesIn(join(project, STATE_FOLDER, LOCKS));
  const isBusy = locks.some((file) => file.endsWith(".json"));
  const checkpoint = checkpointOf(project, stack);
  return isOurs(env) && !isBusy && (checkpoint === "" || hasMadeNothing(checkpoint));
}

/** What our own state folder keeps of a stack; "" where it keeps none. */
export const checkpointOf = (project: string, stack: string): string =>
  textOf(join(project, STATE_FOLDER, ".pulumi/stacks/local-serving", `${stack}.json`));

/**
 * Whether an engine was killed while it held a stack: it left a lock, something that it had begun to
 * make, or a file of the state cut off. Only a state in a folder is looked at.
 */
export function engineWasKilled(project: string, stack: string, env: NodeJS.ProcessEnv): boolean {
  const locks = locksOf(project, stack, env);
  if (locks.some(({ host, pid }) => host !== hostname() || isRunning(pid))) return false;
  const pending = isOurs(env) ? latestOf(checkpointOf(project, stack)).pending : [];
  return locks.length + pending.length + halfWritten(project, stack, env).length > 0;
}

/** Whether the state of a stack has only what the engine keeps of every stack. */
function hasMadeNothing(checkpoint: string): boolean {
  const { isWhole, resources, pending } = latestOf(checkpoint);
  const made = resources.filter(({ type }) => !NOTHING_MADE.test(textOr(type)));
  return isWhole && made.length + pending.length === 0;
}

/** What a checkpoint says of its stack; `isWhole` tells one from a text that is none. */
function latestOf(checkpoint: string) {
  const { latest } = objectOr(objectOr(jsonIn(checkpoint)).checkpoint);
  const { resources, pending_operations: pending } = objectOr(latest);
  return {
    isWhole: latest !== undefined,
    resources: objectsIn(resources),
    pending: objectsIn(pending),
  };
}

/** Who holds a stack's state. */
export interface Lock {
  readonly pid: number;
  readonly host: string;
}

/** The folder of the state; `undefined` where it is in none. `env` may be the engine's. */
function stateFolder(project: string, env: NodeJS.ProcessEnv): string | undefined {
  const [, folder] = /^file:\/\/(.*)$/.exec(env.PULUMI_BACKEND_URL ?? "") ?? [];
  return folder?.replace(/^~/, userHome()) ?? ownStateFolder(project, env);
}

/**
 * Files of a stack's state that an engine was killed in writing: those beside its own, which it
 * doesn't write in one step. With one of them it reads nothing ("failed to load checkpoint: EOF"),
 * without it everything.
 */
export function halfWritten(project: string, stack: string, env: NodeJS.ProcessEnv): string[] {
  const state = stateFolder(project, env);
  if (state === undefined) return [];
  const stacks = join(state, ".pulumi/stacks/local-serving");
  return [
    ...filesIn(stacks).filter((file) => basename(file).startsWith(`${stack}.json`)),
    ...lockFiles(state, stack),
  ].filter((file) => file.endsWith(".attrs") && jsonIn(textOf(file)) === undefined);
}

/** Files below a folder, if it is there. */
const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)))
    : [];

/** Files of a stack's locks. */
const lockFiles = (state: string, stack: string): string[] =>
  filesIn(join(state, LOCKS)).filter((file) => basename(dirname(file)) === stack);

/** The locks of a stack, where its state is a folder; `env` is the engine's. */
export function locksOf(project: string, stack: string, env: NodeJS.ProcessEnv): Lock[] {
  const state = stateFolder(project, env);
  return (state === undefined ? [] : lockFiles(state, stack))
    .filter((file) => file.endsWith(".json"))
    .map((file) => objectOr(jsonIn(textOf(file))))
    .flatMap(({ pid, hostname }) =>
      typeof pid === "number" ? [{ pid, host: textOr(hostname) }] : [],
    );
}

/**
 * Whether the operator left it to us where state lives: they named no place, and never ran `pulumi
 * login`.
 */
function isOurs(env: NodeJS.ProcessEnv): boolean {
  const credentials = objectOr(jsonIn(textOf(join(pulumiHome(env), "credentials.json"))));
  return env.PULUMI_BACKEND_URL === undefined && !credentials.current;
}

const textOf = (file: string): string => keptText(file) ?? "";
