import { describe, expect, it } from "vitest";
import { APPLY } from "../../../cli/rules/rule";
import { forStack, typedOn } from "../../../cli/stack/typed";

describe("a proposed command", () => {
  it.each([
    [{}, "serving plan && serving up"],
    [{ stack: "dgx" }, "serving plan && serving up"],
    [{ stack: "pair" }, "serving plan --stack pair && serving up --stack pair"],
    [
      { stack: "dgx", file: "a/Pulumi.pair.yaml" },
      "serving plan --file a/Pulumi.pair.yaml && serving up --stack pair",
    ],
    [{ file: "my stack.yaml" }, "serving plan --file 'my stack.yaml' && serving up"],
  ])("acts on the stack that was looked at: %j", (chosen, command) => {
    expect(forStack(APPLY, chosen)).toBe(command);
  });

  it("hands the engine's own options on behind the stack", () => {
    expect(forStack("serving up --refresh", { stack: "pair" })).toBe(
      "serving up --stack pair --refresh",
    );
    expect(forStack("serving up --refresh", {})).toBe("serving up --refresh");
    expect(forStack("serving up --stack pair", { stack: "pair" })).toBe("serving up --stack pair");
  });

  it("pins an image in the stack file that was looked at", () => {
    const pin = "serving pin vllm/vllm-openai:v0.30.0 --write";
    expect(forStack(`\`${pin} --entry b\``, { stack: "pair" })).toBe(
      `\`${pin} --stack pair --entry b\``,
    );
    expect(forStack(`${pin} --stack pair`, { stack: "pair" })).toBe(`${pin} --stack pair`);
    expect(forStack(pin, { stack: "dgx" })).toBe(pin);
  });

  it("that names its file already stays as it is", () => {
    expect(forStack("serving plan --file a.yaml", { file: "a.yaml" })).toBe(
      "serving plan --file a.yaml",
    );
  });

  it("of somebody else's program stays as it is", () => {
    expect(forStack("serving pin vllm/vllm-openai:v0.30.0; docker ps", { stack: "pair" })).toBe(
      "serving pin vllm/vllm-openai:v0.30.0; docker ps",
    );
  });
});

describe("a command on a machine", () => {
  const words = ["docker", "update", "--restart", "no", "a b"];
  it.each([
    ["unix:///var/run/docker.sock", "docker update --restart no 'a b'"],
    [
      "unix:///run/user/1000/docker.sock",
      "docker --host unix:///run/user/1000/docker.sock update --restart no 'a b'",
    ],
  ])("is typed here: %s", (dockerHost, typed) => {
    expect(typedOn({ dockerHost }, words)).toBe(typed);
  });

  it("is typed for ssh", () => {
    expect(typedOn({ dockerHost: "ssh://me@dgx:2222" }, ["docker", "start", "b"])).toBe(
      "ssh -t ssh://me@dgx:2222 'docker start b'",
    );
  });
});
