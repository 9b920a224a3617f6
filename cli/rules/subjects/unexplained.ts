import { shellWord } from "@local-serving/base/faults/shellWords";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { LogReading } from "../../sees/log/scanLog";
import { RAISED, TROUBLE } from "../../sees/log/sign";
import { endedBadly } from "../../sees/onRequest";
import { wasAskedAgain } from "../oneTry";
import {
  isHealthy,
  isOnRequest,
  isUp,
  type Picture,
  plannedStates,
  type Sighting,
} from "../picture";
import { explaining, isHarmless, type WeighingRule } from "../rule";
import { answerSaid } from "./answerSaid";
import { engineSaid } from "./engineSaid";
import { stateLine } from "./killed";

/** What a person needs who looks further. */
const COLLECT =
  "Collect and look: `docker logs CONTAINER > server.log 2>&1`, `docker inspect CONTAINER`, /proc/meminfo, `sudo journalctl --dmesg`, `serving plan --format json`, `serving status --versions`. Run `serving doctor --log server.log ...` on them, or take them to the project's or vLLM's issues. Keys are redacted here, not in your copies.";

/** What is said where no rule explains the trouble. */
export const unexplained: readonly WeighingRule[] = [
  engineSaid,
  answerSaid,
  {
    id: "probe-failed",
    // The probes themselves say how to fix it.
    explain({ probes = [] }, before) {
      const failed = probes.filter(
        ({ status, name, target }) =>
          status === "fail" &&
          !before.some(
            ({ explanation }) =>
              explanation.target === target && explanation.probes?.includes(name),
          ),
      );
      const names = failed.map(({ name }) => name);
      if (failed.length === 0 || explaining(before).length > 0) return undefined;
      // The first probe that a cause explains says it, the others only point there.
      const ids = failed.map(({ cause }) => cause);
      const said = failed.filter(
        ({ cause }, at) => cause === undefined || ids.indexOf(cause) === at,
      );
      return {
        cause:
          failed.length === 1
            ? `\`serving verify\` fails in its probe ${names[0]}.`
            : `\`serving verify\` fails in ${failed.length} of its probes.`,
        evidence: firstOf(
          failed.map(({ name, detail }) => `probe ${name}: ${detail}`),
          " | ",
        ),
        advice:
          firstOf([...new Set(said.map(({ fix }) => fix))].filter(Boolean), "\n") || undefined,
        command: `serving verify --only ${shellWord(names.join(","))}`,
      };
    },
  },
  {
    id: "unknown",
    // A server that died or never came up, or a log that ends in an error.
    explain(picture, before) {
      const isSaid = before.some(({ rule }) => [engineSaid.id, answerSaid.id].includes(rule.id));
      if (isSaid || explaining(before).length > 0) return undefined;
      const dead = plannedStates(picture)
        .filter((each) => !wasStopped(picture, each))
        .find(
          ({ status, exitCode, health }) =>
            ["restarting", "dead"].includes(status) ||
            health === "unhealthy" ||
            (status === "exited" && exitCode !== 0),
        );
      const error = picture.logs
        .filter((log) => log.kind !== "kernel" && log.kind !== "probes" && !isHealthy(picture, log))
        .map(lastError)
        .find((hit) => hit !== undefined);
      if (dead === undefined && error === undefined) return undefined;
      const evidence = [
        ...(dead === undefined ? [] : [stateLine(dead)]),
        ...(error === undefined ? [] : [error.line]),
      ].join(" | ");
      if (before.some((each) => !isHarmless(each) && each.explanation.evidence === evidence))
        return undefined;
      return {
        cause: "Something is wrong, but doctor doesn't recognise it.",
        evidence,
        advice: COLLECT,
        command: `docker logs --tail 200 ${dead?.name ?? "CONTAINER"} 2>&1 | less`,
      };
    },
  },
];

/** Probes that are told in full: what is behind them is often their consequence. */
const TOLD = 4;

/** The first of several texts, and how many more there are. */
function firstOf(texts: readonly string[], between: string): string {
  const more = texts.length - TOLD;
  const told =
    more <= 1 ? texts : [...texts.slice(0, TOLD), `and ${more} more: run serving verify`];
  return told.join(between);
}

/** Whether a container starts on request, and was only stopped. */
const wasStopped = (picture: Picture, state: ContainerState): boolean =>
  isOnRequest(picture, state.name) && state.status === "exited" && !endedBadly(state);

/** The last error of a log that shows no server that came up: one that serves survived its errors. */
function lastError(log: LogReading): Sighting | undefined {
  const hit = log.hits.get(RAISED) ?? log.hits.get(TROUBLE);
  if (hit === undefined || isUp(log)) return undefined;
  return wasAskedAgain({ ...hit, log }) ? undefined : { ...hit, log };
}
