import { readModelName } from "./modelName";

/** What vLLM is asked to load, as far as it matters for GGUF files. */
interface Loaded {
  /** A hub id, or a path. */
  readonly id: string;
  /** Whether it is given another repository's tokenizer. */
  readonly hasTokenizer: boolean;
  /** The vLLM that would need a package more for these files. */
  readonly withoutGguf?: string;
}

/** vLLM's own page: https://docs.vllm.ai/en/latest/features/quantization/gguf/ */
const PAGE = "docs.vllm.ai/en/latest/features/quantization/gguf";

const PLUG_IN = "the package vllm-gguf-plugin in its image";

const isPath = (id: string): boolean => /^[/~.]|\.gguf$/i.test(id);

/** The repository of an id without the file that is named behind it. */
const repositoryOf = (id: string): string => id.replace(/:.*$/, "");

/**
 * Says what vLLM lacks to load a model of GGUF files, by its name, and what to serve in its place;
 * `undefined` for any other model, and where nothing is missing.
 */
export function ggufLacks({ id, hasTokenizer, withoutGguf }: Loaded): string | undefined {
  if (!readModelName(id).gguf) return undefined;
  const namesFile = isPath(id) || id.includes(":");
  const lacks = [
    ...(namesFile ? [] : [`the file's type behind the id, such as \`${id}:Q4_K_M\``]),
    ...(hasTokenizer ? [] : ["`--tokenizer` with the repository that it was made from"]),
    ...(withoutGguf === undefined ? [] : [`with vLLM ${withoutGguf} ${PLUG_IN}`]),
  ];
  return lacks.length === 0
    ? undefined
    : `by its name ${id} is GGUF, of which vLLM loads one file; that takes ${lacks.join("; ")} (${PAGE}). ${instead(id)}`;
}

/** Says that a model consists of GGUF files, what vLLM wants of them, and what to serve instead. */
export function ggufText(id: string): string {
  const form = isPath(id) ? id : `${repositoryOf(id)}:QUANT_TYPE`;
  return `consists of GGUF files. vLLM loads one of them as \`${form}\` with \`--tokenizer\` of the repository that it was made from, and since 0.24 only with ${PLUG_IN} (${PAGE}). ${instead(id)}`;
}

const instead = (id: string): string =>
  isPath(id)
    ? "Serve a safetensors repository of the model, or the file with Ollama (`simpleServer`)."
    : !id.includes("/")
      ? `Its id lacks the organisation, too (ORG/${id}). Serve a safetensors repository of the model, or let Ollama serve the file (\`simpleServer\`).`
      : `Serve a safetensors repository of the model, or let Ollama serve this one: run \`ollama pull hf.co/${id}\`, and list \`hf.co/${id}\` in \`simpleServer.models\`.`;
