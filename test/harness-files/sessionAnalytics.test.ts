import { parseJson } from "@local-serving/base/faults/jsonDocument";
import {
  checkAnalyticsFile,
  configureAnalytics,
} from "@local-serving/harness/analytics/configuration";
import { describe, expect, it } from "vitest";
import { OLLAMA, planned } from "./planned";

const document = (text: string) => parseJson("session-analytics.json", text);
/** What the harness works with when nothing but the file speaks. */
const effective = (text: string) => {
  const { values, faults } = configureAnalytics({
    prefix: "HX_",
    document: document(text),
    dotenv: undefined,
    environment: {},
    settings: [],
  });
  expect(faults).toEqual([]);
  return (key: string) => values.get(key);
};

describe("the session-analytics file", () => {
  it("is this text, and judge and embedding are ours", async () => {
    const file = planned({ embeddingModel: "nomic-embed-text" }, OLLAMA).analytics();
    await expect(file.text).toMatchFileSnapshot("golden/session-analytics.json");
    expect(file).toMatchObject({ path: "/home/me/.hx/session-analytics.json", mode: "0600" });
    expect(checkAnalyticsFile(document(file.text), "HX_")).toEqual([]);
    const value = effective(file.text);
    for (const judge of [
      "judge.default",
      "judge.by_copilot.aider",
      "judge.by_copilot.claude-code",
    ]) {
      expect(value(`${judge}.backend`), judge).toEqual({ value: "openai", layer: "file" });
      expect(value(`${judge}.model`), judge).toEqual({ value: "model", layer: "file" });
    }
    expect(value("judge.base_url")?.value).toBe("http://127.0.0.1:8001/v1");
    expect(value("judge.ollama_url")?.value).toBe("http://127.0.0.1:11434");
    expect(value("embedding.backend")).toEqual({ value: "ollama", layer: "file" });
    expect(value("embedding.model")?.value).toBe("nomic-embed-text");
    expect(value("embedding.ollama_url")?.value).toBe("http://127.0.0.1:11434");
    expect(value("judge.api_key")).toEqual({ value: "", layer: "default" });
    expect(value("redaction_mode"), "not ours to set").toEqual({ value: "code", layer: "default" });
  });

  it("gives the judging to Ollama when that is asked for", () => {
    const value = effective(planned({ judge: "ollama" }, OLLAMA).analytics().text);
    expect(value("judge.default.backend")?.value).toBe("ollama");
    expect(value("judge.default.model")?.value).toBe("qwen3:8b");
    expect(value("judge.base_url")).toEqual({ value: "", layer: "default" });
  });

  it("follows the plan: port and name of the server, address of Ollama", () => {
    const simpleServer = { mode: "host", port: 11500, models: ["m"] };
    const { text } = planned(
      {},
      { simpleServer },
      { port: 8005, servedModelName: "other" },
    ).analytics();
    const value = effective(text);
    expect(value("judge.base_url")?.value).toBe("http://127.0.0.1:8005/v1");
    expect(value("judge.default.model")?.value).toBe("other");
    expect(value("embedding.ollama_url")?.value).toBe("http://127.0.0.1:11500");
  });

  it("says nothing of an Ollama that is not on the host", () => {
    const { text } = planned({}).analytics();
    expect(text).not.toMatch(/embedding|ollama/);
    expect(effective(text)("judge.default.backend")?.value).toBe("openai");
  });
});
