import { isDeepStrictEqual } from "node:util";
import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import {
  type Drafts,
  isPooling,
  type ModelEvidence,
  type PublishedSpeed,
  type PublishedSpeeds,
} from "../planned";
import type { servedSpeedSchema } from "../planned/schema";
import { type InferenceServerSettings, inferenceServer } from "../settings";
import { gpuCount, ownSpeeds } from "./kvRoom";

/** How fast a server answers, and whose figure that is. */
export type ServedSpeed = DataOf<typeof servedSpeedSchema>;
type SpeedFigure = NonNullable<ServedSpeed["decode"]>;

/** The settings of a server on which its speed depends, beside its drafts, image and machines. */
export const SPEED_SETTINGS = [
  "kvCacheDtype",
  "moeBackend",
  "attentionBackend",
  "gdnPrefillBackend",
  "environment",
  "extraArgs",
] as const;

/**
 * How fast a server answers as it is set: as it was measured here, else as somebody published it of
 * just these settings. A figure of other settings is none of it.
 */
export function servedSpeed(
  server: InferenceServerSettings,
  speeds: ModelEvidence["speeds"],
): ServedSpeed | undefined {
  if (isPooling(server.model.kind)) return undefined;
  const { speculative } = server;
  const ofThis = speeds !== undefined && isAsRecipe(server, speeds) ? speeds : undefined;
  const decode = ownFigure(server) ?? (ofThis && ofDrafts(ofThis, speculative)) ?? null;
  const draft = speculative === undefined ? ofThis?.draft : undefined;
  const withDrafts = ofThis && draft && ofDrafts(ofThis, draft);
  return { decode, ...defined({ withDrafts }) };
}

function ownFigure(server: InferenceServerSettings): SpeedFigure | undefined {
  const own = ownSpeeds(server);
  if (own === undefined) return undefined;
  const figure = { tokensPerSecond: own.decode, on: "this machine", source: "serving bench" };
  const { versions, speculative } = server;
  const how = defined({ vllm: versions?.vllm, drafts: speculative?.numSpeculativeTokens });
  return { ...figure, date: own.at, ...how };
}

/** Whether a server has just what a recipe gives it, as far as its speed depends on that. */
function isAsRecipe(server: InferenceServerSettings, of: PublishedSpeeds): boolean {
  const { nodes = [""], pipelineParallelSize } = server;
  const repository = (image: string) => imageReference(image)?.repository;
  return (
    nodes.length === of.machines &&
    gpuCount(server) === of.machines &&
    pipelineParallelSize === 1 &&
    (of.image === undefined || repository(of.image) === repository(server.image)) &&
    SPEED_SETTINGS.every((key) =>
      isDeepStrictEqual(
        server[key],
        of.settings[key] ?? inferenceServer.shape[key].parse(undefined),
      ),
    )
  );
}

/** The first speed that was published with these drafts; without any for `undefined`. */
function ofDrafts(
  { decode, draft, machines }: PublishedSpeeds,
  wanted: Drafts | undefined,
): SpeedFigure | undefined {
  const isRecipes =
    draft !== undefined && wanted?.method === draft.method && wanted.model === draft.model;
  const found = decode.find(({ drafts }) => {
    if (wanted === undefined) return drafts === undefined;
    const count = drafts === "unstated" ? draft?.numSpeculativeTokens : drafts;
    return isRecipes && count === wanted.numSpeculativeTokens;
  });
  return found && figureOf(found, machines);
}

const figureOf = (
  { tokensPerSecond, source, date, ...how }: PublishedSpeed,
  machines: number,
): SpeedFigure => {
  const on = machines === 1 ? "a DGX Spark" : `${machines} DGX Sparks`;
  return { tokensPerSecond, on, source, date, ...defined(how) };
};

/** A speed in words: `13 tokens/s (a DGX Spark: liart)`, and what drafts would make of it. */
export function speedTexts({ decode, withDrafts }: ServedSpeed): {
  readonly decode: string;
  readonly withDrafts?: string;
} {
  const more = withDrafts && `${withDrafts.tokensPerSecond} with drafts`;
  return {
    decode:
      decode === null ? "not known" : `${decode.tokensPerSecond} tokens/s (${originText(decode)})`,
    ...defined({ withDrafts: more }),
  };
}

/** Whose figure it is: `a DGX Spark, vLLM 0.28, 3 drafts: vllm-project/recipes, PR #918`. */
function originText({ on, source, vllm, drafts }: SpeedFigure): string {
  const how = [on, ...(vllm === undefined ? [] : [`vLLM ${vllm}`]), ...draftsText(drafts)];
  return `${how.join(", ")}: ${source}`;
}

const draftsText = (drafts: SpeedFigure["drafts"]): string[] => {
  if (drafts === undefined) return [];
  return [drafts === "unstated" ? "drafts" : `${drafts} drafts`];
};
