import type { AgentSettings } from "../settings/clients";
import type { ClientTarget } from "./target";

const PROVIDER = "local-serving";

/** opencode's configuration, read from the file that OPENCODE_CONFIG names. */
export function opencodeConfig(target: ClientTarget, settings: AgentSettings): string {
  const config = {
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    // Hides the models of its maker's own cloud.
    enabled_providers: [PROVIDER],
    model: `${PROVIDER}/${target.model}`,
    provider: {
      [PROVIDER]: {
        models: {
          [target.model]: {
            // It takes both figures or none; the output is also what it asks for.
            ...(target.window === undefined
              ? {}
              : { limit: { context: target.window, output: settings.maxOutputTokens } }),
            name: target.model,
          },
        },
        name: "Local model server",
        npm: "@ai-sdk/openai-compatible",
        options: { apiKey: `{env:${target.key.variable}}`, baseURL: `${target.origin}/v1` },
      },
    },
    share: "disabled",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
