import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { Api } from "../../../cli/sees/api";
import { readMetrics } from "../../../cli/sees/metrics";
import { FakeDocker, inspected } from "../../cli/fakeDocker";
import { runServing } from "../../cli/runServing";
import { serverInput } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type Engine, installEngine, type RunningEngine, startEngine } from "./engine";

/**
 * Installing an engine, its first start on a busy machine, and a long prompt that a processor
 * reads.
 */
const MS = 2_400_000;

/** Room for the probe with the longest prompt. */
const WINDOW = 65_536;
/** Of the probes' prompts only the shorter one fits. */
const SHORT_WINDOW = 16_384;

describe("serving status --wait on the real vLLM 0.30.0", () => {
  let engine: Engine;
  let server: RunningEngine;
  beforeAll(async () => {
    engine = await installEngine("0.30.0");
    const args = ["--served-model-name", "dense", "rig/dense", "--max-model-len", String(WINDOW)];
    server = await startEngine(engine, {
      args: [...args, "--logits-processors", "scripted:Scripted"],
    });
  }, MS);
  afterAll(async () => {
    server?.stop();
    await server?.ended;
    engine?.remove();
  });

  /** `serving status --wait` for the engine, with a docker that knows it as a container. */
  const wait = (overlay: object, ...args: string[]) => {
    const settings = {
      servedModelName: "dense",
      maxModelLen: WINDOW,
      port: server.port,
      ...overlay,
    };
    const b = serverInput({
      ...settings,
      model: { id: "rig/dense", family: "qwen3", thinking: true },
    });
    const machines = { dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers: { b } } };
    const file = join(temporaryFolder("wait-real-"), "Pulumi.test.yaml");
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    const name = `vllm-${settings.servedModelName}-${server.port}`;
    const container = inspected({ name, state: { StartedAt: new Date().toISOString() } });
    const docker = new FakeDocker({
      ps: { out: "4711\n" },
      "inspect 4711": { out: JSON.stringify([container]) },
      logs: { out: server.log() },
    });
    return runServing(["wait", "--file", file, "--format", "json", ...args], docker.env);
  };
  /** What the server was asked since its start. */
  const asked = async () => {
    const metrics = await readMetrics(new Api(server.url, 10));
    const [requests = 0, tokens = 0] = [
      "vllm:request_success_total",
      "vllm:prompt_tokens_total",
    ].map((name) => metrics.sum(name));
    return { requests, tokens };
  };

  it("is done once the engine answers, and asks its model nothing", { timeout: MS }, async () => {
    const { code, out, err } = await wait({});
    expect(code, out + err + server.log().slice(-4000)).toBe(0);
    const [found] = JSON.parse(out).servers;
    expect(found).toMatchObject({ outcome: "ready", phase: "ready" });
    expect(found).not.toHaveProperty("warm");
    expect(await asked()).toEqual({ requests: 0, tokens: 0 });
  });

  it("with --warm has it call a tool and read a long prompt, and says what each took", {
    timeout: MS,
  }, async () => {
    const before = await asked();
    const { code, out, err } = await wait({}, "--warm");
    console.log(out, err);
    expect(code, out).toBe(0);
    const [{ warm }] = JSON.parse(out).servers;
    expect(warm).toMatchObject([
      { name: "chat-tools", status: "pass" },
      { name: "long-prompt", status: "pass" },
    ]);
    for (const { seconds } of warm) expect(seconds).toBeGreaterThan(0);
    const after = await asked();
    expect(after.requests - before.requests).toBe(2);
    expect(after.tokens - before.tokens).toBeGreaterThan(28_000);
  });

  it("with --warm takes the shorter prompt where the declared window is short", {
    timeout: MS,
  }, async () => {
    const { code, out } = await wait({ maxModelLen: SHORT_WINDOW }, "--warm");
    expect(code, out).toBe(0);
    expect(JSON.parse(out).servers[0].warm).toMatchObject([
      { name: "chat-tools", status: "pass" },
      { name: "needle", status: "pass" },
    ]);
  });
});
