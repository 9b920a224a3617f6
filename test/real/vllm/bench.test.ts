import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { asContainer } from "../../cli/bench/asContainer";
import { runServing } from "../../cli/runServing";
import { serverInput } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { installEngine, serveEngine } from "./engine";

/** Installing an engine, its start, and the client's starts, on a busy machine. */
const MS = 2_400_000;

const SMALL = [
  "--prompt",
  "1200",
  "--new",
  "100",
  "--answer",
  "64",
  "--cold",
  "4000",
  "--agents",
  "2",
  "--calls",
  "2",
];

it("serving bench measures the real vLLM 0.30.0 with its own client", { timeout: MS }, async () => {
  const engine = await installEngine("0.30.0");
  const server = await serveEngine(engine, { args: ["--served-model-name", "dense", "rig/dense"] });
  try {
    const model = { id: "rig/dense", family: "qwen3", thinking: true };
    const b = serverInput({
      model,
      servedModelName: "dense",
      port: server.port,
      maxModelLen: 32_768,
      trustRemoteCode: true,
    });
    const machines = { dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers: { b } } };
    const file = join(temporaryFolder("bench-real-"), "Pulumi.test.yaml");
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    const { env } = asContainer(dirname(engine.path));
    const { code, out, err } = await runServing(
      ["bench", "--file", file, ...SMALL, "--record", "--format", "json"],
      {
        ...env,
        HF_HOME: engine.home,
        VLLM_NO_USAGE_STATS: "1",
      },
    );
    console.log(out, err);
    expect(code).toBe(0);
    const { runs, diff } = JSON.parse(out);
    const [cold, ...agents] = runs;
    expect(cold).toMatchObject({ title: "4000 cold", requests: 1, decode: null, disturbed: false });
    expect(cold.promptTokens).toBeCloseTo(4000, -2);
    // 1,100 tokens are the same, and one call is the one that filled the cache.
    for (const run of agents) {
      expect(run.promptTokens).toBeCloseTo(1200, -2);
      expect(run.reuse).toBeGreaterThan(0.85);
      expect(run.decode).toBeGreaterThan(1);
      expect(run.disturbed).toBe(false);
    }
    expect(cold.reuse).toBeLessThan(0.1);
    expect(diff).toContain(`prefill: ${cold.prefill}\n`);
  } finally {
    server.stop();
    await server.ended;
    engine.remove();
  }
});
