import { ANSWER_TIMEOUT_MS, chatAgent, clientKind, exported, jsonFile, pathWord } from "./kind";

/** Its file is laid over the user's own settings by QWEN_CODE_SYSTEM_SETTINGS_PATH. */
export const qwenCode = clientKind({
  key: "qwenCode",
  name: "qwen-code",
  ...chatAgent("Qwen Code"),
  launcher: "local-qwen",
  program: { name: "qwen", npm: "@qwen-code/qwen-code" },
  role: "qwen-code-settings",
  file({ target: { model, window, key, baseUrl, startMs }, settings, folder }) {
    const path = `${folder}/qwen-code.settings.json`;
    const generationConfig = {
      // This is the prompt alone: the output that it asks for must still fit behind it.
      contextWindowSize: window && window - settings.maxOutputTokens,
      samplingParams: { max_tokens: settings.maxOutputTokens },
      // It gives up after 2 minutes by default (0.24.4).
      ...(startMs === 0 ? {} : { timeout: startMs + ANSWER_TIMEOUT_MS }),
    };
    return {
      path,
      text: jsonFile({
        general: { enableAutoUpdate: false },
        model: { name: model },
        modelProviders: {
          openai: [{ baseUrl, envKey: key.variable, generationConfig, id: model, name: model }],
        },
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: "openai" } },
      }),
      environment: exported({ QWEN_CODE_SYSTEM_SETTINGS_PATH: pathWord(path) }),
    };
  },
});
