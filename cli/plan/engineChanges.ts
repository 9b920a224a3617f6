import { attempt } from "@local-serving/base/faults/defined";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { type EngineData, engineVersions } from "@local-serving/vllm/engineData";
import { engineVersionUpTo } from "@local-serving/vllm/optionHistory";
import { eq } from "@renovatebot/pep440";
import type { MachinePlan } from "../../components/plan";
import { TYPE } from "../../components/planned";
import { declaredResources } from "../../components/program/machine";
import { isPep440 } from "../../components/supply/releases";
import { type DeclaredResource, launchOf, ofType } from "../../policies/lib/container";
import { engineDataFor, recordsIn, vllmInside } from "../../policies/lib/imageRecord";
import { serversIn } from "../../policies/lib/inferenceServer";
import { engineFaults } from "../../policies/rules/engineNames";
import type { Section } from "./changeReport";
import { type DefaultChanges, defaultChanges, defaultLines } from "./defaultChanges";

/** What another version of vLLM makes of a server's arguments and variables. */
export interface EngineChanges {
  readonly version: string;
  /** `none`: nothing is known of this version; `published`: of vLLM's own image of it. */
  readonly known: "exact" | "published" | "none";
  /** The version nearest to it that there is data of. */
  readonly nearest: string;
  /** Flags, values and variables that it doesn't know and the other version did. */
  readonly gone: readonly EngineChange[];
  /** Flags that the server leaves at a default which is another; `null` if nothing is known. */
  readonly defaults: DefaultChanges | null;
}

interface EngineChange {
  readonly about: "flag" | "value" | "variable";
  readonly name: string;
  readonly message: string;
}

/** A server's container, and the vLLM inside its image. */
interface Launched {
  readonly container: DeclaredResource;
  readonly version: string;
}

/** A server whose image has another vLLM. */
export interface ServerEngineChanges extends EngineChanges {
  readonly machine: string;
  readonly key: string;
}

/**
 * What another vLLM makes of the arguments of each server that has one in the second plan. Where
 * nobody knows one of the versions, nothing is said.
 */
export function serverEngineChanges(
  before: readonly MachinePlan[],
  after: readonly MachinePlan[],
): ServerEngineChanges[] {
  const old = launchedIn(before);
  return launchedIn(after).flatMap(({ machine, key, ...now }) => {
    const then = old.find((each) => each.machine === machine && each.key === key);
    return then === undefined || eq(then.version, now.version)
      ? []
      : [{ machine, key, ...engineChanges(then, now) }];
  });
}

/** The vLLM of a server on a machine, as far as it is known. */
export type LaunchedVersions = (machine: string, key: string) => string | undefined;

/** Looks up the vLLM of each server of some plans. */
export function launchedVersions(machines: readonly MachinePlan[]): LaunchedVersions {
  const launched = launchedIn(machines);
  return (machine, key) =>
    launched.find((each) => each.machine === machine && each.key === key)?.version;
}

/** The servers of a plan with the vLLM inside, as far as it is known. */
function launchedIn(machines: readonly MachinePlan[]) {
  // A plan that another version applied may lack what is read here.
  const resources = attempt(() => declaredResources({ machines, warnings: [] })) ?? [];
  const records = recordsIn(resources);
  const containers = ofType(resources, TYPE.container);
  return machines.flatMap(({ name: machine, inferenceServers }) =>
    inferenceServers.flatMap(({ key, container: { resource } }) => {
      const container = containers.find(
        ({ provider, name }) => provider === machine && name === resource,
      );
      if (container === undefined) return [];
      const version = vllmInside(container.props.image, records(container));
      return version !== undefined && isPep440(version)
        ? [{ machine, key, container, version }]
        : [];
    }),
  );
}

/** The same as sections of a review. */
export const engineSections = (changes: readonly ServerEngineChanges[]): Section[] =>
  changes.map((each) => ({
    title: `What vLLM ${each.version} makes of the arguments of ${each.key} on ${each.machine}`,
    lines: engineLines(each),
    isFolded: true,
  }));

/**
 * What changes for a server's arguments, those in `extraArgs` too, and its variables between two
 * versions, and which defaults change.
 */
export function engineChanges(before: Launched, after: Launched): EngineChanges {
  const { version } = after;
  const { data, exact } = engineDataFor(after.container.props.image, version);
  const nearest = engineVersionUpTo(version) ?? engineVersions()[0] ?? data.version;
  if (!eq(data.version, version))
    return { version, known: "none", nearest, gone: [], defaults: null };
  const { data: old } = engineDataFor(before.container.props.image, before.version);
  // What an older version, of which there is no data, knew can't be told.
  const isOld = eq(old.version, before.version);
  const known = isOld ? faultsOf(before.container, old) : [];
  const had = new Set(known.map(({ about, name }) => `${about} ${name}`));
  const gone = faultsOf(after.container, data)
    .filter(({ about, name }) => !had.has(`${about} ${name}`))
    .map(({ about, name, message }) => ({ about, name, message }));
  const versions = [isOld ? old.version : before.version, data.version] as const;
  const defaults = defaultChanges(versions, serversIn(after.container));
  return { version, known: exact ? "exact" : "published", nearest, gone, defaults };
}

const faultsOf = (container: DeclaredResource, engine: EngineData) =>
  serversIn(container).flatMap(({ words }) =>
    engineFaults(readServerArguments(words, engine), launchOf(container.props).variables, engine),
  );

/** The same as sentences. */
export function engineLines({ version, known, nearest, gone, defaults }: EngineChanges): string[] {
  if (known === "none")
    return [
      `There is no engine data for vLLM ${version}, so its flags, values and variables are not known; the nearest data are for ${nearest}.`,
    ];
  const none = `vLLM ${version} has every flag, value and variable that is set here.`;
  return [
    ...(gone.length === 0 ? [none] : gone.map(({ message }) => message)),
    ...(known === "exact" ? [] : ["The image isn't vLLM's own, so what is inside may differ."]),
    ...(defaults === null ? [] : defaultLines(defaults)),
  ];
}
