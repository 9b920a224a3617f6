import { renderDocument } from "../../harness/analytics/document";
import { analyticsSchema } from "../../harness/analytics/schema";
import { endpointOf } from "../planned/reach";
import type { HarnessSettings } from "../settings/harness";
import type { Provider, ServedHere } from "./providersProfile";

/** Backends as the harness names them: `openai` is any server with the API of that name. */
const BACKENDS = { "inference-server": "openai", ollama: "ollama" } as const;

/**
 * The harness's session-analytics file: judge and embedding on our servers, every other key left to its default. The
 * defaults give some coding tools a judge of their own, which would go before ours: each of them gets ours too.
 */
export function sessionAnalytics(
  harness: HarnessSettings,
  providers: readonly Provider[],
  { servers, simpleServer }: ServedHere,
): string {
  const judging = providers.find(({ name }) => name === harness.judge) ?? providers[0];
  const judge = judging && { backend: BACKENDS[judging.kind], model: judging.model };
  const tools = Object.keys(analyticsSchema.parse({}).judge.by_copilot).sort();
  const ollama_url = simpleServer.mode === "host" ? simpleServer.baseUrl : undefined;
  const embedder = servers.find(({ key }) => key === harness.embeddingServer);
  const embedding = embedder && {
    backend: BACKENDS["inference-server"],
    model: embedder.servedModelName,
    // The file has no other key for the address of what makes the embeddings.
    ollama_url: endpointOf(embedder.reach).url,
  };
  return renderDocument({
    _comment: [
      "Made by local-serving from `harness` in the stack file: change it there.",
      "A key that is not here has its default. The judge's key, where one is needed, comes from " +
        `${harness.prefix}SA_JUDGE_API_KEY and is never in this file.`,
    ],
    judge: judge && {
      default: judge,
      by_copilot: Object.fromEntries(tools.map((tool) => [tool, judge])),
      base_url: judging?.kind === "inference-server" ? judging.baseUrl : undefined,
      ollama_url,
    },
    embedding: embedding ?? (ollama_url && { backend: "ollama", model: harness.embeddingModel, ollama_url }),
  });
}
