import { run, type StartOptions } from "@local-serving/base/commandLine/run";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { EVERY_ADDRESS, isOverSsh, type Listening } from "./address";

/**
 * How every `ssh` of ours behaves: it asks nothing and takes no new host key, gives up in bounded
 * time, and shares one connection with the others to its machine. `~` is the home of the system's
 * user database, and %C a hash of the target.
 */
export const SSH_OPTIONS = [
  "BatchMode=yes",
  "StrictHostKeyChecking=yes",
  "UpdateHostKeys=no",
  "LogLevel=ERROR",
  "ConnectTimeout=10",
  "ServerAliveInterval=15",
  "ServerAliveCountMax=3",
  "ControlMaster=auto",
  "ControlPath=~/.ssh/local-serving-%C",
  "ControlPersist=60",
].flatMap((option) => ["-o", option]);

/** Where a command runs: a machine, or any place that is given as one. */
export interface CommandPlace {
  readonly dockerHost: string;
}

/**
 * Returns the words to start here so that a command runs on the machine: over ssh, or as they are.
 */
export function commandOn(machine: CommandPlace, words: readonly string[]): string[] {
  return isOverSsh(machine) ? [...sshTo(machine), shellWords(words)] : [...words];
}

/** The words that start `ssh` to a machine. */
export function sshTo({ dockerHost }: CommandPlace): string[] {
  return ["ssh", "-T", ...SSH_OPTIONS, "--", dockerHost.replace(/\/$/, "")];
}

/**
 * Ends a program with its caller, whose stdin this holds: a program whose output nobody reads any
 * more goes on until its next line.
 */
const HELD = 'exec 3<&0; { cat <&3; kill "$$"; } >/dev/null 2>&1 & exec "$@" 3<&- </dev/null';

/**
 * Does the same for a program whose output is followed. It must get a stdin that stays open, and
 * ends when that closes.
 */
export function followedOn(machine: CommandPlace, words: readonly string[]): string[] {
  return commandOn(machine, isOverSsh(machine) ? ["sh", "-c", HELD, "sh", ...words] : words);
}

/** A port here, and what answers there when it is asked. */
export interface Forward extends Listening {
  readonly here: number;
}

/**
 * The words of an ssh that hands ports on as long as it runs, by a connection of its own: a shared
 * one would keep them.
 */
export function forwardingTo(machine: CommandPlace, forwards: readonly Forward[]): string[] {
  const own = ["ControlPath=none", "ExitOnForwardFailure=yes"].flatMap((option) => ["-o", option]);
  const ports = forwards.flatMap(({ here, address, port }) => [
    "-L",
    `127.0.0.1:${here}:${address === EVERY_ADDRESS ? "127.0.0.1" : address}:${port}`,
  ]);
  const [program = "", ...options] = sshTo(machine);
  return [program, "-N", ...own, ...ports, ...options];
}

/**
 * Commands that run on one machine at once: sshd lets a connection have 10, and Pulumi's own come
 * on top.
 */
const AT_ONCE = 6;

const LARGEST_ANSWER = 4 * 1024 ** 2;

/**
 * Seconds that a machine has to answer one question: longer than ssh takes to give up, and than an
 * engine is silent while it removes a large image. Whoever hangs must not hold a command up.
 */
export const ANSWER_SECONDS = 30;

const running = new Map<string, number>();
const waiting: { readonly host: string; readonly go: () => void }[] = [];

/**
 * Runs a command on a machine to its end, for a bounded time and in the terminal's own session.
 * The variables of `env` are for what is started here; they don't travel. Never throws.
 */
export async function askOn(
  machine: CommandPlace,
  words: readonly string[],
  { seconds = ANSWER_SECONDS, env = {} }: Pick<StartOptions, "seconds" | "env"> = {},
) {
  const { dockerHost: host } = machine;
  const bounded = isOverSsh(machine);
  if (bounded && (running.get(host) ?? 0) >= AT_ONCE)
    await new Promise<void>((resolve) => waiting.push({ host, go: resolve }));
  else running.set(host, (running.get(host) ?? 0) + 1);
  try {
    const bounds = { seconds, largest: LARGEST_ANSWER };
    return await run(commandOn(machine, words), { ...bounds, env, inSession: true });
  } finally {
    const next = waiting.findIndex((each) => each.host === host);
    if (next >= 0) waiting.splice(next, 1)[0]?.go();
    else running.set(host, (running.get(host) ?? 0) - 1);
  }
}
