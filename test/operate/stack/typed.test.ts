import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { APPLY } from "../../../operate/rules/rule";
import { forStack, runsHere, typedOn } from "../../../operate/stack/typed";
import { temporaryFolder } from "../../layers/temporaryFolder";

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

describe("lines that run as printed", () => {
  const bin = join(temporaryFolder("on-path-"), "node_modules/.bin");
  const own = temporaryFolder("on-path-");
  mkdirSync(bin, { recursive: true });
  for (const folder of [bin, own])
    writeFileSync(join(folder, "serving"), "#!/bin/sh\n", { mode: 0o755 });

  it.each([
    ["the shell", `/usr/bin:${own}`, "serving plan\nserving up --stack pair"],
    ["nobody", "/usr/bin", "npx --no -- serving plan\nnpx --no -- serving up --stack pair"],
    ["npm alone", `/usr/bin:${bin}`, "npx --no -- serving plan"],
  ])("name `serving` as it is a command of %s", (_, PATH, lines) => {
    const given = lines.replaceAll("npx --no -- ", "");
    expect(runsHere(given, { PATH })).toBe(lines);
    expect(runsHere(lines, { PATH })).toBe(lines);
  });

  it("leave other words and programs alone", () => {
    const lines = "b is serving requests; bundle/serving.cjs status; docker logs serving";
    expect(runsHere(lines, { PATH: "" })).toBe(lines);
  });
});
