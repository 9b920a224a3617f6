import type { MachineSettings } from "../settings/machine";
import { apiKeyVariable, reviewers } from "../settings/reviewers";

/** What an operator should know of the harness's files before they are written, each with its code. */
export function harnessWarnings(machine: MachineSettings): [code: string, message: string][] {
  const { harness, simpleServer } = machine;
  if (harness === undefined) return [];
  const warnings: [string, string][] = [];
  const key = apiKeyVariable(harness);
  const found = reviewers(machine, harness);
  if (key !== undefined && found.some(({ kind }) => kind === "inference-server")) {
    warnings.push([
      "harness-key",
      `The harness takes a server for gone while ${key} is empty. vLLM ignores its value: export any text where shells that are not interactive see it, for example the line \`${key}=local\` in /etc/environment, or set \`harness.apiKeyVariable: none\`.`,
    ]);
  }
  if (simpleServer.mode !== "host") {
    warnings.push([
      "harness-no-embedding",
      "The harness embeds sessions with Ollama on the host, and `simpleServer.mode` is not `host`: its file leaves the embedding to the harness's default, which nothing here serves.",
    ]);
  } else if (harness.embeddingModel === undefined) {
    warnings.push([
      "harness-no-embedding-model",
      "The harness embeds no session: Ollama has no embedding model of its own, and `harness.embeddingModel` names none. List it in `simpleServer.models` too, so that it is pulled.",
    ]);
  }
  if (simpleServer.mode === "host" && !found.some(({ kind }) => kind === "ollama")) {
    warnings.push([
      "harness-no-ollama-model",
      "Ollama is no reviewer of the harness: no model of it is known. List one in `simpleServer.models`, or set `harness.ollamaModel`.",
    ]);
  }
  return warnings;
}
