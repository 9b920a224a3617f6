import type { ProbeResult } from "../probe";
import { engineDied, keyWanted, late } from "./alive";
import type { Cause, KnownCause } from "./cause";
import { capped, neverEnding } from "./ending";
import { anotherModel, otherNames, otherWindow, startedOtherwise } from "./identity";
import { noToolChoice, otherReasoningParser, toolParser } from "./parsers";
import { prefixCacheOff } from "./prefixCache";
import type { Seen } from "./seen";
import { refusesAlike, templateError, templateWithoutTools } from "./template";
import { alwaysThinks, noThoughts } from "./thinking";

/**
 * What is known to explain failures, what explains most first: what one of them explains is nothing
 * to the ones behind it.
 */
const KNOWN: readonly KnownCause[] = [
  keyWanted,
  engineDied,
  late,
  anotherModel,
  otherNames,
  otherWindow,
  noToolChoice,
  templateError,
  capped,
  neverEnding,
  templateWithoutTools,
  otherReasoningParser,
  alwaysThinks,
  noThoughts,
  toolParser,
  prefixCacheOff,
  startedOtherwise,
  refusesAlike,
];

/** What explains the failed probes of a server; what nothing explains keeps its own fix. */
export function causesOf(seen: Seen): Cause[] {
  let open = seen.failed;
  const causes: Cause[] = [];
  for (const { id, find } of KNOWN) {
    const found = open.length === 0 ? undefined : find({ ...seen, failed: open });
    if (found === undefined || found.probes.length === 0) continue;
    causes.push({ target: seen.declared.name, id, ...found });
    open = open.filter((name) => !found.probes.includes(name));
  }
  return causes;
}

/** Results with what explains them. */
export interface Explained {
  readonly probes: readonly ProbeResult[];
  readonly causes: readonly Cause[];
}

/** The first probe that a cause explains says what to do, the others name that probe. */
export function explain(probes: readonly ProbeResult[], causes: readonly Cause[]): Explained {
  const explained = (probe: ProbeResult): ProbeResult => {
    const cause = causes.find((each) => each.probes.includes(probe.name));
    if (cause === undefined) return probe;
    const [first] = cause.probes;
    const isFirst = probe.name === first;
    const fix = isFirst ? `${cause.cause} ${cause.advice}` : `See ${first}: it has the cause.`;
    return { ...probe, fix, cause: cause.id };
  };
  return { probes: probes.map(explained), causes };
}
