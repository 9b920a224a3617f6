import { describe, expect, it } from "vitest";
import { fileOf, planned } from "../fixtures/services";
import { clientText, launcherLines } from "./client";

describe("pi's models", () => {
  it("are this text, in a folder of their own", async () => {
    const file = fileOf(planned(), "pi-models");
    expect(file.path).toBe("/home/me/.local/share/local-serving/clients/pi/models.json");
    await expect(file.text).toMatchFileSnapshot("../golden/pi-models.json");
  });

  it("name one provider that speaks chat completions and nothing only a hosted server knows", () => {
    expect(JSON.parse(clientText("pi-models", { pi: {} }))).toMatchObject({
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

  it("come with a launcher that differs from Codex's in these lines", () => {
    expect(launcherLines("pi", { pi: {} })).toEqual([
      "# Starts pi with the model model, once its server answers.",
      'command -v pi >/dev/null 2>&1 || stop 127 "$me: pi is not installed (npm install -g @earendil-works/pi-coding-agent)."',
      "PI_CODING_AGENT_DIR='/home/me/.local/share/local-serving/clients/pi'",
      "PI_OFFLINE=1",
      "export PI_CODING_AGENT_DIR PI_OFFLINE",
      `exec pi --model 'local-serving/model' "$@"`,
    ]);
  });
});
