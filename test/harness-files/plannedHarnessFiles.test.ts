import { describe, expect, it } from "vitest";
import { OLLAMA, planned } from "./planned";

describe("the harness's files in the plan", () => {
  it("are there only when the stack file has `harness`", () => {
    expect(planned(undefined, OLLAMA).machine.files.map(({ role }) => role)).toEqual([
      "start-gate",
      "simple-server-dropin",
      "applied-plan",
    ]);
    expect(planned(undefined, OLLAMA).warnings).toEqual([]);
    expect(planned({}, OLLAMA).machine.files.map(({ role }) => role)).toEqual([
      "start-gate",
      "simple-server-dropin",
      "harness-providers",
      "harness-analytics",
      "applied-plan",
    ]);
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
    [{}, OLLAMA, ["harness-key"]],
    [{ apiKeyVariable: "none" }, OLLAMA, []],
    [{ apiKeyVariable: "none" }, {}, ["harness-no-embedding"]],
    [
      { apiKeyVariable: "none" },
      { simpleServer: { mode: "integrated", models: ["m"] } },
      ["harness-no-embedding"],
    ],
    [{ apiKeyVariable: "none" }, { simpleServer: { mode: "host" } }, ["harness-no-ollama-model"]],
    [{ apiKeyVariable: "none", ollamaModel: "m" }, { simpleServer: { mode: "host" } }, []],
    [{}, { ...OLLAMA, inferenceServers: {} }, []],
  ])("with %j on a machine with %j warn of %j", (harness, machine, codes) => {
    expect(planned(harness, machine).warnings).toEqual(codes);
  });
});
