import type { AgentSettings } from "../settings/clients";
import type { ClientTarget } from "./target";

/** Provider under which pi knows the model: `pi --model local-serving/NAME`. */
export const PI_PROVIDER = "local-serving";

/** pi's `models.json`, read from the folder that PI_CODING_AGENT_DIR names. */
export function piModels(target: ClientTarget, settings: AgentSettings): string {
  const models = {
    providers: {
      [PI_PROVIDER]: {
        api: "openai-completions",
        // `$NAME` is read from the environment.
        apiKey: `$${target.key.variable}`,
        baseUrl: `${target.origin}/v1`,
        // What only a hosted server knows.
        compat: {
          maxTokensField: "max_tokens",
          supportsDeveloperRole: false,
          supportsReasoningEffort: false,
          supportsStore: false,
        },
        models: [
          {
            ...(target.window === undefined ? {} : { contextWindow: target.window }),
            id: target.model,
            input: ["text"],
            maxTokens: settings.maxOutputTokens,
            name: target.model,
            reasoning: false,
          },
        ],
      },
    },
  };
  return `${JSON.stringify(models, null, 2)}\n`;
}
