import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { quoted } from "../../components/clients/texts";
import { BRIDGE, fileOf, planned } from "../fixtures/services";

const KEYED_BRIDGE = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
const text = (role: string, clients: Record<string, unknown>, machine: Record<string, unknown> = {}) =>
  fileOf(planned({ clients, ...machine }), role).text;

describe("Codex's profile", () => {
  const file = fileOf(planned(), "codex-config");
  const config = parseToml(file.text);

  it("is this text, beside the user's own file", async () => {
    expect(file.path).toBe("/home/me/.codex/local-serving.config.toml");
    await expect(file.text).toMatchFileSnapshot("../golden/codex-config.toml");
  });

  it("names the provider as the specification does", () => {
    expect(config).toMatchObject({
      model: "model",
      model_provider: "local-serving",
      model_context_window: 262144,
      model_providers: {
        "local-serving": {
          name: "Local model server",
          base_url: "http://127.0.0.1:8001/v1",
          env_key: "LOCAL_SERVING_API_KEY",
          wire_api: "responses",
        },
      },
    });
  });

  it("uses no name that the program keeps for itself", () => {
    expect(["openai", "ollama", "lmstudio", "amazon-bedrock"]).not.toContain(config.model_provider);
  });

  it("asks no other host and leaves no daemon with an old key behind", () => {
    expect(config).toMatchObject({
      web_search: "disabled",
      check_for_update_on_startup: false,
      analytics: { enabled: false },
      features: { plugins: false, goals: false, daemon_auto_start: false },
      agents: { enabled: false },
    });
  });

  it("says how it is started where its key is missing", () => {
    expect(file.text).toContain(
      'env_key_instructions = "Start Codex with /home/me/.local/bin/local-codex, which sets it."',
    );
  });

  it("goes through the bridge by one setting, with its key variable", () => {
    const bridged = parseToml(text("codex-config", { codex: { via: "bridge" } }, { bridge: KEYED_BRIDGE }));
    expect(bridged.model_providers).toMatchObject({
      "local-serving": { base_url: "http://127.0.0.1:8787/v1", env_key: "BRIDGE_KEY" },
    });
  });

  it("is put where CODEX_HOME and the profile are set to", () => {
    const machine = planned({ clients: { codex: { home: "/srv/codex", profile: "spark" } } });
    expect(fileOf(machine, "codex-config").path).toBe("/srv/codex/spark.config.toml");
    expect(fileOf(machine, "launcher-codex").text).toContain("exec codex --profile 'spark' \"$@\"");
  });

  it("carries any name through TOML unchanged", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[^\s/]{1,30}$/), (name) => {
        const read = parseToml(
          fileOf(planned({ clients: { codex: {} } }, { servedModelName: name }), "codex-config").text,
        );
        expect(read.model).toBe(name);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the variables of a chat-completions client", () => {
  it("are this text", async () => {
    await expect(text("client-env", { clientEnv: {} })).toMatchFileSnapshot("../golden/client.env");
  });

  it("are a base URL with /v1, a placeholder and the served name", () => {
    const lines = text("client-env", { clientEnv: {} }).split("\n");
    expect(lines).toContain("OPENAI_BASE_URL=http://127.0.0.1:8001/v1");
    expect(lines).toContain("OPENAI_API_KEY=local-serving-placeholder");
    expect(lines).toContain("OPENAI_MODEL=model");
  });

  it("hold no key where the key is a secret", () => {
    const file = text("client-env", { clientEnv: { via: "bridge" } }, { bridge: KEYED_BRIDGE });
    expect(file).not.toMatch(/^OPENAI_API_KEY=/m);
    expect(file).toContain("BRIDGE_KEY of your shell");
  });

  it("survive a shell whatever the model is called", () => {
    const folder = mkdtempSync(join(tmpdir(), "env-"));
    for (const name of ["plain-1.0", "it's", "$HOME", "`id`", "a;b", 'say"hi"', "back\\slash"]) {
      const file = join(folder, "client.env");
      writeFileSync(file, text("client-env", { clientEnv: { model: name } }));
      const run = spawnSync("dash", ["-c", `. ${file}; printf %s "$OPENAI_MODEL"`], { encoding: "utf8" });
      expect(run.stdout).toBe(name);
    }
    rmSync(folder, { recursive: true });
  });
});

describe("opencode's configuration", () => {
  const config = JSON.parse(text("opencode-config", { opencode: {} })) as Record<string, unknown>;

  it("is this text", async () => {
    await expect(text("opencode-config", { opencode: {} })).toMatchFileSnapshot("../golden/opencode.json");
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
});

describe("pi's models", () => {
  it("are this text, in a folder of their own", async () => {
    const file = fileOf(planned(), "pi-models");
    expect(file.path).toBe("/home/me/.local/share/local-serving/clients/pi/models.json");
    await expect(file.text).toMatchFileSnapshot("../golden/pi-models.json");
  });

  it("name one provider that speaks chat completions and nothing only a hosted server knows", () => {
    expect(JSON.parse(text("pi-models", { pi: {} }))).toMatchObject({
      providers: {
        "local-serving": {
          api: "openai-completions",
          baseUrl: "http://127.0.0.1:8001/v1",
          apiKey: "$LOCAL_SERVING_API_KEY",
          compat: { supportsDeveloperRole: false, maxTokensField: "max_tokens" },
          models: [{ id: "model", contextWindow: 262144, maxTokens: 8192 }],
        },
      },
    });
  });
});

describe("Qwen Code's settings", () => {
  it("are this text", async () => {
    await expect(text("qwen-code-settings", { qwenCode: {} })).toMatchFileSnapshot(
      "../golden/qwen-code-settings.json",
    );
  });

  it("leave room for the output behind the prompt, and hold no key", () => {
    const settings = text("qwen-code-settings", { qwenCode: { maxOutputTokens: 10000 } });
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
});

describe("a quoted word", () => {
  it("reaches a program as it is", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[^\0]{0,20}$/), { minLength: 1, maxLength: 5 }), (words) => {
        const script = `printf '%s\\0' ${words.map(quoted).join(" ")}`;
        const run = spawnSync("dash", ["-c", script], { encoding: "utf8" });
        expect(run.stdout.split("\0").slice(0, -1)).toEqual(words);
      }),
      { numRuns: 60 },
    );
  });
});
