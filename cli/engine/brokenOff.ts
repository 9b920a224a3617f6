import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { endingInOrder, pause } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { run } from "@local-serving/base/commandLine/run";
import { orInputFault } from "@local-serving/base/faults/fault";
import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { docker } from "@local-serving/machines/docker/docker";
import { isRunning } from "@local-serving/machines/update/process";
import { LABEL, TYPE } from "../../components/planned";
import { readStack } from "../stack/readStack";
import { projectFolder, stackFile } from "../stack/stackFile";
import { engineWasKilled, halfWritten, type Lock, locksOf } from "./backend";
import { engineFor } from "./drive";

const LOOK_MILLISECONDS = 2000;
const SAID_EVERY_SECONDS = 30;

/** More characters than any state has, and the longest that the engine may take to print it. */
const [LARGEST, EXPORT_SECONDS] = [64e6, 120];

/**
 * Lets an engine end that still runs for a stack, and gets its state out of what one left that was
 * killed: its lock, and what it had begun to make. Returns whether there was any of that.
 */
export async function settleEngine(
  stack: string,
  dockerHosts: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const engine = await engineFor(stack);
  const { stale } = await engineEnds(() => locksOf(engine.cwd, stack, engine.env), signal);
  if (signal.aborted) return false;
  for (const file of halfWritten(engine.cwd, stack, engine.env)) rmSync(file, { force: true });
  if (stale.length > 0) {
    say(
      `The engine (process ${stale.map(({ pid }) => pid).join(", ")}) was killed: its lock is removed.`,
    );
    await engine.run(["cancel", "--yes", "--stack", stack]);
  }
  const exported = await run([engine.pulumi, "stack", "export", "--stack", stack], {
    cwd: engine.cwd,
    env: engine.env,
    seconds: EXPORT_SECONDS,
    largest: LARGEST,
  });
  const pending = pendingIn(exported.out);
  if (pending.length === 0) return stale.length > 0;
  await removeHalfMade(pending, dockerHosts);
  const clear = ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"];
  await engine.run([...clear, "--stack", stack]);
  return true;
}

/**
 * The same before the engine runs by itself, where one was killed. One that still runs is not
 * waited for: it may stand at its question, and the engine names it.
 */
export async function settleKilled(stack: string): Promise<void> {
  if (!engineWasKilled(projectFolder(), stack, process.env)) return;
  const planned = orInputFault(() => readStack(stackFile({ stack })).plan);
  const machines = planned instanceof Error ? [] : planned.machines;
  const hosts = machines.map(({ dockerHost }) => dockerHost);
  await endingInOrder((signal) => settleEngine(stack, hosts, signal));
}

/** Waits as long as a process lives that holds a lock. Returns the locks of those that don't. */
async function engineEnds(locks: () => readonly Lock[], signal: AbortSignal) {
  const began = Date.now();
  let said = 0;
  for (;;) {
    const here = locks().filter(({ host }) => host === hostname());
    const running = here.filter(({ pid }) => isRunning(pid));
    if (running.length === 0 || signal.aborted) return { stale: here };
    const seconds = Math.round((Date.now() - began) / 1000);
    if (said === 0 || seconds >= said + SAID_EVERY_SECONDS) {
      const pids = running.map(({ pid }) => pid).join(", ");
      say(`The engine (process ${pids}) still runs. Waiting for it to end, ${seconds} s.`);
      said = Math.max(1, seconds);
    }
    await pause(LOOK_MILLISECONDS, signal);
  }
}

/** Something that an engine had begun to make when it was killed. */
export interface Pending {
  readonly type: string;
  /** Its name on the machine. */
  readonly name: string;
}

/** What a state says was being made. */
export const pendingIn = (state: string): Pending[] =>
  objectsIn(objectOr(objectOr(jsonIn(state)).deployment).pending_operations)
    .filter(({ type }) => type === "creating")
    .map(({ resource }) => {
      const { type, inputs } = objectOr(resource);
      return { type: textOr(type), name: textOr(objectOr(inputs).name) };
    });

/** Kinds that Docker has once by name, with the commands that look for ours and remove it. */
const ONCE_BY_NAME: Readonly<
  Record<string, { readonly look: string[]; readonly remove: string[] }>
> = {
  [TYPE.container]: {
    look: [
      "inspect",
      "--type",
      "container",
      "--format",
      `{{index .Config.Labels "${LABEL.machine}"}}`,
    ],
    remove: ["rm", "--force"],
  },
  // Networks have no labels of ours; one that is in use is not removed.
  "docker:index/network:Network": {
    look: ["network", "inspect", "--format", "network"],
    remove: ["network", "rm"],
  },
};

/**
 * Removes what the engine had made without having written it down: the state doesn't know it, and
 * Docker would refuse a second one of its name.
 */
async function removeHalfMade(
  pending: readonly Pending[],
  dockerHosts: readonly string[],
): Promise<void> {
  for (const { type, name } of pending)
    for (const dockerHost of new Set(dockerHosts)) {
      const kind = ONCE_BY_NAME[type];
      if (kind === undefined || name === "") continue;
      const found = await docker([...kind.look, name], dockerHost).catch(() => "");
      if (found.trim() === "" || found.trim() === "<no value>") continue;
      const removed = await docker([...kind.remove, name], dockerHost).catch(() => undefined);
      if (removed !== undefined)
        say(`${name} was left half made by the killed engine: it is removed and made again.`);
    }
}
