import { describe, expect, it } from "vitest";
import { fileOf, planned } from "../fixtures/services";
import { clientText, launcherLines } from "./client";

const CLIENTS = "/home/me/.local/share/local-serving/clients";
const BASE = { baseURL: "http://127.0.0.1:8001/v1", key: "LOCAL_SERVING_API_KEY" };

describe("a coding agent's configuration", () => {
  it.each([
    ["opencode-config", "opencode.json", "opencode.json"],
    ["pi-models", "pi/models.json", "pi-models.json"],
    ["qwen-code-settings", "qwen-code.settings.json", "qwen-code-settings.json"],
    ["client-env", "client.env", "client.env"],
  ])("%s is this text, in a place of its own", async (role, path, golden) => {
    const file = fileOf(planned(), role);
    expect(file.path).toBe(`${CLIENTS}/${path}`);
    await expect(file.text).toMatchFileSnapshot(`../golden/${golden}`);
  });

  it("of opencode has one provider with both limits, and the key by the name of its variable", () => {
    expect(JSON.parse(clientText("opencode-config", { opencode: {} }))).toMatchObject({
      model: "local-serving/model",
      enabled_providers: ["local-serving"],
      autoupdate: false,
      share: "disabled",
      provider: {
        "local-serving": {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: BASE.baseURL, apiKey: `{env:${BASE.key}}` },
          models: { model: { limit: { context: 262144, output: 8192 } } },
        },
      },
    });
  });

  it("of pi names one provider that speaks chat completions and nothing only a hosted server knows", () => {
    expect(JSON.parse(clientText("pi-models", { pi: {} }))).toMatchObject({
      providers: {
        "local-serving": {
          api: "openai-completions",
          baseUrl: BASE.baseURL,
          apiKey: `$${BASE.key}`,
          compat: { supportsDeveloperRole: false, maxTokensField: "max_tokens" },
          models: [{ id: "model", contextWindow: 262144, maxTokens: 8192 }],
        },
      },
    });
  });

  it("of Qwen Code leaves room for the output behind the prompt, and holds no key", () => {
    const settings = clientText("qwen-code-settings", { qwenCode: { maxOutputTokens: 10000 } });
    const generationConfig = { contextWindowSize: 252144, samplingParams: { max_tokens: 10000 } };
    expect(JSON.parse(settings)).toMatchObject({
      modelProviders: {
        openai: [{ id: "model", baseUrl: BASE.baseURL, envKey: BASE.key, generationConfig }],
      },
      security: { auth: { selectedType: "openai" } },
      privacy: { usageStatisticsEnabled: false },
    });
    expect(settings).not.toContain("placeholder");
  });
});

it.each([
  [
    "opencode",
    "opencode",
    "opencode",
    "opencode-ai",
    [
      `OPENCODE_CONFIG='${CLIENTS}/opencode.json'`,
      "OPENCODE_DISABLE_MODELS_FETCH=1",
      "export OPENCODE_CONFIG OPENCODE_DISABLE_MODELS_FETCH",
      'exec opencode "$@"',
    ],
  ],
  [
    "pi",
    "pi",
    "pi",
    "@earendil-works/pi-coding-agent",
    [
      `PI_CODING_AGENT_DIR='${CLIENTS}/pi'`,
      "PI_OFFLINE=1",
      "export PI_CODING_AGENT_DIR PI_OFFLINE",
      `exec pi --model 'local-serving/model' "$@"`,
    ],
  ],
  [
    "qwenCode",
    "Qwen Code",
    "qwen",
    "@qwen-code/qwen-code",
    [
      `QWEN_CODE_SYSTEM_SETTINGS_PATH='${CLIENTS}/qwen-code.settings.json'`,
      "export QWEN_CODE_SYSTEM_SETTINGS_PATH",
      'exec qwen "$@"',
    ],
  ],
  [
    "crush",
    "Crush",
    "crush",
    "@charmland/crush",
    [
      `CRUSH_GLOBAL_CONFIG='${CLIENTS}/crush'`,
      `CRUSH_GLOBAL_DATA='${CLIENTS}/crush/data'`,
      "export CRUSH_GLOBAL_CONFIG CRUSH_GLOBAL_DATA",
      'exec crush "$@"',
    ],
  ],
])(
  "%s has a launcher that differs from Codex's in these lines",
  (key, title, program, npm, lines) => {
    const name = key === "qwenCode" ? "qwen-code" : key;
    expect(launcherLines(name, { [key]: {} })).toEqual([
      `# Starts ${title} with the model model, once its server answers.`,
      `command -v ${program} >/dev/null 2>&1 || stop 127 "$me: ${program} is not installed (npm install -g ${npm})."`,
      ...lines,
    ]);
  },
);
