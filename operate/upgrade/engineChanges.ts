import { eq, lte } from "@renovatebot/pep440";
import { type DeclaredResource, launchOf } from "../../policies/lib/container";
import { engineDataOf } from "../../policies/lib/imageRecord";
import { serversIn } from "../../policies/lib/inferenceServer";
import { engineFaults } from "../../policies/rules/engineNames";
import { readServerArguments } from "../../vllm/argv/serverArguments";
import { type EngineData, engineVersions } from "../../vllm/engineData";

/** What another version of vLLM makes of a server's arguments and variables. */
export interface EngineChanges {
  readonly version: string;
  /** `none`: nothing is known of this version; `published`: of vLLM's own image of it. */
  readonly known: "exact" | "published" | "none";
  /** The version nearest to it that there is data of. */
  readonly nearest: string;
  /** Flags, values and variables that it doesn't know and the other version did. */
  readonly gone: readonly EngineChange[];
}

interface EngineChange {
  readonly about: "flag" | "value" | "variable";
  readonly name: string;
  readonly message: string;
}

/** A server's container, and the vLLM inside its image as its tag names it. */
interface Launched {
  readonly container: DeclaredResource;
  readonly version: string;
}

/**
 * What changes for a server's arguments, those in `extraArgs` too, and its variables between two
 * versions. Defaults are not in the data.
 */
export function engineChanges(before: Launched, after: Launched): EngineChanges {
  const { version } = after;
  const { data, exact } = engineDataOf(after.container.props.image);
  const nearest =
    engineVersions().findLast((each) => lte(each, version)) ?? engineVersions()[0] ?? data.version;
  if (!eq(data.version, version)) return { version, known: "none", nearest, gone: [] };
  const { data: old } = engineDataOf(before.container.props.image);
  // What an older version, of which there is no data, knew can't be told.
  const known = eq(old.version, before.version) ? faultsOf(before.container, old) : [];
  const had = new Set(known.map(({ about, name }) => `${about} ${name}`));
  const gone = faultsOf(after.container, data)
    .filter(({ about, name }) => !had.has(`${about} ${name}`))
    .map(({ about, name, message }) => ({ about, name, message }));
  return { version, known: exact ? "exact" : "published", nearest, gone };
}

const faultsOf = (container: DeclaredResource, engine: EngineData) =>
  serversIn(container).flatMap(({ words }) =>
    engineFaults(readServerArguments(words, engine), launchOf(container.props).variables, engine),
  );

/** The same as sentences. */
export function engineLines({ version, known, nearest, gone }: EngineChanges): string[] {
  if (known === "none")
    return [
      `There is no engine data of vLLM ${version}, so nothing is known of its flags, values and variables; the nearest is that of ${nearest}.`,
    ];
  const none = `vLLM ${version} has every flag, value and variable that is set here.`;
  return [
    ...(gone.length === 0 ? [none] : gone.map(({ message }) => message)),
    ...(known === "exact" ? [] : ["The image isn't vLLM's own, so what is inside may differ."]),
    DEFAULTS,
  ];
}

const DEFAULTS = "Defaults are not in this data: the release notes name those that changed.";
