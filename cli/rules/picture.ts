import { defined } from "@local-serving/base/faults/defined";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import type { Listening } from "@local-serving/machines/address";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { Meminfo } from "@local-serving/machines/memory";
import * as z from "zod";
import type { MachinePlan, Plan } from "../../components/plan";
import { declaredAs, placesOf, serversOn } from "../../components/planned";
import type { OtherStack } from "../../components/preflight";
import type { InferenceServerSettings, MachineSettings } from "../../components/settings";
import type { FileState } from "../sees/file";
import type { GpuState } from "../sees/gpu";
import type { Hit, LogReading } from "../sees/log/scanLog";
import { ANSWERED, COUNTS, READY, type Sign, STARTED_WITH_PORT } from "../sees/log/sign";
import type { OffNetworkOf } from "../sees/network";
import type { OnDemandSeen } from "../sees/onDemand/onDemand";
import type { SwapUnit } from "../sees/onDemand/swapFiles";
import type { Edit, EditValue } from "../stackEdit/applyEdits";
import type { ServerSeen } from "./serverSeen";

/**
 * Everything that was seen, which the rules judge. What was not read is absent, which never means
 * "nothing there".
 */
export interface Picture {
  readonly logs: readonly LogReading[];
  readonly meminfo?: Meminfo;
  readonly gpu?: GpuState;
  /** Every container of the engine, running or not. */
  readonly containers?: readonly ContainerState[];
  /** Whether those are all that the engine has: then one that isn't among them doesn't exist. */
  readonly allContainers?: boolean;
  /** What another stack has under names of this one. */
  readonly otherStack?: OtherStack;
  /** Containers of the plan that aren't on a network of theirs. */
  readonly offNetworks?: readonly OffNetworkOf[];
  /** Why the engine could not be asked. */
  readonly dockerProblem?: string;
  readonly sockets?: readonly Listening[];
  readonly addresses?: readonly string[];
  /** Files of the plan that were looked for on the machine. */
  readonly files?: readonly FileState[];
  /** Paths of those that are as they were applied, whatever the stack file asks for now. */
  readonly filesAsApplied?: readonly string[];
  readonly probes?: readonly ProbeSeen[];
  /** What these probes asked of a server, and what came of it; only while it is verified. */
  readonly server?: ServerSeen;
  /** How many results of the last `serving verify` are older than what runs now: not judged. */
  readonly staleProbes?: number;
  /** What starts servers by request, where the machine has that. */
  readonly onDemand?: SwapFacts;
  /** What `up` would do now, where the machine itself was read. */
  readonly update?: UpdateFacts;
  /** The stack file of the machine, where one was given. */
  readonly stack?: Stack;
  /**
   * Why a stack file that exists could not be read, a line for each fault; then there is no
   * `stack`.
   */
  readonly stackProblem?: { readonly file: string; readonly faults: readonly string[] };
  /** Nobody said that the given files are of a machine of that stack file. */
  readonly stackIsAGuess?: true;
  /** Key of the server that a log without a name belongs to, where the user said so. */
  readonly serverKey?: string;
}

/** What `up` would do with a stack now. */
export interface UpdateFacts {
  /** Why it would be refused, in the words of its preflight. */
  readonly refused: readonly string[];
  /** It would change nothing: the stack file asks for what was applied. */
  readonly isApplied: boolean;
}

/** llama-swap, its unit, and what it starts. */
export interface SwapFacts {
  readonly seen: OnDemandSeen;
  /** Absent where no systemd of the user's answers. */
  readonly unit?: SwapUnit;
}

export interface Stack {
  readonly file: string;
  readonly text: string;
  readonly machine: string;
  readonly settings: MachineSettings;
  readonly plan: MachinePlan;
  /** Plans of all machines: its servers may have containers on others. */
  readonly machines: readonly MachinePlan[];
  readonly refusals: readonly { readonly name: string; readonly message: string }[];
  /** What the plan warns of. */
  readonly warnings: Plan["warnings"];
  /** The same machine by another text of the file. Throws `FaultyInput` where it has faults. */
  readonly planned: (text: string) => Stack;
}

/** What a probe of `serving verify` found, as it is kept and printed. */
export const probeSeen = z.object({
  name: z.string().min(1),
  /** What was probed: a container's name, or words such as `instance A`. */
  target: z.string().exactOptional(),
  status: z.enum(["pass", "fail", "skip"]),
  /** What was seen, in a sentence, figures included. */
  detail: z.string().catch(""),
  fix: z.string().catch(""),
  /** Id of the rule that explains its failure, where one does. */
  cause: z.string().exactOptional(),
  /** What that rule says, at the first probe that it explains. */
  why: z.object({ cause: z.string(), advice: z.string(), command: z.string() }).exactOptional(),
});

export type ProbeSeen = Readonly<z.infer<typeof probeSeen>>;

/** A sign that was seen, and the log that it was seen in. */
export type Sighting = Hit & { readonly log: LogReading };

/**
 * Where the first of these signs was seen; a failed start is forgotten once a later start in the
 * same log succeeded.
 */
export function seen(picture: Picture, ...signs: readonly Sign[]): Sighting | undefined {
  for (const sign of signs) {
    for (const log of picture.logs) {
      const hit = log.hits.get(sign);
      if (hit === undefined) continue;
      if (sign.when === "start" && cameUpAfter({ ...hit, log })) continue;
      return { ...hit, log };
    }
  }
  return undefined;
}

/** `true` when the server was up after this line, and did not end with it. */
export function cameUpAfter({ log, lineNumber, afterServing }: Sighting): boolean {
  const ready = log.hits.get(READY);
  return afterServing !== true && ready !== undefined && ready.lineNumber > lineNumber;
}

/** Whether the server of a log came up: it says so, or has worked where its front is cut off. */
export const isUp = ({ hits }: LogReading): boolean =>
  [READY, ANSWERED, COUNTS].some((sign) => hits.has(sign));

/** What the first group that took part caught. */
export const firstGroup = (hit: Hit): string | undefined =>
  hit.groups.find((group) => group !== "");

/** A number that a group caught; thousands commas are taken out. */
export const numberOf = (hit: Hit, group: number): number =>
  Number((hit.groups[group] ?? "").replaceAll(",", ""));

/** The inference server that a sighting is about. */
export interface Server {
  /** Key in the stack file; a name in angle brackets where it isn't known. */
  readonly key: string;
  readonly container: string;
  readonly settings?: InferenceServerSettings;
  /** An edit of one of its settings, such as `("tools", "parser")`. */
  readonly set: (path: readonly string[], value: EditValue | undefined) => Edit;
}

/**
 * The server that a log belongs to: by its container, by what the user said, by its port, or
 * because there is only one.
 */
export function serverOf(picture: Picture, log?: LogReading): Server {
  const { stack } = picture;
  const here = stack?.machine ?? "<machine>";
  const planned = stack === undefined ? [] : serversOn(stack.plan);
  const port = log?.hits.get(STARTED_WITH_PORT)?.groups[0];
  const found =
    planned.find((each) => each.container.name === log?.container) ??
    planned.find((each) =>
      placesOf(here, each).some(({ container }) => container === log?.container),
    ) ??
    planned.find((each) => each.key === picture.serverKey) ??
    planned.find(({ reach }) => String(reach.port) === port) ??
    (planned.length === 1 ? planned[0] : undefined);
  // Its settings may be another machine's.
  const { machine, key } = found
    ? declaredAs(here, found)
    : { machine: here, key: picture.serverKey ?? "<server>" };
  const settings =
    stack && machine === stack.machine ? stack.settings.inferenceServers[key] : undefined;
  return {
    key,
    container: log?.container ?? found?.container.name ?? "<container>",
    ...defined({ settings }),
    set: (path, value) => ({
      path: ["machines", machine, "inferenceServers", key, ...path],
      value,
    }),
  };
}

/**
 * A number that a server runs with: as its log says it was started, else as the stack file has it.
 * A change is worked out from what ran, so that asking twice gives the same answer.
 */
export function ranWith(
  { hits }: LogReading,
  sign: Sign,
  setting: number | undefined,
): number | undefined {
  const said = hits.get(sign)?.groups[0];
  return said === undefined ? setting : Number(said);
}

export function machineEdit(
  { stack }: Picture,
  path: readonly string[],
  value: EditValue | undefined,
): Edit {
  return { path: ["machines", stack?.machine ?? "<machine>", ...path], value };
}

export const setting = ({ stack }: Picture, ...path: string[]): unknown =>
  stack === undefined ? undefined : valueAt(stack.settings, path);

/** A setting that is text. */
export function textSetting(picture: Picture, ...path: string[]): string | undefined {
  const found = setting(picture, ...path);
  return typeof found === "string" ? found : undefined;
}

/** The state of the container that a server of the plan runs in. */
export const stateOf = (
  { containers }: Pick<Picture, "containers">,
  name: string,
): ContainerState | undefined => containers?.find((each) => each.name === name);

/** Whether a container of the plan starts on request: then nothing is wrong where it doesn't run. */
export const isOnRequest = ({ stack }: Pick<Picture, "stack">, container: string): boolean =>
  stack?.plan.containers.some(({ name, start }) => name === container && start === "onRequest") ===
  true;

/** Whether Docker finds the container of a log healthy. */
export function isHealthy(picture: Picture, { container }: LogReading): boolean {
  return plannedStates(picture).some(
    ({ name, status, health }) =>
      name === container && status === "running" && health === "healthy",
  );
}

/**
 * Containers of the plan with their state, where it was read, those on other machines too; without
 * a stack file those that were given.
 */
export function plannedStates({ stack, containers = [] }: Picture): readonly ContainerState[] {
  if (stack === undefined) return containers;
  const everywhere = serversOn(stack.plan).flatMap((server) => placesOf(stack.machine, server));
  const names = new Set([
    ...stack.plan.containers.map(({ name }) => name),
    ...everywhere.map(({ container }) => container),
  ]);
  return [...names].flatMap((name) => stateOf({ containers }, name) ?? []);
}
