import { chatAgent, clientKind, exported, jsonFile, PROVIDER, pathWord } from "./kind";

/**
 * Above this window Crush keeps a fixed reserve free before it summarizes. Up to it, it keeps a
 * fifth free (its source, 0.90.0).
 */
const LARGE_WINDOW = 200_000;
const RESERVE_TOKENS = 20_000;
const KEPT_FREE = 0.2;

/**
 * Crush reads `crush.json` of the folder that CRUSH_GLOBAL_CONFIG names; a project's own file is
 * laid over it.
 */
export const crush = clientKind({
  key: "crush",
  name: "crush",
  ...chatAgent("Crush"),
  launcher: "local-crush",
  program: { name: "crush", npm: "@charmland/crush" },
  role: "crush-config",
  file({ target: { model, window, key, baseUrl }, settings, folder }) {
    const own = `${folder}/crush`;
    const choice = { model, provider: PROVIDER };
    return {
      path: `${own}/crush.json`,
      text: jsonFile({
        $schema: "https://charm.land/crush.json",
        // The small model writes titles during the first turn.
        models: { large: choice, small: choice },
        options: {
          // Hides the models of hosted providers, whose list it would fetch.
          disable_default_providers: true,
          disable_metrics: true,
          disable_provider_auto_update: true,
        },
        providers: {
          [PROVIDER]: {
            // `$NAME` is read from the environment.
            api_key: `$${key.variable}`,
            base_url: baseUrl,
            discover_models: false,
            models: [
              {
                context_window: window && crushWindow(window, settings.maxOutputTokens),
                default_max_tokens: settings.maxOutputTokens,
                id: model,
                name: model,
              },
            ],
            name: "Local model server",
            type: "openai-compat",
          },
        },
      }),
      // Models that were chosen elsewhere are in the data folder, and would win over the file.
      environment: exported({
        CRUSH_GLOBAL_CONFIG: pathWord(own),
        CRUSH_GLOBAL_DATA: pathWord(`${own}/data`),
      }),
    };
  },
});

/** The window to claim, in tokens: when Crush summarizes, all of its output must still fit. */
export function crushWindow(window: number, maxOutputTokens: number): number {
  const large = window - Math.max(0, maxOutputTokens - RESERVE_TOKENS);
  if (large > LARGE_WINDOW) return large;
  return Math.min(LARGE_WINDOW, window, Math.floor((window - maxOutputTokens) / (1 - KEPT_FREE)));
}
