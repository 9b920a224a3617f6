import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { isRecord, type JsonObject, objectsIn } from "@local-serving/base/faults/json";
import { demandOfProcess, utilizationOf } from "@local-serving/vllm/argv/memoryDemand";
import type { MemoryDemand } from "@local-serving/vllm/utilization";
import { variablesIn } from "../shell";
import { docker, dockerJson, otherAnswer } from "./docker";

/** A container as the engine knows it, running or not. */
export interface ContainerState {
  readonly id: string;
  readonly name: string;
  /** Image as it was asked for. */
  readonly image: string;
  /** Id of the image itself. */
  readonly imageId: string;
  /** `running`, `restarting`, `exited`, `created`, `paused` or `dead`. */
  readonly status: string;
  /** When it was last started, as the engine writes times; "" if it never was. */
  readonly startedAt: string;
  /** When its last run ended; absent where none has. */
  readonly finishedAt?: string;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  readonly restartCount: number;
  /** What the engine says when it can't start the container. */
  readonly error: string;
  /** `healthy`, `unhealthy` or `starting`, where there is a health check. */
  readonly health?: string;
  readonly ports: readonly {
    readonly ip: string;
    readonly host: number;
    readonly container: string;
  }[];
  readonly mounts: readonly {
    readonly type: string;
    readonly source: string;
    readonly target: string;
  }[];
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Values of the variables that bound how many compilers run at once; no other variable is read.
   */
  readonly compileJobs: Readonly<Record<string, string>>;
  /**
   * Share of the memory that it was started with, where its argv is an inference server's; no other
   * argument is kept.
   */
  readonly gpuMemoryUtilization?: number;
  /** What that argv asks of the memory, where all of it can be counted. */
  readonly memory?: MemoryDemand;
}

/** What the argv of a container asks of the memory. */
export const memoryAsked = (
  argv: readonly string[],
): Pick<ContainerState, "gpuMemoryUtilization" | "memory"> =>
  defined({ gpuMemoryUtilization: utilizationOf(argv), memory: demandOfProcess(argv) });

/** Says what Docker did after a container ended, because of its restart policy. */
export function startedAgain(restartCount: number): string {
  return `Docker has started it again ${restartCount === 1 ? "once" : `${restartCount} times`}`;
}

/** A machine that serves models has a handful; more would not fit the bound on docker's answer. */
const MOST_CONTAINERS = 100;

const JOB_VARIABLES = ["MAX_JOBS", "NINJA_JOBS"];

/**
 * How often the engine is asked again if a container disappears between two questions, as happens
 * during `up`.
 */
const LOOKS = 3;

/**
 * Every container of an engine, running or not, or those that pass all of `docker ps`'s filters.
 * Reads only. Throws `Failed` with docker's own words.
 */
export async function readContainers(
  dockerHost: string,
  filters: readonly string[] = [],
): Promise<ContainerState[]> {
  for (let look = 1; ; look++) {
    try {
      return await readOnce(dockerHost, filters);
    } catch (error) {
      const gone = error instanceof Failed && /No such (?:object|container)/.test(error.message);
      if (!gone || look === LOOKS) throw error;
    }
  }
}

async function readOnce(dockerHost: string, filters: readonly string[]): Promise<ContainerState[]> {
  const list = [
    "ps",
    "--all",
    "--quiet",
    "--no-trunc",
    ...filters.flatMap((each) => ["--filter", each]),
  ];
  const listed = await docker(list, dockerHost);
  const ids = listed.split("\n").filter(Boolean).slice(0, MOST_CONTAINERS);
  if (ids.length === 0) return [];
  if (!ids.every((id) => /^[\w-]+$/.test(id)))
    throw otherAnswer(list, "ids of containers", listed, dockerHost);
  const inspect = ["inspect", ...ids];
  const inspected = await dockerJson(inspect, dockerHost);
  if (!Array.isArray(inspected))
    throw otherAnswer(inspect, "a list", JSON.stringify(inspected), dockerHost);
  return containersOf(inspected);
}

/** The containers in an answer of `docker inspect`; whatever else is there is left out. */
export function containersOf(inspected: unknown): ContainerState[] {
  return objectsIn(inspected).flatMap(containerOf);
}

/** When a container's last run ended; Docker writes the year 1 where none has. */
const ranUntil = ({ FinishedAt: at }: JsonObject): string | undefined =>
  typeof at === "string" && !at.startsWith("0001-") ? at : undefined;

const text = (value: unknown): string => String(value ?? "");

function containerOf(found: JsonObject): ContainerState | [] {
  const { State: state, Config: config } = found;
  if (!isRecord(state) || !isRecord(config)) return [];
  const health = isRecord(state.Health) ? state.Health.Status : undefined;
  const argv = [...textsOf(config.Entrypoint), ...textsOf(config.Cmd)];
  return {
    id: text(found.Id),
    name: text(found.Name).replace(/^\//, ""),
    image: text(config.Image),
    imageId: text(found.Image),
    status: text(state.Status),
    startedAt: text(state.StartedAt),
    exitCode: Number(state.ExitCode ?? 0),
    oomKilled: state.OOMKilled === true,
    restartCount: Number(found.RestartCount ?? 0),
    error: text(state.Error),
    ports: portsOf(found),
    mounts: objectsIn(found.Mounts).map((mount) => ({
      type: text(mount.Type),
      source: text(mount.Name ?? mount.Source),
      target: text(mount.Destination),
    })),
    labels: isRecord(config.Labels)
      ? Object.fromEntries(
          Object.entries(config.Labels).map(([name, value]) => [name, String(value)]),
        )
      : {},
    compileJobs: jobsOf(config.Env),
    ...defined({
      finishedAt: ranUntil(state),
      health: typeof health === "string" ? health : undefined,
    }),
    ...memoryAsked(argv),
  };
}

function portsOf(found: JsonObject): ContainerState["ports"] {
  const settings = isRecord(found.HostConfig) ? found.HostConfig.PortBindings : undefined;
  if (!isRecord(settings)) return [];
  return Object.entries(settings).flatMap(([container, bindings]) =>
    objectsIn(bindings).map((binding) => ({
      ip: String(binding.HostIp ?? "") || "0.0.0.0",
      host: Number(binding.HostPort ?? 0),
      container,
    })),
  );
}

function jobsOf(env: unknown): Record<string, string> {
  return Object.fromEntries(
    [...variablesIn(textsOf(env))].filter(([name]) => JOB_VARIABLES.includes(name)),
  );
}

/** The words of a list; nothing if the value is not a list. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : [];
