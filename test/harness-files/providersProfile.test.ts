import { faultsIn } from "@local-serving/base/faults/fault";
import { holdsSecret, isSecretName } from "@local-serving/base/faults/secrets";
import { evaluatorFaults } from "@local-serving/harness/automation/namesElsewhere";
import { ConfigView } from "@local-serving/harness/automation/ruleContext";
import { checkProfile } from "@local-serving/harness/providers/check";
import { parseProfile } from "@local-serving/harness/providers/profile";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OLLAMA, planned } from "./planned";

const document = (text: string) => parseProfile("providers.toml", text);
const faults = (text: string) => checkProfile(document(text)).faults;
const read = (text: string) => {
  const { naive } = document(text);
  return (section: string, key: string) => naive.get(section, key)?.text;
};

describe("the providers profile", () => {
  it("is this text for a thinking model and Ollama, and passes its check without an issue", async () => {
    const file = planned({ embeddingModel: "nomic-embed-text" }, OLLAMA).providers();
    await expect(file.text).toMatchFileSnapshot("golden/thinking-and-ollama.toml");
    expect(faults(file.text)).toEqual([]);
    expect(file).toMatchObject({ path: "/home/me/.hx/providers.toml", mode: "0600" });
    expect(checkProfile(document(file.text)).profile).toEqual({
      providers: {
        "local-b": {
          type: "openai-compatible",
          base_url: "http://127.0.0.1:8001/v1",
          api_key_env: "HX_LOCAL_KEY",
          model: "model",
          max_tokens: 8192,
          disable_thinking: true,
          timeout_sec: 600,
          healthcheck:
            "curl -sf --max-time 10 --oauth2-bearer $HX_LOCAL_KEY http://127.0.0.1:8001/v1/models",
          version: "vllm 0.30.0",
          host: "localhost:11434",
          temperature: 0.1,
        },
        ollama: {
          type: "ollama",
          host: "127.0.0.1:11434",
          model: "qwen3:8b",
          timeout_sec: 600,
          healthcheck: "curl -sf --max-time 10 http://127.0.0.1:11434/api/version",
          max_tokens: 4096,
          temperature: 0.1,
        },
      },
      defaults: {
        peer_for: { claude: "local-b", codex: "local-b", pi: "local-b" },
        fallback_chain: { claude: ["ollama"], codex: ["ollama"], pi: ["ollama"] },
      },
      copyright: { company: "" },
    });
  });

  it("makes an evaluator of a provider that is given a conformance command, and of no other", () => {
    const command = "evaluate --request {review_request} --of 'a # b' 2>/dev/null";
    const { text } = planned({ conformanceCommands: { "local-b": command } }, OLLAMA).providers();
    expect(faults(text)).toEqual([]);
    expect(read(text)("providers.local-b", "conformance_command")).toBe(command);
    expect(read(text)("providers.ollama", "conformance_command")).toBeUndefined();
    const profile = document(text);
    const codes = ["local-b", "ollama"].map((evaluator) => {
      const config = new ConfigView({ verification: { conformance: { evaluator } } });
      return evaluatorFaults(config, profile, faultsIn(profile)).map(({ code }) => code);
    });
    expect(codes).toEqual([[], ["no_conformance_command"]]);
  });

  it("is this text without thinking, key and Ollama, for another harness", async () => {
    const settings = {
      home: "~/.code-copilot-team",
      analyticsHome: "~/.cct/",
      prefix: "CCT_",
      apiKeyVariable: "none",
      maxTokens: 2048,
      timeoutSeconds: 120,
      subjects: ["claude"],
      company: "O'Neil & Söhne",
    };
    const server = {
      model: { id: "org/model", family: "qwen3" },
      listen: "192.168.1.9",
      port: 8005,
    };
    const { providers, analytics } = planned(settings, {}, server);
    await expect(providers().text).toMatchFileSnapshot("golden/plain.toml");
    expect(faults(providers().text)).toEqual([]);
    expect(providers().path).toBe("/home/me/.code-copilot-team/providers.toml");
    expect(analytics().path).toBe("/home/me/.cct/session-analytics.json");
    const value = read(providers().text);
    expect(value("providers.local-b", "base_url")).toBe("http://192.168.1.9:8005/v1");
    expect(value("providers.local-b", "healthcheck")).toBe(
      "curl -sf --max-time 10 http://192.168.1.9:8005/v1/models",
    );
    expect(value("providers.local-b", "max_tokens")).toBe("2048");
    expect(value("providers.local-b", "timeout_sec")).toBe("120");
    expect(value("copyright", "company")).toBe("O'Neil & Söhne");
    for (const absent of ["api_key_env", "disable_thinking"]) {
      expect(value("providers.local-b", absent), absent).toBeUndefined();
    }
    expect(providers().text).not.toMatch(/fallback_chain|ollama/);
  });

  it.each([
    [{}, "HX_LOCAL_KEY"],
    [{ prefix: "CCT_" }, "CCT_LOCAL_KEY"],
    [{ apiKeyVariable: "MY_KEY" }, "MY_KEY"],
  ])("with %j names the key's variable %s, in the healthcheck too", (harness, name) => {
    const value = read(planned(harness).providers().text);
    expect(value("providers.local-b", "api_key_env")).toBe(name);
    expect(value("providers.local-b", "healthcheck")).toContain(`--oauth2-bearer $${name} `);
  });

  it.each([
    [true, {}, "true"],
    [true, { disableThinking: false }, undefined],
    [false, {}, undefined],
    [false, { disableThinking: true }, undefined],
  ])(
    "for a model with thinking: %s and %j has disable_thinking %s",
    (thinking, harness, expected) => {
      const { text } = planned(
        harness,
        {},
        { model: { id: "org/model", family: "qwen3", thinking } },
      ).providers();
      expect(read(text)("providers.local-b", "disable_thinking")).toBe(expected);
    },
  );

  it("tries servers by key, whatever their order in the file, then Ollama; base models never", () => {
    const server = (overlay: object) => ({
      ...{ model: { id: "org/m" }, image: "i", gpuMemoryUtilization: 0.1, maxModelLen: 9000 },
      ...overlay,
    });
    const inferenceServers = {
      z: server({ servedModelName: "z", port: 8003 }),
      base: server({ servedModelName: "base", port: 8004, model: { id: "org/m", kind: "base" } }),
      b: server({ servedModelName: "b", port: 8001 }),
    };
    const value = read(planned({}, { ...OLLAMA, inferenceServers }).providers().text);
    expect(value("defaults", "peer_for.claude")).toBe("local-b");
    expect(value("defaults", "fallback_chain.claude")).toBe('["local-z", "ollama"]');
    expect(value("providers.local-z", "base_url")).toBe("http://127.0.0.1:8003/v1");
    expect(value("providers.local-base", "type")).toBeUndefined();
    expect(value("providers.local-b", "version"), "no version is recorded").toBeUndefined();
  });

  it("takes pairings that are given, and fills in the rest", () => {
    const { text } = planned(
      {
        subjects: ["claude"],
        peerFor: { codex: "ollama" },
        fallbackChain: { claude: [], aider: ["ollama", "local-b"] },
      },
      OLLAMA,
    ).providers();
    const { defaults } = document(text).value as { defaults: unknown };
    expect(defaults).toEqual({
      peer_for: { aider: "local-b", claude: "local-b", codex: "ollama" },
      fallback_chain: { aider: ["ollama", "local-b"], codex: ["local-b"] },
    });
    expect(faults(text)).toEqual([]);
  });

  it("lets no subject review itself", () => {
    const { text } = planned({ subjects: ["local-b", "ollama"] }, OLLAMA).providers();
    const value = read(text);
    expect(value("defaults", "peer_for.local-b")).toBe("ollama");
    expect(value("defaults", "peer_for.ollama")).toBe("local-b");
    expect(value("defaults", "fallback_chain.local-b")).toBeUndefined();
    expect(faults(text)).toEqual([]);
  });

  it.each([
    [{}, "qwen3:8b"],
    [{ embeddingModel: "qwen3:8b" }, "nomic-embed-text"],
    [{ ollamaModel: "hf.co/org/m:Q4" }, "hf.co/org/m:Q4"],
  ])("with %j asks Ollama for %s", (harness, model) => {
    expect(read(planned(harness, OLLAMA).providers().text)("providers.ollama", "model")).toBe(
      model,
    );
  });

  it("names Ollama where it listens", () => {
    const simpleServer = { mode: "host", listen: "0.0.0.0", port: 11500, models: ["m"] };
    const value = read(planned({}, { simpleServer }).providers().text);
    expect(value("providers.ollama", "host")).toBe("127.0.0.1:11500");
    expect(value("providers.ollama", "healthcheck")).toMatch(
      / http:\/\/127\.0\.0\.1:11500\/api\/version$/,
    );
  });

  it("has no Ollama that only the chat UI's container reaches", () => {
    const simpleServer = { mode: "integrated", models: ["qwen3:8b"] };
    expect(planned({}, { simpleServer }).providers().text).not.toContain("ollama");
  });

  it("is read by the harness as TOML means it, whatever the settings", () => {
    // Everything that the settings and `harnessFaults` let through.
    const noSecret = (text: string) => !holdsSecret(text);
    const name = fc
      .stringMatching(/^[a-z][a-z0-9-]{0,12}$/)
      .filter((text) => noSecret(text) && !isSecretName(text));
    const served = fc.stringMatching(/^[!#-&(-[\]-~]+$/).filter(noSecret);
    const company = fc
      .string({ unit: "grapheme" })
      .filter((text) => /^[^"\\\p{Cc}]*$/u.test(text) && noSecret(text));
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 5 }),
        served,
        company,
        fc.boolean(),
        fc.boolean(),
        fc.integer({ min: 1, max: 100_000 }),
        (subjects, servedModelName, company, thinking, withOllama, maxTokens) => {
          const model = { id: "org/model", family: "qwen3", thinking };
          const { text } = planned({ subjects, company, maxTokens }, withOllama ? OLLAMA : {}, {
            servedModelName,
            model,
          }).providers();
          expect(faults(text)).toEqual([]);
          expect(read(text)("providers.local-b", "model")).toBe(servedModelName);
          expect(read(text)("copyright", "company")).toBe(company);
        },
      ),
      { numRuns: 200 },
    );
  });
});
