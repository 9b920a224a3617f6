import { describe, expect, it } from "vitest";
import { APPLY } from "../../../operate/doctor/diagnosis";
import { forStack } from "../../../operate/doctor/report/diagnose";

describe("a proposed command", () => {
  it.each([
    [{}, "serving plan && npm run up"],
    [{ stack: "dgx" }, "serving plan && npm run up"],
    [{ stack: "pair" }, "serving plan --stack pair && npm run up -- --stack pair"],
    [
      { stack: "dgx", file: "a/Pulumi.pair.yaml" },
      "serving plan --file a/Pulumi.pair.yaml && npm run up -- --stack pair",
    ],
    [{ file: "my stack.yaml" }, "serving plan --file 'my stack.yaml' && npm run up"],
  ])("acts on the stack that was looked at: %j", (chosen, command) => {
    expect(forStack(APPLY, chosen)).toBe(command);
  });

  it("that names its file already stays as it is", () => {
    expect(forStack("serving plan --file a.yaml", { file: "a.yaml" })).toBe("serving plan --file a.yaml");
  });

  it("of somebody else's program stays as it is", () => {
    expect(forStack("serving pin vllm/vllm-openai:v0.30.0; docker ps", { stack: "pair" })).toBe(
      "serving pin vllm/vllm-openai:v0.30.0; docker ps",
    );
  });
});
