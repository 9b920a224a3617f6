import { chatAgent, clientKind, exported, jsonFile, PROVIDER, pathWord } from "./kind";

export const opencode = clientKind({
  key: "opencode",
  name: "opencode",
  ...chatAgent("opencode"),
  launcher: "local-opencode",
  program: { name: "opencode", npm: "opencode-ai" },
  role: "opencode-config",
  file({ target: { model, window, key, baseUrl }, settings, folder }) {
    const path = `${folder}/opencode.json`;
    // It takes both figures or none; the output is also what it asks for.
    const limit =
      window === undefined ? undefined : { context: window, output: settings.maxOutputTokens };
    return {
      path,
      text: jsonFile({
        $schema: "https://opencode.ai/config.json",
        autoupdate: false,
        // Hides the models of its maker's own cloud.
        enabled_providers: [PROVIDER],
        model: `${PROVIDER}/${model}`,
        provider: {
          [PROVIDER]: {
            models: { [model]: { limit, name: model } },
            name: "Local model server",
            npm: "@ai-sdk/openai-compatible",
            options: { apiKey: `{env:${key.variable}}`, baseURL: baseUrl },
          },
        },
        share: "disabled",
      }),
      environment: exported({
        OPENCODE_CONFIG: pathWord(path),
        OPENCODE_DISABLE_MODELS_FETCH: "1",
      }),
    };
  },
});
