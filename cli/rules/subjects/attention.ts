import type { LogReading } from "../../sees/log/scanLog";
import { type Picture, serverOf } from "../picture";
import { type Explanation, ofSomeLog, type WeighingRule } from "../rule";
import { endOf, sightingOf } from "./engineSaid";
import { currentRelease, pinNewer } from "./version";

/** vLLM v1/attention/selector.py and platforms/cuda.py. */
const NONE_VALID =
  /No valid attention backend found for \w+ with \w+\((?<asked>.*?)\)(?:\. Reasons: \{(?<reasons>.*))?|Selected backend (?:\w+\.)?(?<chosen>\w+) is not valid for this configuration\.? Reasons?: (?<why>\[.*)/;

/** A backend, and why it doesn't do. */
const REASONS = /(\w+): \[([^\]]*)\]/g;

interface Refused {
  readonly chosen?: string | undefined;
  /** What was asked of a backend: `use_mla=True`. */
  readonly asked: string;
  /** Why each backend was refused. */
  readonly reasons: readonly string[];
}

function refusedIn(said: string): Refused | undefined {
  const { asked = "", reasons, chosen, why } = NONE_VALID.exec(said)?.groups ?? {};
  if (asked === "" && chosen === undefined) return undefined;
  const each = [...(reasons ?? "").matchAll(REASONS)].map(([, , text = ""]) => text);
  return { chosen, asked, reasons: why === undefined ? each : [why] };
}

/** Why no kernel does, each with what to change; the first that fits all backends, or nearly all. */
const WAYS: readonly {
  readonly is: RegExp;
  readonly what: string;
  readonly setting?: string;
  readonly advice: string;
}[] = [
  {
    is: /kv_cache_dtype/,
    what: "none takes a KV cache of that type",
    setting: "kvCacheDtype",
    advice: "Without `kvCacheDtype` (`--kv-cache-dtype`) the cache has the model's own type.",
  },
  {
    is: /block_size/,
    what: "none takes blocks of that size",
    advice: "Leave `--block-size` out of `extraArgs`: vLLM then takes one that a backend has.",
  },
  {
    is: /not available|not installed|ImportError|not found/,
    what: "what they need isn't installed",
    advice:
      "In an environment of your own put nvcc of CUDA 13 on PATH and install FlashInfer (vLLM leaves its backend out where it finds no nvcc). Or use the container.",
  },
  {
    is: /compute capability/,
    what: "none has a kernel of that kind for this GPU",
    advice:
      "No setting mends that: take a release or an image that was built for the model on this GPU, or another model.",
  },
];

/** Whether a reason is that of every backend, or the only one of some. */
const isDecisive = ({ reasons }: Refused, is: RegExp): boolean =>
  reasons.length > 0 &&
  (reasons.every((each) => is.test(each)) ||
    reasons.some((each) => each.split(",").every((one) => is.test(one))));

function noneValid(picture: Picture, log: LogReading): Explanation | undefined {
  const raised = endOf(picture, log);
  const texts =
    raised === undefined ? [] : [raised.said, ...(raised.before ?? []), raised.first ?? ""];
  const refused = texts.map(refusedIn).find((each) => each !== undefined);
  if (raised === undefined || refused === undefined) return undefined;
  const { key, set } = serverOf(picture, log);
  const way = WAYS.find(({ is }) => isDecisive(refused, is));
  const isSparse = /use_sparse=True/.test(refused.asked);
  const isMla = /use_mla=True/.test(refused.asked);
  const kind = `${isSparse ? "sparse " : ""}${isMla ? "MLA " : ""}attention`;
  const { chosen } = refused;
  const edits =
    chosen !== undefined
      ? [set(["attentionBackend"], undefined)]
      : way?.setting === undefined
        ? []
        : [set([way.setting], undefined)];
  return {
    cause: chosen
      ? `The attention backend ${chosen} doesn't run this model here: ${refused.reasons.join(", ").replace(/[[\]'}.]/g, "")}.`
      : `vLLM has no backend for this model's attention (${kind}) here${way === undefined ? "" : `: ${way.what}`}.`,
    evidence: raised.line,
    target: log.container,
    edits,
    advice: chosen
      ? `Without \`attentionBackend\` (\`--attention-backend\`, VLLM_ATTENTION_BACKEND) vLLM takes one that fits, if it has one.`
      : (way?.advice ??
        `The line says why each was refused: see which of them a setting of inferenceServers.${key} asks for, else take a newer release.`),
    ...(edits.length > 0 ? {} : { command: pinNewer(currentRelease(picture, log)) }),
    hit: sightingOf(raised, log),
    failsStart: true,
  };
}

export const attention: readonly WeighingRule[] = [
  { id: "no-attention-backend", explain: ofSomeLog(noneValid) },
];
