import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { type EngineDefaults, engineDefaults } from "@local-serving/vllm/engineDefaults";

/** Defaults that differ between two versions of vLLM, of flags that a server doesn't set. */
export interface DefaultChanges {
  /** By name. A flag that only one of the versions has is none of them. */
  readonly changed: readonly DefaultChange[];
  /** The versions whose defaults nobody has recorded; then `changed` is empty. */
  readonly unrecorded: readonly string[];
}

interface DefaultChange {
  readonly name: string;
  /** `null`: vLLM works the value out as it starts. */
  readonly before: EngineDefaults[string];
  readonly after: EngineDefaults[string];
}

/** Compares the recorded defaults of two versions. */
export function defaultChanges(
  versions: readonly [before: string, after: string],
  servers: readonly ServerArguments[],
): DefaultChanges {
  const [old, now] = versions.map(engineDefaults);
  return old === undefined || now === undefined
    ? { changed: [], unrecorded: versions.filter((each) => engineDefaults(each) === undefined) }
    : { changed: changedDefaults(old, now, servers), unrecorded: [] };
}

/** The defaults of `old` that are others in `now`, and that some of the servers leave as they are. */
export const changedDefaults = (
  old: EngineDefaults,
  now: EngineDefaults,
  servers: readonly ServerArguments[],
): DefaultChange[] =>
  Object.entries(old)
    .flatMap(([name, before]) => {
      const after = now[name];
      return after === undefined || JSON.stringify(before) === JSON.stringify(after)
        ? []
        : [{ name, before, after }];
    })
    .filter(({ name }) => servers.some((server) => !isSet(server, name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

/** Whether a server's command line sets a flag; a model may stand there without its flag. */
const isSet = ({ options, model }: ServerArguments, name: string): boolean =>
  options.has(name) || (name === "model" && model !== undefined);

/** The same as sentences. */
export function defaultLines({ changed, unrecorded }: DefaultChanges): string[] {
  if (unrecorded.length > 0)
    return [
      `The defaults of vLLM ${unrecorded.join(" and of ")} aren't recorded here: the release notes name those that changed.`,
    ];
  if (changed.length === 0) return ["No flag that isn't set here has a new default."];
  return changed.map(
    ({ name, before, after }) =>
      `\`--${name}\` isn't set here, and its default changes: ${shown(before)} -> ${shown(after)}.`,
  );
}

const shown = (value: EngineDefaults[string]): string =>
  value === null ? "left to vLLM" : `\`${JSON.stringify(value)}\``;
