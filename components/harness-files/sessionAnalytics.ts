import { renderDocument } from "../../harness/analytics/document";
import { analyticsSchema } from "../../harness/analytics/schema";
import type { HarnessSettings } from "../settings/harness";
import type { SimpleServerPlan } from "../simple-server/plannedSimpleServer";
import type { Provider } from "./providersProfile";

/** The judge's backends, as the harness names them: `openai` is any server that speaks chat completions. */
const BACKENDS = { "inference-server": "openai", ollama: "ollama" } as const;

/**
 * The harness's session-analytics file: judge and embedding on our servers, every other key left to its default. The
 * defaults give some coding tools a judge of their own, which would go before ours: each of them gets ours too.
 */
export function sessionAnalytics(
  harness: HarnessSettings,
  providers: readonly Provider[],
  simpleServer: SimpleServerPlan,
): string {
  const judging = providers.find(({ name }) => name === harness.judge) ?? providers[0];
  const judge = judging && { backend: BACKENDS[judging.kind], model: judging.model };
  const tools = Object.keys(analyticsSchema.parse({}).judge.by_copilot).sort();
  const ollama_url = simpleServer.mode === "host" ? simpleServer.baseUrl : undefined;
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
    embedding: ollama_url && { backend: "ollama", model: harness.embeddingModel, ollama_url },
  });
}
