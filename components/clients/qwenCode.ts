import type { AgentSettings } from "../settings/clients";
import type { ClientTarget } from "./target";

/** Qwen Code's settings, laid over the user's own by QWEN_CODE_SYSTEM_SETTINGS_PATH. */
export function qwenCodeSettings(target: ClientTarget, settings: AgentSettings): string {
  const generationConfig = {
    // Prompt alone: the output that it asks for must still fit behind it.
    ...(target.window === undefined ? {} : { contextWindowSize: target.window - settings.maxOutputTokens }),
    samplingParams: { max_tokens: settings.maxOutputTokens },
  };
  const file = {
    general: { enableAutoUpdate: false },
    model: { name: target.model },
    modelProviders: {
      openai: [
        {
          baseUrl: `${target.origin}/v1`,
          envKey: target.key.variable,
          generationConfig,
          id: target.model,
          name: target.model,
        },
      ],
    },
    privacy: { usageStatisticsEnabled: false },
    security: { auth: { selectedType: "openai" } },
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}
