import { APPLY, type Diagnosis } from "../diagnosis";
import { seen, serverOf } from "../evidence";
import { startSign } from "../sign";

const GATED = startSign(
  ["GatedRepoError", "gated repo", "is restricted"],
  /GatedRepoError|[Cc]annot access gated repo|Access to model (\S+) is restricted/,
);
const HUB_UNREACHABLE = startSign(
  ["huggingface.co", "LocalEntryNotFoundError", "OfflineModeIsEnabled"],
  /couldn't connect to 'https:\/\/huggingface\.co'|LocalEntryNotFoundError|OfflineModeIsEnabled/,
);
const TRANSFORMERS_OLD = startSign("Transformers does not recognize this architecture");
const gated: Diagnosis = {
  id: "gated-model",
  source: "huggingface_hub: GatedRepoError",
  caughtBy: false,
  signs: [GATED],
  judge(evidence) {
    const hit = seen(evidence, GATED);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause: "The model is gated and the server has no token that may read it.",
      evidence: hit.line,
      edits: [server.set(["huggingFaceTokenVariable"], "HF_TOKEN")],
      advice:
        "Accept the model's terms on its page first. The stack file holds the variable's name, never the token.",
      command: `test -n "$HF_TOKEN" && ${APPLY}`,
    };
  },
};

const hubUnreachable: Diagnosis = {
  id: "model-not-in-cache",
  source: "huggingface_hub: LocalEntryNotFoundError",
  caughtBy: false,
  signs: [HUB_UNREACHABLE, GATED],
  judge(evidence) {
    const hit = seen(evidence, HUB_UNREACHABLE);
    if (hit === undefined || seen(evidence, GATED) !== undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause: "The model isn't in the cache, and the hub can't be reached to fetch it.",
      evidence: hit.line,
      advice:
        "Nothing in the stack file, unless `modelCache` names another directory: fill the cache while there is a network.",
      command: `hf download ${server.settings?.model.id ?? "<model>"}`,
    };
  },
};

const transformersOld: Diagnosis = {
  id: "transformers-too-old",
  source: "specification, Versioning 2: floors of vLLM and transformers",
  caughtBy: "the policies `inference-image` and `transformers-range`, where the versions are recorded",
  signs: [TRANSFORMERS_OLD],
  judge(evidence) {
    const hit = seen(evidence, TRANSFORMERS_OLD);
    if (hit === undefined) return undefined;
    return {
      cause: "The transformers inside the image is older than the model.",
      evidence: hit.line,
      advice:
        "Pin an image above the floors and put what is printed into the stack file. Never upgrade inside a running environment.",
      command: "serving pin vllm/vllm-openai:v0.30.0",
    };
  },
};

export const modelFiles: readonly Diagnosis[] = [gated, hubUnreachable, transformersOld];
