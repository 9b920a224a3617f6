import { describe, expect, it } from "vitest";
import { OLLAMA, planned } from "./planned";

describe("the harness's files in the plan", () => {
  it("are there only when the stack file has `harness`", () => {
    const roles = planned({}, OLLAMA).machine.files.map(({ role }) => role);
    const without = planned(undefined, OLLAMA);
    expect(without.machine.files.map(({ role }) => role).join()).not.toContain("harness");
    expect(without.warnings).toEqual([]);
    expect(roles.filter((role) => role.startsWith("harness-"))).toEqual([
      "harness-providers",
      "harness-analytics",
    ]);
    expect(roles.at(-1), "written last").toBe("applied-plan");
  });

  it("are the same text for the same settings", () => {
    expect(planned({}, OLLAMA).machine.files).toEqual(planned({}, OLLAMA).machine.files);
  });

  it("hold no value of the key's variable, whatever the shell has", () => {
    process.env.HX_LOCAL_KEY = "sk-NoOutputMayHoldThis";
    const text = JSON.stringify(planned({}, OLLAMA).machine);
    delete process.env.HX_LOCAL_KEY;
    expect(text).toContain("HX_LOCAL_KEY");
    expect(text).not.toContain("NoOutputMayHoldThis");
  });

  it.each([
    [{ embeddingModel: "m" }, OLLAMA, ["harness-key"]],
    [{ apiKeyVariable: "none", embeddingModel: "m" }, OLLAMA, []],
    [{ apiKeyVariable: "none" }, OLLAMA, ["harness-no-embedding-model"]],
    [{ apiKeyVariable: "none" }, {}, ["harness-no-embedding"]],
    [
      { apiKeyVariable: "none" },
      { simpleServer: { mode: "integrated", models: ["m"] } },
      ["harness-no-embedding"],
    ],
    [
      { apiKeyVariable: "none", embeddingModel: "m" },
      { simpleServer: { mode: "host" } },
      ["harness-no-ollama-model"],
    ],
    [
      { apiKeyVariable: "none", ollamaModel: "m", embeddingModel: "m" },
      { simpleServer: { mode: "host" } },
      [],
    ],
    [
      { apiKeyVariable: "none" },
      { simpleServer: { mode: "host" } },
      ["harness-no-embedding-model", "harness-no-ollama-model"],
    ],
    [{ embeddingModel: "m" }, { ...OLLAMA, inferenceServers: {} }, []],
  ])("with %j on a machine with %j warn of %j", (harness, machine, codes) => {
    expect(planned(harness, machine).warnings).toEqual(codes);
  });
});
