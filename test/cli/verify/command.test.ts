import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { serverInput } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import type { StandIn } from "../../stand-in/server";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";
import { startPlanned, WINDOW } from "./environment";

const folder = temporaryFolder("serving-verify-");
let healthy: StandIn;
let failing: StandIn;
let file: string;
beforeAll(async () => {
  healthy = await startPlanned();
  failing = await startPlanned("xml-in-content");
  file = join(folder, "Pulumi.test.yaml");
  const inferenceServers = { b: serverInput({ maxModelLen: WINDOW, port: healthy.port }) };
  const machines = { dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers } };
  writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
});
afterAll(async () => {
  await Promise.all([healthy.close(), failing.close()]);
});

const verify = (...args: string[]) => runServing(["verify", "--file", file, ...args]);

describe("serving verify", () => {
  it("prints one document of the contract's shape, progress on stderr, and exits with 0", async () => {
    const { code, out, err } = await verify("--base-url", `${healthy.url}/v1`, "--format", "json");
    expect(code).toBe(0);
    const { probes, summary } = JSON.parse(out) as {
      probes: Record<string, unknown>[];
      summary: unknown;
    };
    for (const probe of probes) {
      expect(probe).toMatchObject({
        name: expect.any(String),
        status: expect.stringMatching(/^(pass|skip)$/),
        detail: expect.any(String),
        fix: expect.any(String),
      });
    }
    expect(new Set(probes.map(({ name }) => name)).size).toBe(probes.length);
    expect(summary).toMatchObject({ fail: 0, next: [] });
    expect(err).toContain("chat-tools pass (");
  });

  it("compares a server at an address with no sample of a clone", async () => {
    const own = ["verify", "--base-url", healthy.url, "--only", "models,window"];
    const { code, out, err } = await runServing(own, { LOCAL_SERVING_STACK: "" });
    expect({ code, err: err.includes("sample") }).toEqual({ code: 0, err: false });
    expect(out).not.toContain("stack file has");
  });

  it("exits with 1 for a fault, says what to set, and asks only what was asked for", async () => {
    const { code, out } = await verify("--base-url", failing.url, "--only", "chat, chat-tools");
    expect(code).toBe(1);
    expect(out).toMatch(
      /FAIL chat-tools +tool_calls is empty, the call is written as XML in `content`/,
    );
    expect(out).toContain("1 passed, 1 failed, 0 skipped");
    expect(out).toMatch(
      /^tool-parser: The model writes its calls in the form that `qwen3_coder` reads, but the parser that runs doesn't read it\.\n {2}evidence {3}probe chat-tools: .+\n {2}explains {3}chat-tools of vllm-model-\d+\n {2}change {5}The stack file already has it \(machines\.dgx\.inferenceServers\.b\.tools\.parser, which gives qwen3_coder\)/,
    );
    expect(out).not.toContain("What to do next");
    expect(out).not.toContain("chat-several-tools");
  });

  it("takes several --only, and says how to find out why a server is down", async () => {
    const down = ["--base-url", "http://127.0.0.1:1", "--format", "json"];
    const { out } = await verify(...down, "--only", "models", "--only", "window");
    const { probes } = JSON.parse(out) as { probes: { name: string; fix: string }[] };
    expect(probes.map(({ name }) => name)).toEqual(["models", "window"]);
    expect(probes[0]?.fix).toContain("serving doctor");
  });

  it("probes one server or service by its name, and nothing else", async () => {
    const { code, out } = await verify("b", "--format", "json");
    expect(code).toBe(0);
    const { probes } = JSON.parse(out) as { probes: { name: string; target: string }[] };
    expect(new Set(probes.map(({ target }) => target))).toEqual(
      new Set([`vllm-model-${healthy.port}`]),
    );
    expect(probes.map(({ name }) => name)).toEqual(expect.arrayContaining(["models", "window"]));
  });

  it("refuses a name that nothing has, and a name beside --base-url", async () => {
    expect(await verify("bridge")).toMatchObject({
      code: 2,
      err: expect.stringContaining("Nothing in the stack file is called bridge. There is: b"),
    });
    expect(await verify("b", "--base-url", healthy.url)).toMatchObject({
      code: 2,
      err: expect.stringContaining("--base-url probes a single server: leave out the name."),
    });
  });

  it("takes the address from the plan without --base-url", async () => {
    const { code, out } = await verify("--only", "models", "--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      probes: [
        {
          name: "models",
          target: `vllm-model-${healthy.port}`,
          status: "pass",
          detail: "model, org/model",
        },
      ],
    });
  });

  it("a server that is down is a fault, not a crash", async () => {
    const { code, out } = await verify("--base-url", "http://127.0.0.1:1", "--format", "json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ summary: { fail: 1 } });
  });

  it("before any `up` says so in one sentence", async () => {
    const docker = new FakeDocker({
      "inspect ": { err: "Error: No such container: x\n", code: 1 },
    });
    const { code, out, err } = await runServing(["verify", "--file", file], {
      ...docker.env,
      HOME: folder,
    });
    expect([code, out, err]).toEqual([
      1,
      "",
      "Nothing is applied yet: run `serving up --stack test`.\n",
    ]);
  });

  it.each([
    [
      "an unknown probe",
      ["--only", "chat-tool"],
      "no probe `chat-tool` (did you mean `chat-tools`?). There are: ranks-answer, ranks-alike, ranks-kv, link-speed, health, version",
    ],
    [
      "no probe at all",
      ["--only", " , "],
      "Expected at least one name, such as models,chat-tools.",
    ],
    ["no address", ["--base-url", "localhost"], "such as http://127.0.0.1:8001"],
    [
      "another scheme",
      ["--base-url", "ftp://x"],
      "Expected an address that begins with http:// or https://.",
    ],
    ["a path", ["--base-url", "http://x/v1/models"], "scheme, host and port alone"],
    ["no time", ["--timeout", "0"], "whole number of at least 1"],
    ["no file", ["--file", "/nowhere.yaml"], "/nowhere.yaml"],
  ])("%s is wrong use", async (_, args, message) => {
    const { code, out, err } = await verify(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  it("shows an example", async () => {
    expect((await verify("--help")).out).toContain("Example:\n  serving verify --only");
  });
});
