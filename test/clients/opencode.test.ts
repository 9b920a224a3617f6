import { describe, expect, it } from "vitest";
import { clientText, launcherLines } from "./client";

describe("opencode's configuration", () => {
  const config = JSON.parse(clientText("opencode-config", { opencode: {} })) as Record<string, unknown>;

  it("is this text", async () => {
    await expect(clientText("opencode-config", { opencode: {} })).toMatchFileSnapshot(
      "../golden/opencode.json",
    );
  });

  it("has one provider with both limits, and the key by the name of its variable", () => {
    expect(config).toMatchObject({
      model: "local-serving/model",
      enabled_providers: ["local-serving"],
      autoupdate: false,
      share: "disabled",
      provider: {
        "local-serving": {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: "http://127.0.0.1:8001/v1", apiKey: "{env:LOCAL_SERVING_API_KEY}" },
          models: { model: { limit: { context: 262144, output: 8192 } } },
        },
      },
    });
  });

  it("comes with a launcher that differs from Codex's in these lines", () => {
    expect(launcherLines("opencode", { opencode: {} })).toEqual([
      "# Starts opencode with the model model, once its server answers.",
      'command -v opencode >/dev/null 2>&1 || stop 127 "$me: opencode is not installed (npm install -g opencode-ai)."',
      "OPENCODE_CONFIG='/home/me/.local/share/local-serving/clients/opencode.json'",
      "OPENCODE_DISABLE_MODELS_FETCH=1",
      "export OPENCODE_CONFIG OPENCODE_DISABLE_MODELS_FETCH",
      'exec opencode "$@"',
    ]);
  });
});
