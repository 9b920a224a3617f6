import { defined } from "@local-serving/base/faults/defined";
import { type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import { ggufText, MLX_WEIGHTS, NO_PICTURES, NO_SPEECH } from "../../memory/model-name";

/** What tells what a repository of the hub holds. */
export interface Repository {
  readonly id: string;
  /** Paths of its files. */
  readonly files: readonly string[];
  /** What the hub takes it for, such as `text-generation`. */
  readonly task: string;
  /** Commit that was read. */
  readonly revision?: string;
  readonly config?: JsonObject;
  /** Its `adapter_config.json`, where it has one. */
  readonly adapter?: JsonObject;
}

/** What the hub says of a model that speaks or listens. */
const SPEECH_TASKS =
  /^(automatic-speech-recognition|text-to-speech|text-to-audio|audio-.*|voice-.*)$/;

/** The classes of models that turn speech into text, or text into speech. */
const SPEECH_CLASSES =
  /Whisper|Wav2Vec|SpeechSeq2Seq|SpeechEncoder|ForCTC|TextToWaveform|TextToSpectrogram|ParlerTTS|Parakeet/;

/** The same of those that make pictures. */
const PICTURE_TASKS = /^(text-to-image|image-to-image|text-to-video|image-to-video)$/;

/**
 * Says in one sentence why a repository's content isn't served here, and what to do instead;
 * `undefined` where it can be served.
 */
export function unserved({
  id,
  files,
  task,
  config,
  adapter,
  revision,
}: Repository): string | undefined {
  const has = (ending: string) => files.some((file) => file.toLowerCase().endsWith(ending));
  if (files.includes("model_index.json") || (PICTURE_TASKS.test(task) && config === undefined))
    return `${id} makes pictures (a diffusion pipeline). ${NO_PICTURES}`;
  if (adapter !== undefined || (files.includes("adapter_config.json") && config === undefined))
    return adapterText({ id, ...defined({ adapter, revision }) });
  if (has(".gguf") && !has(".safetensors")) return `${id} ${ggufText(id)}`;
  const classes = [config?.architectures].flat().map(String).join(" ");
  if (SPEECH_TASKS.test(task) || SPEECH_CLASSES.test(classes))
    return `${id} is a model for speech. ${NO_SPEECH}`;
  if (config === undefined)
    return `${id} has no config.json, so vLLM can't tell what it is: choose a repository of the same model in transformers format.`;
  if (isOfMlx(config)) return `${id} ${MLX_WEIGHTS}`;
  if (config.is_encoder_decoder === true)
    return `${id} has an encoder and a decoder, which vLLM no longer serves for text: choose a decoder-only model.`;
  return undefined;
}

/** MLX writes how its weights are quantized without any method's name. */
function isOfMlx({ quantization, quantization_config: written }: JsonObject): boolean {
  const { group_size: groups, bits } = objectOr(quantization);
  return (
    typeof groups === "number" &&
    typeof bits === "number" &&
    textOr(objectOr(written).quant_method) === ""
  );
}

function adapterText({
  id,
  adapter,
  revision = "COMMIT",
}: Pick<Repository, "id" | "adapter" | "revision">): string {
  const base = textOr(adapter?.base_model_name_or_path);
  const rank = typeof adapter?.r === "number" ? adapter.r : "RANK";
  const entry = `\`adapters: [{ name: ${nameOf(id)}, id: ${id}, revision: "${revision}", rank: ${rank} }]\``;
  return base === ""
    ? `${id} is a LoRA adapter that doesn't name its base model: find out which it is, serve it, and add ${entry} to its server.`
    : `${id} is a LoRA adapter of ${base}. If no server serves that model yet, run \`serving models use ${base} --write\`. Then add ${entry} to its server and run \`serving fetch\`. If the server has another copy of it, such as a quantized one, add \`trainedOn: ${base}\` to the entry.`;
}

/** A name by which clients may ask for an adapter: the last part of its id. */
const nameOf = (id: string): string =>
  (id.split("/").at(-1) ?? "").replace(/^[^A-Za-z0-9]+/, "").toLowerCase() || "adapter";
