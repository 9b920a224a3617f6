import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claudeWindow } from "../../components/clients/claudeCode";
import { BRIDGE, fileOf, planned } from "../fixtures/services";
import { launcherLines } from "./client";

interface Settings {
  env: Record<string, string>;
  permissions: Record<string, string>;
}
const settingsOf = (
  claudeCode: Record<string, unknown> = {},
  machine: Record<string, unknown> = {},
) =>
  JSON.parse(
    fileOf(planned({ clients: { claudeCode }, ...machine }), "claude-code-settings").text,
  ) as Settings;

describe("Claude Code's settings", () => {
  it("are this text", async () => {
    await expect(fileOf(planned(), "claude-code-settings").text).toMatchFileSnapshot(
      "../golden/claude-code-settings.json",
    );
  });

  it.each([
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
  ])("pin %s to the served name", (variable) => {
    expect(settingsOf().env[variable]).toBe("model");
  });

  it("point at the bare origin of the bridge, without /v1", () => {
    expect(settingsOf().env.ANTHROPIC_BASE_URL).toBe("http://127.0.0.1:8787");
  });

  it("point at the server itself by one setting, and then put no system element inside", () => {
    const native = settingsOf({ via: "native" });
    expect(native.env.ANTHROPIC_BASE_URL).toBe("http://127.0.0.1:8001");
    const bridged = settingsOf();
    expect(bridged.env).not.toHaveProperty("CLAUDE_CODE_MODEL_CAPABILITIES");
    expect({ ...native.env, ANTHROPIC_BASE_URL: "" }).toEqual({
      ...bridged.env,
      ANTHROPIC_BASE_URL: "",
      CLAUDE_CODE_MODEL_CAPABILITIES: "-mid_conv_system",
    });
    const environment = { CLAUDE_CODE_MODEL_CAPABILITIES: "" };
    expect(settingsOf({ via: "native", environment }).env).toMatchObject(environment);
  });

  it("carry a placeholder token and 32000 output tokens", () => {
    expect(settingsOf().env).toMatchObject({
      ANTHROPIC_AUTH_TOKEN: "local-serving-placeholder",
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: "32000",
    });
  });

  it("carry no token where the bridge's key is a secret", () => {
    const bridge = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
    expect(settingsOf({}, { bridge }).env).not.toHaveProperty("ANTHROPIC_AUTH_TOKEN");
    expect(settingsOf({ via: "native" }, { bridge }).env.ANTHROPIC_AUTH_TOKEN).toBe(
      "local-serving-placeholder",
    );
  });

  it("switch off what asks other hosts or changes the prompt's beginning", () => {
    expect(settingsOf()).toMatchObject({
      env: {
        CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
        DISABLE_AUTOUPDATER: "1",
        API_TIMEOUT_MS: "1800000",
      },
      permissions: { disableAutoMode: "disable" },
    });
  });

  it("let the operator's variables win over ours", () => {
    const { env } = settingsOf({
      environment: { MAX_THINKING_TOKENS: "0", DISABLE_AUTOUPDATER: "0" },
    });
    expect(env).toMatchObject({ MAX_THINKING_TOKENS: "0", DISABLE_AUTOUPDATER: "0" });
  });

  it("say nothing of a window that nobody knows", () => {
    const { env } = settingsOf(
      { server: "instance-a", via: "native", model: "old" },
      { instanceA: { gpuMemoryUtilization: 0.4 } },
    );
    expect(env).not.toHaveProperty("CLAUDE_CODE_MAX_CONTEXT_TOKENS");
    expect(env).toMatchObject({
      ANTHROPIC_BASE_URL: "http://127.0.0.1:8000",
      ANTHROPIC_MODEL: "old",
    });
  });

  it("come with a launcher that differs from Codex's in these lines", () => {
    expect(launcherLines("claude-code", { claudeCode: { via: "native" } })).toEqual([
      "# Starts Claude Code with the model model, once its server answers.",
      'command -v claude >/dev/null 2>&1 || stop 127 "$me: claude is not installed (npm install -g @anthropic-ai/claude-code)."',
      "key=local-serving-placeholder key_name='its file'",
      "# Both keys would be sent, and this one belongs to somebody else's server.",
      "unset ANTHROPIC_API_KEY",
      `exec claude --settings '/home/me/.local/share/local-serving/clients/claude-code.settings.json' "$@"`,
    ]);
  });

  it("come with a launcher that checks the bridge too, in the same time", () => {
    const native = launcherLines("claude-code", { claudeCode: { via: "native" } });
    const bridged = launcherLines("claude-code", { claudeCode: {} });
    expect(bridged.filter((line) => !native.includes(line))).toEqual([
      `      curl -q --silent --max-time 1 --noproxy '*' --header @- --write-out '\\n%{http_code}' "$1"`,
      "    printf '%s' \"$2\" | timeout 1 python3 -c '",
      '    28 | 124) stop 69 "$me: $name took longer than 1 s to answer ($url)." "$@" ;;',
      "  none \\",
      "check 'the bridge' \\",
      "  'http://127.0.0.1:8787/v1/models' \\",
      "  '  docker ps --all --filter name=litellm-8787   is it running?' \\",
      "  '  docker logs --tail 20 litellm-8787   what does it say?'",
    ]);
  });
});

describe("the window that is claimed", () => {
  it("is the server's, less the output that compaction leaves no room for", () => {
    expect(claudeWindow(262144, 32000)).toBe(250144);
    expect(claudeWindow(65536, 8000)).toBe(65536);
  });

  it("lets the prompt and all of the output fit when it compacts", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 20 }),
        fc.integer({ min: 1, max: 2 ** 17 }),
        (window, output) => {
          // Measured: it compacts at the claimed window less min(output, 20000) and 3000 more.
          const compactsAt = claudeWindow(window, output) - Math.min(output, 20_000) - 3000;
          expect(compactsAt + output).toBeLessThanOrEqual(window);
        },
      ),
    );
  });
});
