import {
  ANSWER_TIMEOUT_MS,
  chatAgent,
  clientKind,
  exported,
  jsonFile,
  PROVIDER,
  pathWord,
} from "./kind";

export const opencode = clientKind({
  key: "opencode",
  name: "opencode",
  ...chatAgent("opencode"),
  launcher: "local-opencode",
  program: { name: "opencode", npm: "opencode-ai" },
  role: "opencode-config",
  file({ target: { model, window, key, baseUrl, startMs }, settings, folder }) {
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
            options: { apiKey: `{env:${key.variable}}`, baseURL: baseUrl, ...patience(startMs) },
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

/**
 * Limits of its own that hold a start, in ms: for the headers, and for an answer as a whole. Both
 * are 5 minutes by default, and retries then begin anew (its pull request 46903, 2026-09).
 */
function patience(startMs: number): Readonly<Record<string, number>> {
  if (startMs === 0) return {};
  const most = startMs + ANSWER_TIMEOUT_MS;
  return { headerTimeout: most, timeout: most };
}
