import { APPLY, type Row } from "../diagnosis";
import { seen } from "../facts";
import { startSign } from "../sign";

const GATED = startSign(
  ["GatedRepoError", "gated repo", "is restricted"],
  /GatedRepoError|[Cc]annot access gated repo|Access to model (\S+) is restricted/,
);

export const modelFiles: readonly Row[] = [
  {
    id: "gated-model",
    when: GATED,
    say: ({ server }) => ({
      cause: "The model is gated and the server has no token that may read it.",
      edits: [server.set(["huggingFaceTokenVariable"], "HF_TOKEN")],
      advice: "Accept the model's terms on its page first. The stack file holds the variable's name, never the token.",
      command: `test -n "$HF_TOKEN" && ${APPLY}`,
    }),
  },
  {
    id: "model-not-in-cache",
    when: startSign(
      ["huggingface.co", "LocalEntryNotFoundError", "OfflineModeIsEnabled"],
      /couldn't connect to 'https:\/\/huggingface\.co'|LocalEntryNotFoundError|OfflineModeIsEnabled/,
    ),
    unless: ({ facts }) => seen(facts, GATED) !== undefined,
    say: ({ server }) => ({
      cause: "The model isn't in the cache, and the hub can't be reached to fetch it.",
      advice:
        "No setting to change, unless `modelCache` names another directory: fill the cache while there is a network.",
      command: `hf download ${server.settings?.model.id ?? "<model>"}`,
    }),
  },
  {
    id: "architecture-unsupported",
    when: startSign("are not supported for now", /Model architectures (\[[^\]]*\]) are not supported for now/),
    say: ({ hit, server }) => ({
      cause: `This vLLM has no class for the model's architecture, ${hit.groups[0]}.`,
      advice: `Pin a release that has it (the line lists what this one has), or serve another model than ${server.settings?.model.id ?? "this one"} (\`serving models\` lists those of this image).`,
      command: "serving pin vllm/vllm-openai:v0.30.0",
    }),
  },
  {
    id: "draft-unusable",
    when: startSign(
      ["Unsupported speculative method", "Invalid repository ID or local directory specified"],
      /Unsupported speculative method: '(\S+)'|Invalid repository ID or local directory specified: '(\S+)'/,
    ),
    unless: ({ hit, server }) => hit.groups[1] === server.settings?.model.id,
    say: ({ hit: { groups }, server }) => ({
      cause: groups[0]
        ? `This model has no drafts of the method ${groups[0]}.`
        : `There is no model ${groups[1]}, neither in the cache nor in a folder.`,
      edits: [server.set(["speculative"], undefined)],
      advice: "Speculative decoding only saves time: without it the server starts.",
    }),
  },
];
