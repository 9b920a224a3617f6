import { eachLine, start } from "@local-serving/base/commandLine/run";
import { defined } from "@local-serving/base/faults/defined";
import { saysMemory } from "@local-serving/kv";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { docker, dockerCommand } from "@local-serving/machines/docker/docker";
import { followedOn } from "@local-serving/machines/onMachine";
import { GATE_OPENS, GATE_SAYS } from "./gateLines";
import type { LogReading } from "./log/scanLog";
import { scanProgram } from "./log/scanProgram";
import type { Sign } from "./log/sign";
import { afterLine, START, type StartProgress } from "./phases";

/**
 * Newest lines of a container's log that are read: some days of a server that logs every ten
 * seconds.
 */
const LOG_LINES = "50000";

/** Looks for these signs in a container's log; `undefined` where it can't be read. */
export function scanContainer(
  name: string,
  dockerHost: string,
  signs: readonly Sign[],
): Promise<LogReading | undefined> {
  const { words, env } = dockerCommand(["logs", "--tail", LOG_LINES, name], dockerHost);
  return scanProgram(
    { name: `docker logs ${name}`, kind: "container", container: name },
    words,
    signs,
    env,
  );
}

/** What the logs of a machine's containers say. */
export interface ContainerLogs {
  /** How far a start is, by the log since then. */
  phaseOf(container: ContainerState): Promise<StartProgress>;
  /**
   * What the start gate of a running server says last; `undefined` if the last line of its log
   * isn't the gate's. Docker's health check counts no failure before its start period, so a closed
   * gate shows in the log first.
   */
  gateSays(container: ContainerState): Promise<string | undefined>;
  /**
   * What an inference server's log says of memory since its last start, its start gate included;
   * nothing if there is no such container.
   */
  memoryLines(container: string): Promise<MemoryLines>;
  /**
   * Hands every line of the log since this time to `line`, until it is stopped or Docker lets go of
   * it.
   */
  follow(name: string, since: string, line: (text: string) => void): Following;
}

export interface Following {
  stop(): void;
  /**
   * Whether Docker ended the stream, as it does at the container's end or when the log is rotated.
   */
  ended(): boolean;
}

/** Longest read of a whole log for its lines about memory. */
const MEMORY_SECONDS = 20;

export const containerLogsOn = (dockerHost: string): ContainerLogs => ({
  phaseOf: (container) => phaseOf(container, dockerHost),
  gateSays: (container) => gateSays(container, dockerHost),
  memoryLines: (container) => memoryLines(container, dockerHost, MEMORY_SECONDS),
  follow: (name, since, line) => follow(name, since, dockerHost, line),
});

/**
 * More than a start prints; a server that ran for months prints more before it goes back to its
 * gate.
 */
const NEWEST_LINES = "5000";

function follow(
  name: string,
  since: string,
  dockerHost: string,
  line: (text: string) => void,
): Following {
  const args = ["logs", "--follow", "--since", before(since), "--tail", NEWEST_LINES, name];
  const { words, env } = dockerCommand(args, dockerHost, followedOn);
  const { stdout, ended, stop } = start(words, { env, merged: true, held: true });
  let over = false;
  void ended.then(() => {
    over = true; // Where Docker is gone, the state says so.
  });
  eachLine(stdout, line);
  return { stop, ended: () => over };
}

/**
 * Docker notes a start only after the container has begun: first lines were seen up to 11 ms older
 * (20.10).
 */
const NOTED_LATE_MILLISECONDS = 1000;

function before(time: string): string {
  return new Date(Date.parse(time) - NOTED_LATE_MILLISECONDS).toISOString();
}

/** Longest read of the log of a start. */
const START_LOG_SECONDS = 5;

async function phaseOf(
  { name, startedAt }: ContainerState,
  dockerHost: string,
): Promise<StartProgress> {
  const { words, env } = dockerCommand(
    ["logs", "--since", startedAt, "--tail", NEWEST_LINES, name],
    dockerHost,
  );
  const { stdout, ended } = start(words, { env, merged: true, seconds: START_LOG_SECONDS });
  let progress = START;
  eachLine(stdout, (line) => {
    progress = afterLine(progress, line);
  });
  await ended;
  return progress;
}

async function gateSays(
  { name, status }: ContainerState,
  dockerHost: string,
): Promise<string | undefined> {
  if (status !== "running") return undefined;
  const line = await docker(["logs", "--tail", "1", name], dockerHost).catch(() => "");
  return GATE_SAYS.exec(line.trim())?.[1];
}

/** Lines of a container's log about memory; `cutShort` says why its end was not read. */
export interface MemoryLines {
  readonly text: string;
  readonly cutShort?: string;
}

/** Newest lines that are kept: a server in a crash loop repeats itself. */
const LINES_KEPT = 2000;

/** Lines about memory in a container's log since its last start, of any size. */
export async function memoryLines(
  container: string,
  dockerHost: string,
  seconds: number,
): Promise<MemoryLines> {
  const { words, env } = dockerCommand(["logs", container], dockerHost);
  const { stdout, ended } = start(words, { seconds, env, merged: true });
  const kept: string[] = [];
  eachLine(stdout, (text) => {
    // If a server started again, only the last start counts.
    if (GATE_OPENS.test(text)) kept.length = 0;
    if (!saysMemory(text) && !GATE_SAYS.test(text)) return;
    kept.push(text);
    if (kept.length > LINES_KEPT) kept.shift();
  });
  const { stopped } = await ended;
  const cutShort =
    stopped && `its log was not read beyond ${seconds} s: a later start may be missing`;
  return { text: kept.join("\n"), ...defined({ cutShort }) };
}
