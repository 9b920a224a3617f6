import { describe, expect, it } from "vitest";
import { parseEngineConfig } from "../../components/settings/load";
import { faultPairs } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";

function load(
  harness: unknown,
  server: Record<string, unknown> = {},
  machine: Record<string, unknown> = {},
) {
  const dgx = {
    totalGiB: 121.63,
    instanceA: "none",
    inferenceServers: { b: serverInput(server) },
    simpleServer: { mode: "host", models: ["qwen3:8b"] },
    ...machine,
    ...(harness === undefined ? {} : { harness }),
  };
  return parseEngineConfig({ "local-serving:machines": JSON.stringify({ dgx }) }).machines.dgx
    ?.harness;
}
const faultsOf = (...args: Parameters<typeof load>) => faultPairs(() => load(...args));
const AT = "machines.dgx.harness";

describe("the harness's settings", () => {
  it("are absent unless they are given", () => {
    expect(load(undefined)).toBeUndefined();
  });

  it("have the specification's stand-ins as defaults", () => {
    expect(load({})).toEqual({
      home: "~/.hx",
      prefix: "HX_",
      maxTokens: 8192,
      timeoutSeconds: 600,
      disableThinking: true,
      subjects: ["claude", "codex", "pi"],
      peerFor: {},
      fallbackChain: {},
      conformanceCommands: {},
      company: "",
    });
  });

  it.each([
    ["home", "hx"],
    ["home", "~"],
    ["analyticsHome", "../cct"],
    ["prefix", "2HX"],
    ["prefix", "HX-"],
    ["apiKeyVariable", "sk-abc"],
    ["apiKeyVariable", "my_key"],
    ["maxTokens", 0],
    ["timeoutSeconds", 1.5],
    ["company", 'The "best"'],
    ["company", "a\nb"],
    ["company", "a\\b"],
    ["ollamaModel", "a b"],
    ["embeddingModel", ""],
  ])("refuse %s: %j", (key, value) => {
    expect(faultsOf({ [key]: value }).map(([path]) => path)).toEqual([`${AT}.${key}`]);
  });

  it("refuse subjects and chains that the harness's reader would not find, or try once only", () => {
    expect(faultsOf({ subjects: ["a.b"] })[0]?.[0]).toBe(`${AT}.subjects.0`);
    expect(faultsOf({ peerFor: { "a b": "ollama" } })[0]?.[0]).toContain(`${AT}.peerFor`);
    expect(faultsOf({ fallbackChain: { codex: ["ollama", "ollama"] } })).toEqual([
      [`${AT}.fallbackChain.codex`, expect.stringContaining("A provider is listed twice")],
    ]);
  });

  it("name providers of this machine: all that are wrong at once, with the nearest", () => {
    expect(
      faultsOf({
        peerFor: { codex: "olama" },
        fallbackChain: { codex: ["local-b", "gpt"] },
        judge: "local-c",
      }),
    ).toEqual([
      [
        `${AT}.peerFor.codex`,
        "There is no provider `olama` on this machine. Did you mean `ollama`?",
      ],
      [
        `${AT}.fallbackChain.codex.1`,
        "There is no provider `gpt` on this machine. Providers are local-b, ollama.",
      ],
      [`${AT}.judge`, "There is no provider `local-c` on this machine. Did you mean `local-b`?"],
    ]);
  });

  it("take an evaluator's command for a provider of this machine that gets the request, and holds no token", () => {
    const of = (conformanceCommands: Record<string, string>) => faultsOf({ conformanceCommands });
    const at = `${AT}.conformanceCommands`;
    expect(of({ "local-b": "evaluate --request {review_request}" })).toEqual([]);
    expect(of({ "local-b": "evaluate" })).toEqual([
      [`${at}.local-b`, expect.stringContaining("Expected {review_request} in the command")],
    ]);
    expect(of({ "local-b": 'evaluate "{review_request}"' })[0]?.[1]).toContain(
      "without double quotes",
    );
    expect(of({ "local-c": "evaluate {review_request}" })).toEqual([
      [`${at}.local-c`, "There is no provider `local-c` on this machine. Did you mean `local-b`?"],
    ]);
    const faults = of({
      ollama: "curl -H 'Authorization: Bearer abc123' -d @{review_request} http://h",
    });
    expect(faults).toEqual([
      [`${at}.ollama`, expect.stringContaining("This looks like a secret (not shown)")],
    ]);
    expect(JSON.stringify(faults)).not.toContain("abc123");
  });

  it("let no subject review itself", () => {
    expect(faultsOf({ peerFor: { ollama: "ollama" } })).toEqual([
      [`${AT}.peerFor.ollama`, "The subject would review itself."],
    ]);
  });

  it("need somebody who can review", () => {
    const base = { model: { id: "org/m", kind: "base" } };
    for (const simpleServer of [
      { mode: "none" },
      { mode: "integrated", models: ["m"] },
      { mode: "host" },
    ]) {
      const faults = faultsOf({}, base, { simpleServer }).filter(([path]) => path.startsWith(AT));
      expect(faults).toEqual([[AT, expect.stringContaining("Nothing here can review or judge")]]);
    }
    expect(faultsOf({}, base)).toEqual([]);
    expect(faultsOf(undefined, base, { simpleServer: { mode: "none" } })).toEqual([]);
  });

  it.each([8192, 4096])("leave room for a prompt: a context of %i is refused", (maxModelLen) => {
    expect(faultsOf({}, { maxModelLen })).toEqual([
      [
        `${AT}.maxTokens`,
        expect.stringContaining(`the context window of \`b\` is ${maxModelLen} tokens`),
      ],
    ]);
    expect(faultsOf({}, { maxModelLen: 8193 })).toEqual([]);
    expect(faultsOf(undefined, { maxModelLen })).toEqual([]);
  });

  it.each(['a"b', "a'b", "a\\b"])("refuse the served name %j, for the harness alone", (name) => {
    expect(faultsOf({}, { servedModelName: name })).toEqual([
      [
        "machines.dgx.inferenceServers.b.servedModelName",
        expect.stringContaining("it knows no escapes"),
      ],
    ]);
    expect(faultsOf(undefined, { servedModelName: name })).toEqual([]);
  });

  it("refuse a variable's name that looks like a key, and don't show it", () => {
    const key = "AKIA1234567890ABCDEF";
    const faults = faultsOf({ apiKeyVariable: key });
    expect(faults).toEqual([
      [`${AT}.apiKeyVariable`, expect.stringContaining("looks like a key itself")],
    ]);
    expect(JSON.stringify(faults)).not.toContain(key);
    expect(faultsOf({ prefix: "sk_" })[0]?.[0]).toBe(`${AT}.prefix`);
    expect(faultsOf({ prefix: "sk_", apiKeyVariable: "none" })).toEqual([]);
  });
});
