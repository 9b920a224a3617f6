import { defined } from "../../faults/defined";
import { FaultyInput } from "../../faults/fault";
import { BYTES_PER_GIB } from "../../units/memory";
import { thousands } from "../../units/thousands";
import {
  KV_ENGINE_CHOICES,
  type KvEngineSettings,
  type KvPlan,
  kvPlan,
  modelShape,
  plannedKvDtype,
} from "../kv";
import { agentsAtOnce, prefills } from "../kv/admission";
import type { ModelEvidence, StartedShare } from "../planned/evidence";
import { isPooling } from "../planned/modelKind";
import type { DataOf } from "../planned/schema/dataOf";
import type { serverKvSchema } from "../planned/schema/kv";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { vllmOf } from "../supply/imageVersions";
import { type KvRoom, kvRoom, ownSpeeds, provenRoom, rankCount, weightsGB } from "./kvRoom";

/**
 * The KV plan of one server. Its figures assume the least room (`room.lowGiB`); `atBest` assumes
 * the most.
 */
export type ServerKv = DataOf<typeof serverKvSchema>;

/**
 * Flags without a setting of their own that change the KV cache, and that this plan does not
 * follow.
 */
export const NOT_FOLLOWED = [
  "--block-size",
  "--mamba-cache-mode",
  "--mamba-block-size",
  "--hf-overrides",
];

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
   * Another machine that shares the model and has less memory. vLLM gives all ranks as many blocks
   * as the smallest machine holds.
   */
  readonly least?: { readonly machine: string; readonly totalGiB: number } | undefined;
  /**
   * The longest answer, in tokens, that an agent of this server may ask for, if one has such a
   * limit.
   */
  readonly maxOutputTokens: number | undefined;
  /** Known models by the ids that are close to theirs, of which nothing is known. */
  readonly closeIds?: Readonly<Record<string, string>> | undefined;
}

/** Plans the KV cache of one server from its settings and what was read of its model. */
export function serverKv(
  server: InferenceServerSettings,
  context: KvContext,
  model?: ModelEvidence,
): ServerKvResult {
  if (model === undefined) {
    const folder = server.model.id.replaceAll("/", "--");
    const closeId = context.closeIds?.[server.model.id];
    const asked = closeId === undefined ? "" : `. Did you mean \`${closeId}\`? Otherwise`;
    return none(
      `No config.json of ${server.model.id} was found${asked || ":"} put it into models/${folder}/ (\`serving models add\`, or with \`--from-cache\` from the machine's model cache). A plan made on the machine itself reads that cache.`,
    );
  }
  if (model.problem !== undefined) return none(`${model.source}: ${model.problem}`);
  const room = kvRoom(server, context.least?.totalGiB ?? context.totalGiB, model);
  if (room === undefined)
    return none(
      "Neither a measurement nor the size of the weights is known: set `model.weightsGB`. It is known for models of the catalogue (`serving models`).",
    );
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
    const withRoom = (gib: number) => kvPlan(shape, engine, Math.floor(gib * BYTES_PER_GIB));
    const windowGiB = (start: StartedShare) => {
      const { maxModelLen } = start;
      const dtype = plannedKvDtype(start.kvCacheDtype);
      if (dtype === undefined) return undefined;
      const asStarted = { ...engine, kvCacheDtype: dtype, maxModelLen };
      const { bytesPerRequest, bytesPerBlock } = kvPlan(shape, asStarted, 0);
      return (bytesPerRequest + bytesPerBlock) / BYTES_PER_GIB;
    };
    const totalGiB = context.least?.totalGiB ?? context.totalGiB;
    const proven = provenRoom(room, server, { totalGiB, model }, windowGiB);
    const kv = planned(withRoom, proven ?? room, { server, context, model });
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

interface Known {
  readonly server: InferenceServerSettings;
  readonly context: KvContext;
  readonly model: ModelEvidence;
}

/** The KV plan of the least room, with what the server and its model say beside it. */
function planned(
  withRoom: (gib: number) => KvPlan,
  room: KvRoom,
  { server, context: { least, maxOutputTokens }, model }: Known,
): ServerKv {
  const worst = withRoom(room.lowGiB);
  const most = withRoom(room.highGiB);
  return {
    ...worst,
    room,
    atBest: { fits: most.fits, maxConcurrency: most.maxConcurrency },
    // A model that makes vectors or sorts has no agents.
    ...(isPooling(server.model.kind)
      ? { agents: [], agentReuse: null }
      : { agents: agentsAtOnce(worst, maxOutputTokens) }),
    weightsGB: weightsGB(server, model) ?? null,
    ranks: rankCount(server),
    ...defined({ least }),
    prefill: prefillOf(server, model, worst.maxModelLen),
  };
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

function notFollowed({ extraArgs, speculative }: InferenceServerSettings): string[] {
  const flags = extraArgs.filter((argument) =>
    NOT_FOLLOWED.includes(argument.split("=", 1)[0] ?? ""),
  );
  const notes = flags.map((flag) => `The KV plan ignores ${flag}.`);
  if (speculative !== undefined && !speculative.method.includes("mtp"))
    notes.push(
      `The KV plan counts the draft module of ${speculative.method} as the model's own (MTP); it may take more or less.`,
    );
  return notes;
}

const none = (note: string): ServerKvResult => ({ kv: null, notes: [`No KV plan. ${note}`] });
