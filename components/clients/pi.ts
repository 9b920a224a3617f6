import { quoted } from "@local-serving/base/faults/shellWords";
import { chatAgent, clientKind, exported, jsonFile, PROVIDER, pathWord } from "./kind";

export const pi = clientKind({
  key: "pi",
  name: "pi",
  ...chatAgent("pi"),
  launcher: "local-pi",
  program: { name: "pi", npm: "@earendil-works/pi-coding-agent" },
  givesUp: {
    seconds: 300,
    remedy:
      "raise its HTTP idle timeout (`/settings`, or `httpIdleTimeoutMs` in its settings.json)",
  },
  role: "pi-models",
  file({ target: { model, window, key, baseUrl }, settings, folder }) {
    // The folder is pi's own: it keeps its sessions there.
    const own = `${folder}/pi`;
    return {
      path: `${own}/models.json`,
      text: jsonFile({
        providers: {
          [PROVIDER]: {
            api: "openai-completions",
            // `$NAME` is read from the environment.
            apiKey: `$${key.variable}`,
            baseUrl,
            // Only a hosted server knows these.
            compat: {
              maxTokensField: "max_tokens",
              supportsDeveloperRole: false,
              supportsReasoningEffort: false,
              supportsStore: false,
            },
            models: [
              {
                contextWindow: window,
                id: model,
                input: ["text"],
                maxTokens: settings.maxOutputTokens,
                name: model,
                reasoning: false,
              },
            ],
          },
        },
      }),
      environment: exported({ PI_CODING_AGENT_DIR: pathWord(own), PI_OFFLINE: "1" }),
      words: ["--model", quoted(`${PROVIDER}/${model}`)],
    };
  },
});
