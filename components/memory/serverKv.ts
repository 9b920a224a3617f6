import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { BYTES_PER_GIB, hundredths } from "@local-serving/base/units/memory";
import { thousands } from "@local-serving/base/units/thousands";
import {
  agentsAtOnce,
  KV_ENGINE_CHOICES,
  type KvEngineSettings,
  type KvPlan,
  kvPlanner,
  modelShape,
  plannedKvDtype,
  prefills,
  reservedBlocks,
  windowBytes,
} from "@local-serving/kv";
import type { serverKvSchema } from "@local-serving/kv/schema";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { gbOnEachGpu, isPooling, type ModelEvidence } from "../planned";
import type { ModelStarts, SeenStart } from "../planned/schema";
import type { InferenceServerSettings } from "../settings";
import { vllmOf } from "../supply";
import { certainWeights } from "./certainWeights";
import {
  gpuCount,
  isJudged,
  kvRoom,
  leastBeforeKv,
  measuredHere,
  ownSpeeds,
  residentGiB,
  weightsGB,
} from "./kvRoom";
import { readModelName } from "./model-name";
import { outsideOf, weighServer } from "./starts/ofServer";
import { listedStarts } from "./starts/texts";
import { startVerdict } from "./starts/verdict";
import type { Weighed } from "./starts/weigh";

/**
 * The KV plan of one server. Its figures assume the least room (`room.lowGiB`); `atBest` assumes
 * the most.
 */
export type ServerKv = DataOf<typeof serverKvSchema>;

/** Whether a server starts, also by a plan that an earlier version left, which doesn't say it. */
export const startVerdictOf = ({
  start,
  fits,
  atBest,
}: ServerKv): NonNullable<ServerKv["start"]>["verdict"] =>
  start?.verdict ?? (fits ? "starts" : atBest.fits ? "may start" : "cannot start");

/**
 * What lies outside its cache if a server takes as little as servers usually do, in GiB. Small models
 * took less, but a share is not chosen for the luckiest start.
 */
export const usualOutsideGiB = (kv: ServerKv): number => {
  const { room } = kv;
  const each = gbOnEachGpu(kv);
  const weights = each === null ? 0 : leastBeforeKv(each);
  return room.basis === "estimated" ? Math.max(room.outsideGiB.low, weights) : room.outsideGiB.low;
};

/** KV cache that vLLM asks for at its start: one whole window, and the blocks that it keeps free. */
export const windowGiBOf = ({ bytesPerRequest, bytesPerBlock, vllmVersion }: KvPlan): number =>
  (bytesPerRequest + reservedBlocks(vllmVersion) * bytesPerBlock) / BYTES_PER_GIB;

/** The most outside its cache by any start that speaks of it, in GiB. */
export const sureOutsideGiB = ({ start, room }: ServerKv): number =>
  start?.sureGiB ?? room.outsideGiB.high;

/**
 * Flags without a setting of their own that change the KV cache, and that this plan does not
 * follow.
 */
const NOT_FOLLOWED = ["--block-size", "--mamba-cache-mode", "--mamba-block-size", "--hf-overrides"];

/** A server's KV plan, or why there is none; `notes` are worth a warning either way. */
export interface ServerKvResult {
  readonly kv: ServerKv | null;
  readonly notes: readonly string[];
  /** The same with another room, in GiB, where there is a plan. */
  readonly withRoom?: (gib: number) => KvPlan;
}

/** What a server's KV plan needs beside its own settings. */
export interface KvContext {
  /** The machine's memory. */
  readonly totalGiB: number;
  /**
   * Another machine that shares the model and has less memory. vLLM gives all GPUs as many blocks
   * as the smallest machine holds.
   */
  readonly least?: { readonly machine: string; readonly totalGiB: number } | undefined;
  /**
   * The longest answer, in tokens, that an agent of this server may ask for, if one has such a
   * limit.
   */
  readonly maxOutputTokens: number | undefined;
  /** Kind of machine that it is planned for. Default: the usual one. */
  readonly device?: string | undefined;
  /** What it keeps beside its share, as the CPU's memory, in GiB: a part of its weights may be there. */
  readonly hostGiB?: number | undefined;
  /** The starts that are known, of any model. */
  readonly starts?: readonly ModelStarts[] | undefined;
  /** Known models by the ids that are close to theirs, of which nothing is known. */
  readonly closeIds?: Readonly<Record<string, string>> | undefined;
}

/** Plans the KV cache of one server from its settings and what was read of its model. */
export function serverKv(
  server: InferenceServerSettings,
  context: KvContext,
  model?: ModelEvidence,
): ServerKvResult {
  if (model === undefined && readModelName(server.model.id).gguf)
    return none(`By its name ${server.model.id} is GGUF, of which no config.json is read.`);
  if (model === undefined) {
    const folder = server.model.id.replaceAll("/", "--");
    const closeId = context.closeIds?.[server.model.id];
    const asked = closeId === undefined ? "" : `. Did you mean \`${closeId}\`? Otherwise`;
    return none(
      `No config.json of ${server.model.id} was found${asked || ":"} put it into models/${folder}/ (\`serving models add\`, or with \`--from-cache\` from the machine's model cache). A plan made on the machine itself reads that cache.`,
    );
  }
  if (model.problem !== undefined) return none(`${model.source}: ${model.problem}`);
  if (server.pipelineParallelSize > 1)
    return none(
      "With `pipelineParallelSize` above 1 each stage caches its own layers, which the plan can't divide.",
    );
  const kvCacheDtype = plannedKvDtype(server.kvCacheDtype);
  if (kvCacheDtype === undefined)
    return none(`A KV cache in ${server.kvCacheDtype} can't be planned.`);
  try {
    const shape = modelShape(model.config);
    const engine = engineSettings(server, kvCacheDtype);
    const windowOf = (given: Partial<KvEngineSettings>) => {
      const { bytesPerRequest, bytesPerBlock } = windowBytes(shape, { ...engine, ...given });
      return (bytesPerRequest + bytesPerBlock) / BYTES_PER_GIB;
    };
    const windowGiB = ({ maxModelLen, kvCacheDtype: dtype }: SeenStart) => {
      const format = dtype === null ? undefined : plannedKvDtype(dtype);
      return maxModelLen === null || format === undefined
        ? undefined
        : windowOf({ maxModelLen, kvCacheDtype: format });
    };
    const totalGiB = context.least?.totalGiB ?? context.totalGiB;
    const { device, starts = [] } = context;
    const around = { device, totalGiB, starts, vllm: engine.vllmVersion };
    const weighed = weighServer(server, around, { model, shape, windowGiB });
    if (!isKnown(server, model, weighed)) return none(UNKNOWN_SIZE);
    const planWith = kvPlanner(shape, engine);
    const withRoom = (gib: number) => planWith(Math.floor(gib * BYTES_PER_GIB));
    const kv = planned(withRoom, { server, context, model, weighed });
    const notes = kv.problems
      .filter((problem) => problem.severity === "warning")
      .map((problem) => problem.message);
    return { kv, notes: [...notes, ...notFollowed(server)], withRoom };
  } catch (error) {
    if (!(error instanceof FaultyInput)) throw error;
    return none(
      `${model.source}: ${error.faults.map(({ path, message }) => [path, message].filter(Boolean).join(": ")).join("; ")}`,
    );
  }
}

const UNKNOWN_SIZE =
  "Neither a measurement nor the size of the weights is known: set `model.weightsGB`. It is known for models of the catalogue (`serving models`).";

/** Whether enough is known of a server to tell the room for its cache. */
const isKnown = (server: InferenceServerSettings, model: ModelEvidence, { basis }: Weighed) =>
  measuredHere(server)?.charged !== undefined ||
  residentGiB(server, model) !== undefined ||
  (model.starts?.weightsGiB ?? null) !== null ||
  basis === "like";

interface Known {
  readonly server: InferenceServerSettings;
  readonly context: KvContext;
  readonly model: ModelEvidence;
  readonly weighed: Weighed;
}

/** The KV plan of the least room, with what the server and its model say beside it. */
function planned(withRoom: (gib: number) => KvPlan, known: Known): ServerKv {
  const { server, context, model, weighed } = known;
  const { least, maxOutputTokens } = context;
  const totalGiB = least?.totalGiB ?? context.totalGiB;
  const room = kvRoom(server, totalGiB, outsideOf(server, model, weighed));
  const worst = withRoom(room.lowGiB);
  const most = withRoom(room.highGiB);
  return {
    ...worst,
    room,
    start: startOf(worst, totalGiB, known),
    atBest: { fits: most.fits, maxConcurrency: most.maxConcurrency },
    // A model that makes vectors or sorts has no agents.
    ...(isPooling(server.model.kind)
      ? { agents: [], agentReuse: null }
      : { agents: agentsAtOnce(worst, maxOutputTokens) }),
    weightsGB: weightsGB(server, model) ?? null,
    ranks: gpuCount(server),
    ...defined({ least }),
    prefill: prefillOf(server, model, worst.maxModelLen),
  };
}

/** Whether a server starts, by its figures and by what is known of other starts. */
function startOf(
  worst: KvPlan,
  totalGiB: number,
  { server, context: { hostGiB = 0 }, model, weighed }: Known,
): NonNullable<ServerKv["start"]> {
  const { gpuMemoryUtilization, kvCacheMemoryBytes } = server;
  const here = measuredHere(server);
  const measured = here?.charged === undefined ? undefined : { gib: here.charged, at: here.at };
  const weightsGiB =
    isJudged(server, model) || model.catalogue?.residentGiB !== undefined
      ? residentGiB(server, model)
      : certainWeights(server, model);
  const figures = {
    totalGiB,
    budgetGiB: gpuMemoryUtilization * totalGiB,
    weightsGiB: weightsGiB && Math.max(0, weightsGiB - hostGiB),
    windowGiB: windowGiBOf(worst),
    ...defined({
      cacheGiB: kvCacheMemoryBytes && kvCacheMemoryBytes / BYTES_PER_GIB,
      measured,
      heldGiB: here?.taken,
    }),
  };
  const sureGiB = hundredths(here?.charged ?? weighed.most.gib);
  const { verdict, why } = startVerdict(figures, weighed);
  // A plan that ignores a flag refuses nothing.
  const said = verdict === "cannot start" && !isFollowed(server) ? "may start" : verdict;
  return { verdict: said, why, sureGiB, ...listedStarts(weighed) };
}

/** What cold prompts cost, by this machine's own measurement or else by the recipe's. */
function prefillOf(
  server: InferenceServerSettings,
  model: ModelEvidence,
  window: number,
): ServerKv["prefill"] {
  const own = ownSpeeds(server);
  const rate =
    own === undefined
      ? model.prefill
      : { tokensPerSecond: own.prefill, source: `measured on ${own.at}` };
  if (rate === undefined) return null;
  return {
    prompts: prefills(window, rate.tokensPerSecond),
    source: `${thousands(rate.tokensPerSecond)} tokens a second: ${rate.source}`,
  };
}

function engineSettings(
  server: InferenceServerSettings,
  kvCacheDtype: NonNullable<KvEngineSettings["kvCacheDtype"]>,
): KvEngineSettings {
  const vllmVersion = vllmOf(server);
  const unit = Number(extra(server, "--prefix-match-unit"));
  const stateDtype = KV_ENGINE_CHOICES.mambaSsmCacheDtype.find(
    (dtype) => dtype === extra(server, "--mamba-ssm-cache-dtype"),
  );
  return {
    ...defined({ vllmVersion }),
    kvCacheDtype,
    maxModelLen: server.maxModelLen,
    maxNumSeqs: server.maxNumSeqs,
    maxNumBatchedTokens: server.maxNumBatchedTokens,
    draftTokens: server.speculative?.numSpeculativeTokens ?? 0,
    prefixCaching: server.prefixCaching,
    gdnPrefillBackend:
      KV_ENGINE_CHOICES.gdnPrefillBackend.find((backend) => backend === server.gdnPrefillBackend) ??
      "auto",
    ...defined({ mambaSsmCacheDtype: stateDtype, prefixMatchUnit: unit > 0 ? unit : undefined }),
    tensorParallelSize: server.tensorParallelSize,
  };
}

/** Value of a flag in `extraArgs`, in either spelling. */
function extra({ extraArgs }: InferenceServerSettings, flag: string): string | undefined {
  const at = extraArgs.indexOf(flag);
  if (at >= 0) return extraArgs[at + 1];
  return extraArgs.find((argument) => argument.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

/** Flags of a server that its KV plan ignores. */
function ignoredFlags({ extraArgs }: InferenceServerSettings): string[] {
  const { options } = readServerArguments(extraArgs);
  return NOT_FOLLOWED.filter((flag) => options.has(flag.slice(2)));
}

const hasOwnDrafts = ({ speculative }: InferenceServerSettings): boolean =>
  speculative?.method.includes("mtp") ?? true;

/** Whether a server's KV plan follows all of its flags and the kind of its drafts. */
export const isFollowed = (server: InferenceServerSettings): boolean =>
  ignoredFlags(server).length === 0 && hasOwnDrafts(server);

function notFollowed(server: InferenceServerSettings): string[] {
  const notes = ignoredFlags(server).map((flag) => `The KV plan ignores ${flag}.`);
  if (!hasOwnDrafts(server))
    notes.push(
      `the draft module of ${server.speculative?.method} may take more or less. The KV plan counts it as the model's own (MTP).`,
    );
  return notes;
}

const none = (note: string): ServerKvResult => ({
  kv: null,
  notes: [`its KV cache isn't planned. ${note}`],
});
