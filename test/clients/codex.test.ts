import fc from "fast-check";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { BRIDGE, fileOf, planned } from "../fixtures/services";
import { clientText } from "./client";

const KEYED_BRIDGE = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };

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
    const bridged = parseToml(
      clientText("codex-config", { codex: { via: "bridge" } }, { bridge: KEYED_BRIDGE }),
    );
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
      fc.property(fc.stringMatching(/^[^\s/-][^\s/]{0,29}$/), (name) => {
        const read = parseToml(
          fileOf(planned({ clients: { codex: {} } }, { servedModelName: name }), "codex-config")
            .text,
        );
        expect(read.model).toBe(name);
      }),
      { numRuns: 50 },
    );
  });
});
