import { describe, expect, it } from "vitest";
import { clientText, launcherLines } from "./client";

describe("Qwen Code's settings", () => {
  it("are this text", async () => {
    await expect(clientText("qwen-code-settings", { qwenCode: {} })).toMatchFileSnapshot(
      "../golden/qwen-code-settings.json",
    );
  });

  it("leave room for the output behind the prompt, and hold no key", () => {
    const settings = clientText("qwen-code-settings", { qwenCode: { maxOutputTokens: 10000 } });
    expect(JSON.parse(settings)).toMatchObject({
      modelProviders: {
        openai: [
          {
            id: "model",
            baseUrl: "http://127.0.0.1:8001/v1",
            envKey: "LOCAL_SERVING_API_KEY",
            generationConfig: { contextWindowSize: 252144, samplingParams: { max_tokens: 10000 } },
          },
        ],
      },
      security: { auth: { selectedType: "openai" } },
      privacy: { usageStatisticsEnabled: false },
    });
    expect(settings).not.toContain("placeholder");
  });

  it("come with a launcher that differs from Codex's in these lines", () => {
    expect(launcherLines("qwen-code", { qwenCode: {} })).toEqual([
      "# Starts Qwen Code with the model model, once its server answers.",
      'command -v qwen >/dev/null 2>&1 || stop 127 "$me: qwen is not installed (npm install -g @qwen-code/qwen-code)."',
      "QWEN_CODE_SYSTEM_SETTINGS_PATH='/home/me/.local/share/local-serving/clients/qwen-code.settings.json'",
      "export QWEN_CODE_SYSTEM_SETTINGS_PATH",
      'exec qwen "$@"',
    ]);
  });
});
