import { spawnSync } from "node:child_process";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { KEY_VARIABLE, plannedOnDemand } from "../fixtures/onDemand";
import { ALL_CLIENTS, BRIDGE, fileOf } from "../fixtures/services";

/** Every client, native or through the bridge, at a server that llama-swap starts. */
const all = (via: "native" | "bridge", more: Record<string, unknown> = {}) =>
  plannedOnDemand({
    clients: Object.fromEntries(Object.keys(ALL_CLIENTS).map((key) => [key, { server: "c", via }])),
    ...more,
  }).machine;

const native = all("native");
const bridged = all("bridge");
const json = (machine: typeof native, role: string) => JSON.parse(fileOf(machine, role).text);

describe("clients of a server that llama-swap starts", () => {
  it("go to llama-swap with its key, or to the bridge", () => {
    for (const { baseUrl, key } of native.clients) {
      expect(baseUrl).toMatch(/^http:\/\/172\.31\.241\.1:8010(\/v1)?$/);
      expect(key).toEqual({ variable: KEY_VARIABLE, setBy: null });
    }
    for (const { baseUrl } of bridged.clients)
      expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:8787(\/v1)?$/);
  });

  it("have no key in a file", () => {
    const texts = native.clients.flatMap(({ files }) => files.map(({ text }) => text)).join("\n");
    expect(texts).not.toContain("local-serving-placeholder");
  });

  it.each([
    ["native", native],
    ["bridge", bridged],
  ] as const)("wait for a start: %s", (_, machine) => {
    const claude = json(machine, "claude-code-settings");
    expect(claude.env.API_TIMEOUT_MS).toBe("5400000");
    expect(claude.env.CLAUDE_CODE_MAX_RETRIES).toBe("2");
    const { options } = json(machine, "opencode-config").provider["local-serving"];
    expect([options.headerTimeout, options.timeout]).toEqual([7_200_000, 7_200_000]);
    const [qwen] = json(machine, "qwen-code-settings").modelProviders.openai;
    expect(qwen.generationConfig.timeout).toBe(7_200_000);
    expect(parseToml(fileOf(machine, "codex-config").text)).toMatchObject({
      model_providers: { "local-serving": { stream_idle_timeout_ms: 1_800_000 } },
    });
  });

  it("of a server that always runs have the limits that they had", () => {
    const other = plannedOnDemand({
      clients: {
        claudeCode: { server: "b" },
        opencode: { server: "b" },
        qwenCode: { server: "b" },
      },
    }).machine;
    const { env } = json(other, "claude-code-settings");
    expect(env.API_TIMEOUT_MS).toBe("1800000");
    expect(env).not.toHaveProperty("CLAUDE_CODE_MAX_RETRIES");
    const { options } = json(other, "opencode-config").provider["local-serving"];
    expect(Object.keys(options)).toEqual(["apiKey", "baseURL"]);
    const [qwen] = json(other, "qwen-code-settings").modelProviders.openai;
    expect(qwen.generationConfig).not.toHaveProperty("timeout");
  });
});

describe("their launchers", () => {
  const launcher = (machine: typeof native, client = "codex") =>
    fileOf(machine, `launcher-${client}`).text;
  /** The lines from the first check on, less those that set the environment. */
  const checks = (text: string) => text.slice(text.indexOf("\ncheck '")).split("\n\n", 1);

  it("ask llama-swap which models it has, and start none", () => {
    expect(checks(launcher(native))).toEqual([
      `
check 'llama-swap' \\
  'http://172.31.241.1:8010/v1/models' \\
  'coder' \\
  "$key" \\
  '  systemctl --user status '\\''local-serving-*-on-demand'\\''   does it run, on its machine?' \\
  '  journalctl --user --unit '\\''local-serving-*-on-demand'\\'' --lines 20   what does it say?'
echo "$me: $model is started on request: if it isn't running, the first answer takes minutes." >&2`,
    ]);
    expect(launcher(native)).toContain("Set it to llama-swap's key, then start again.");
  });

  it("ask the bridge alone, and don't try the model", () => {
    const keyed = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "LOCAL_SERVING_BRIDGE_KEY" };
    for (const machine of [bridged, all("bridge", { bridge: keyed })]) {
      const text = launcher(machine);
      expect(text.match(/^check '.*'/gm)).toEqual(["check 'the bridge'"]);
      expect(text).not.toContain("/health");
      expect(text).not.toContain("docker logs --tail 20 vllm-");
    }
  });

  it.each(native.clients.map(({ client }) => client))("are sh: %s", (client) => {
    for (const machine of [native, bridged])
      expect(spawnSync("sh", ["-n"], { input: launcher(machine, client) }).status).toBe(0);
  });
});
