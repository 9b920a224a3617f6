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
    source: "huggingface_hub: GatedRepoError",
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
    source: "huggingface_hub: LocalEntryNotFoundError",
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
    id: "transformers-too-old",
    source: "specification, Versioning 2: floors of vLLM and transformers",
    caughtBy: "the policies `inference-image` and `transformers-range`, where the versions are recorded",
    when: startSign("Transformers does not recognize this architecture"),
    cause: "The transformers inside the image is older than the model.",
    advice:
      "Pin an image above the floors and put the printed lines into the stack file. Never upgrade inside a running environment.",
    command: "serving pin vllm/vllm-openai:v0.30.0",
  },
  {
    id: "architecture-unsupported",
    source: "vLLM model_executor/models/registry.py",
    caughtBy: "the policy `inference-image`, where the versions are recorded",
    when: startSign("are not supported for now", /Model architectures (\[[^\]]*\]) are not supported for now/),
    say: ({ hit, server }) => ({
      cause: `This vLLM has no class for the model's architecture, ${hit.groups[0]}.`,
      advice: `Pin a release that has it (the line lists what this one has), or serve another model than ${server.settings?.model.id ?? "this one"} (\`serving models\` lists those of this image).`,
      command: "serving pin vllm/vllm-openai:v0.30.0",
    }),
  },
  {
    id: "model-files-damaged",
    source: "safetensors and vLLM model_executor/model_loader: a download that broke off leaves cut or missing files",
    when: startSign(
      [
        ...["Error while deserializing header", "FileNotFoundError: No such file", "missing: {'"],
        ...["Cannot find any model weights", "is not a valid JSON file", "Couldn't instantiate the backend tokenizer"],
      ],
      /SafetensorError: Error while deserializing header|FileNotFoundError: No such file or directory: \S+\.safetensors|Weight files referenced in index but missing|Cannot find any model weights|config file at '\S+' is not a valid JSON file|Couldn't instantiate the backend tokenizer/,
    ),
    say: ({ server }) => ({
      cause: "Files of the model are cut or missing, as a download that broke off leaves them.",
      advice:
        "No setting to change: fetch the model again. Without --force-download a cut file passes for a whole one. A file that the server may not read looks missing, too.",
      command: `hf download --force-download ${server.settings?.model.id ?? "<model>"}`,
    }),
  },
  {
    id: "draft-unusable",
    source: "vLLM config/speculative.py: the draft model, or the model's own drafts, must be there",
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
  {
    id: "permission-denied",
    source: "EACCES: files that a download by another user left, or a cache that only another user may write",
    when: startSign("Permission denied", /PermissionError: \[Errno 13\] Permission denied: '([^']+)'/),
    say: ({ hit }) => ({
      cause: `The server may not open ${hit.groups[0]}.`,
      advice:
        "No setting to change: give the files of the cache to the user that the container runs as (root, unless the image says otherwise).",
      command: "ls -ln ~/.cache/huggingface/hub",
    }),
  },
  {
    id: "chat-template-missing",
    source: "vLLM entrypoints/chat_utils.py, validate_chat_template",
    when: startSign(
      "The supplied chat template",
      /The supplied chat template (?:string )?\((\S+?)\) (?:appears|looks)/,
    ),
    say: ({ hit, server }) => ({
      cause: `There is no chat template ${hit.groups[0]} inside the container.`,
      edits: [server.set(["chatTemplate"], undefined)],
      advice:
        "Without the setting the model's own template is used. A file of the host is not seen inside: the setting takes the template's text, too.",
    }),
  },
];
