import { isDeepStrictEqual } from "node:util";
import type { Recipe } from "../../components/catalogue";
import { ownSpeeds } from "../../components/memory";
import type { InferenceServerSettings } from "../../components/settings";
import { defined } from "../../faults/defined";
import { type Fit, withModel } from "./fit";
import { machineOf, type Seat } from "./seat";

type Speed = Recipe["speeds"][number];

/** How fast a model was seen to answer, and whether that was with the values that are written. */
export interface ShownSpeed extends Speed {
  readonly asWritten: boolean;
}

/**
 * The speed to show for a server that gets its recipe's values and so many drafts: the first that
 * was seen with just these, else the first of all, which has to be shown with its conditions.
 */
export function shownSpeed(speeds: readonly Speed[], drafts = 0): ShownSpeed | undefined {
  const decode = speeds.filter(({ what }) => what === "decode");
  const same = decode.find((each) => each.with === undefined && (each.drafts ?? 0) === drafts);
  const [speed = same] = same === undefined ? decode : [same];
  return speed && { ...speed, asWritten: same !== undefined };
}

/** What a speed was measured with beside its recipe's values: `vLLM 0.28, 3 drafts`; else "". */
export const conditionsOf = ({ with: how, drafts = 0 }: Speed): string =>
  [...(how === undefined ? [] : [how]), ...(drafts === 0 ? [] : [`${drafts} drafts`])].join(", ");

/** A cell of a table: `52`, or `57 with 3 drafts`. */
export const speedCell = (speed: ShownSpeed): string =>
  speed.asWritten
    ? String(speed.tokensPerSecond)
    : `${speed.tokensPerSecond} with ${conditionsOf(speed) || "no drafts"}`;

/** The settings of a server on which its speed depends, beside its drafts. */
const DECISIVE = [
  "image",
  "tensorParallelSize",
  "pipelineParallelSize",
  "kvCacheDtype",
  "moeBackend",
  "attentionBackend",
  "gdnPrefillBackend",
  "environment",
  "extraArgs",
] as const;

/**
 * The speeds that were measured of a model on the seat's machine; empty where there are none. Those
 * of other values than the seat would get with it say which.
 */
export function speedsHere(fit: Fit, seat: Seat): Speed[] {
  const servers = Object.values(machineOf(seat.settings, seat.machine).inferenceServers);
  return servers.flatMap((server) => {
    const own = server.model.id === fit.recipe.id ? ownSpeeds(server) : undefined;
    if (own === undefined) return [];
    const of = defined({
      with: otherValues(server, fit, seat),
      drafts: server.speculative?.numSpeculativeTokens,
    });
    return (["decode", "prefill"] as const).map((what): Speed => {
      const source = "serving bench on this machine";
      return { what, tokensPerSecond: own[what], basis: "measured", source, date: own.at, ...of };
    });
  });
}

/**
 * What a server says otherwise than it would get it; `undefined` where its speed would stay. What it
 * leaves to vLLM may be what the recipe writes.
 */
function otherValues(server: InferenceServerSettings, fit: Fit, seat: Seat): string | undefined {
  if (fit.verdict === "no") return undefined;
  const { machines } = withModel(seat, fit.values);
  const written = machines[seat.machine]?.inferenceServers[seat.server];
  const others = DECISIVE.filter(
    (key) => isSaid(server[key]) && !isDeepStrictEqual(server[key], written?.[key]),
  );
  return others.length === 0 ? undefined : `this stack file's ${others.join(", ")}`;
}

const isSaid = (value: unknown): boolean =>
  value !== undefined && !isDeepStrictEqual(value, {}) && !isDeepStrictEqual(value, []);
