import { refusalText } from "../api";
import { apiAt, asked, byAnalytics, textAt } from "../harnessAnalytics";
import type { HarnessTarget } from "../harnessTargets";
import { objectOr, parseJson, textOr } from "../json";
import { fail, type Probe, pass, skip } from "../probe";
import { quote } from "../quote";

/**
 * The vectors of sessions come from the embedding model. A list of models proves nothing: one that only chats stands in it
 * too. So a word is embedded, as the harness itself does before a pass.
 */
export const harnessEmbedding: Probe<HarnessTarget> = {
  name: "harness-embedding",
  about: "the session-analytics file's embedding model turns a word into a vector",
  fix: ({ machine: { name } }) =>
    `\`machines.${name}.harness.embeddingModel\` names it, \`machines.${name}.simpleServer\` says where Ollama is.`,
  run: (target) =>
    byAnalytics(target, async (values) => {
      const { name } = target.machine;
      const setting = `\`machines.${name}.harness.embeddingModel\``;
      const [backend, model] = [textAt(values, "embedding.backend"), textAt(values, "embedding.model")];
      if (backend !== "ollama")
        return skip(`its backend \`${quote(backend)}\` is none that can be asked here`);
      if (model === "") return skip(`no model is named (${setting}), so the harness embeds nothing`);
      const api = apiAt(textAt(values, "embedding.ollama_url"), target.timeoutSeconds);
      return asked(async () => {
        const answer = await api.post("/api/embed", { model, input: "probe" });
        if (answer.status === 404) {
          return fail(
            `${api.baseUrl} answered 404: ${refusalText(answer)}`,
            `ollama pull ${model}, or list it in \`machines.${name}.simpleServer.models\` with \`pull: true\`.`,
          );
        }
        if (answer.status !== 200) {
          return fail(
            `/api/embed of ${model} answered ${answer.status}: ${refusalText(answer)}`,
            `${setting} must name an embedding model, such as nomic-embed-text.`,
          );
        }
        const body = objectOr(parseJson(answer.text));
        const [vector]: unknown[] = Array.isArray(body.embeddings) ? body.embeddings : [];
        const length =
          Array.isArray(vector) && vector.every((each) => typeof each === "number") ? vector.length : 0;
        const signed = textOr(body.model);
        // The harness keeps no vector that comes without its model's name.
        return length > 0 && signed !== ""
          ? pass(`${quote(signed)}: ${length} dimensions`)
          : fail(
              `${api.baseUrl} answered 200 without a vector and its model's name: \`${quote(answer.text)}\``,
              harnessEmbedding.fix(target),
            );
      }, harnessEmbedding.fix(target));
    }),
};
