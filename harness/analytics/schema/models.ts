import { strictObject, z } from "zod";
import { block } from "../../schema/key";
import { count, text, url, word } from "./values";

const backend = () =>
  word(
    "ollama",
    "Program that judges: `ollama`, `openai` for any server that speaks chat completions (vLLM does), or a " +
      "coding tool by its id.",
    { examples: ["openai"] },
  );
const model = () =>
  text("Model that judges; empty takes the backend's own default.", { examples: ["qwen3-coder-next"] });

export const embeddingSchema = block("How session texts become vectors for the search of similar sessions.", {
  backend: word(
    "ollama",
    "Program that makes the embeddings: `ollama`, or `openai` for any server with /v1/embeddings (vLLM has it).",
    { variable: "SA_EMBED_BACKEND", examples: ["openai"] },
  ),
  input_cap_chars: count(1, 8000, "Longest text that is embedded; what is beyond it is cut off.", {
    unit: "characters",
  }),
  model: text("Embedding model; while it is empty nothing is embedded, since Ollama has none of its own.", {
    variable: "SA_EMBED_MODEL",
    examples: ["nomic-embed-text"],
  }),
  ollama_url: url(
    "http://localhost:11434",
    "Address of the server that makes the embeddings: Ollama's, or for `openai` one that ends in `/v1`.",
  ),
  workers: count(1, 1, "Embedding requests under way at once.", { variable: "SA_EMBED_WORKERS" }),
});

export const judgeSchema = block("Which model judges sessions, and where it runs.", {
  default: block(
    "The judge for sessions of every tool that has none of its own. Its two variables select the whole block: " +
      "a backend from a variable comes with the model from a variable, or with none.",
    {
      backend: backend().meta({ variable: "SA_JUDGE_BACKEND" }),
      model: model().meta({ variable: "SA_JUDGE_MODEL" }),
    },
  ),
  by_copilot: z
    .record(
      z.string(),
      strictObject({ backend: backend(), model: model() }).describe("The judge for sessions of this coding tool."),
    )
    .default({
      aider: { backend: "ollama", model: "" },
      "claude-code": { backend: "ollama", model: "" },
    })
    .describe("Judges by coding tool, under the tool's id.")
    .meta({ placeholder: "tool" }),
  workers: count(1, 2, "Sessions judged at once.", { variable: "SA_JUDGE_WORKERS" }),
  ollama_url: url("http://localhost:11434", "Address of the Ollama server that judges."),
  base_url: url("", "Base URL of the server that judges when the backend speaks chat completions.", {
    variable: "SA_JUDGE_BASE_URL",
    examples: ["http://127.0.0.1:8001/v1"],
  }),
  api_key: text("Key for the judge's server. It comes from its variable, never from the file.", {
    variable: "SA_JUDGE_API_KEY",
    secret: true,
  }),
});
