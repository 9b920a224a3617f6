import { APPLY, type Row } from "../diagnosis";
import { seen } from "../facts";
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

export const modelFiles: readonly Row[] = [
  {
    id: "gated-model",
    source: "huggingface_hub: GatedRepoError",
    caughtBy: false,
    when: GATED,
    say: ({ server }) => ({
      cause: "The model is gated and the server has no token that may read it.",
      edits: [server.set(["huggingFaceTokenVariable"], "HF_TOKEN")],
      advice:
        "Accept the model's terms on its page first. The stack file holds the variable's name, never the token.",
      command: `test -n "$HF_TOKEN" && ${APPLY}`,
    }),
  },
  {
    id: "model-not-in-cache",
    source: "huggingface_hub: LocalEntryNotFoundError",
    caughtBy: false,
    when: HUB_UNREACHABLE,
    say: ({ facts, server }) =>
      seen(facts, GATED)
        ? undefined
        : {
            cause: "The model isn't in the cache, and the hub can't be reached to fetch it.",
            advice:
              "Nothing in the stack file, unless `modelCache` names another directory: fill the cache while there is a network.",
            command: `hf download ${server.settings?.model.id ?? "<model>"}`,
          },
  },
  {
    id: "transformers-too-old",
    source: "specification, Versioning 2: floors of vLLM and transformers",
    caughtBy: "the policies `inference-image` and `transformers-range`, where the versions are recorded",
    when: TRANSFORMERS_OLD,
    cause: "The transformers inside the image is older than the model.",
    advice:
      "Pin an image above the floors and put the printed lines into the stack file. Never upgrade inside a running environment.",
    command: "serving pin vllm/vllm-openai:v0.30.0",
  },
];
