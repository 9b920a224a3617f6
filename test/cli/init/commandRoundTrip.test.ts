import { readFileSync } from "node:fs";
import { shellWords } from "@local-serving/base/faults/shellWords";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { choose } from "../../../cli/init/choose";
import { dockerRun } from "../../../cli/plan/dockerRun";
import { judgedPlan } from "../../../cli/plan/judgedPlan";
import { type HostFacts, hostFacts } from "../../../cli/sees/computer/facts";
import { parseStackFile } from "../../../components/settings/load";
import { pinnedServer } from "../../../components/supply/pinned";
import { madeFacts } from "./madeFacts";

let facts: HostFacts;

beforeAll(async () => {
  facts = hostFacts.parse(JSON.parse(readFileSync(await madeFacts(), "utf8")));
});

/** The container that a stack file plans for server b. */
function containerOf(text: string) {
  const settings = parseStackFile("Pulumi.spark.yaml", text);
  const { planned } = judgedPlan(settings, { home: "/home/operator", models: {} });
  const container = planned.machines[0]?.inferenceServers[0]?.container;
  if (container === undefined) throw new Error("a server was declared");
  return container;
}

/** What of a container a command can say. */
function expressible(text: string) {
  const { command, env, image, ports, secretEnv } = containerOf(text);
  return { command: [...command].sort(), env, image, ports, secretEnv };
}

/** Extra arguments in the order and spelling in which they are written back. */
const EXTRA = [
  ["--no-async-scheduling"],
  ["--dtype", "bfloat16"],
  ["--quantization", "fp8"],
  ["--compilation-config", '{"cudagraph_mode":"PIECEWISE","custom_ops":["all"]}'],
  ["--mm-processor-cache-gb", "0"],
];

const ADAPTERS = [
  { name: "tone", path: "/data/runs/tone 7", rank: 8 },
  {
    name: "legal",
    id: "org/legal",
    revision: "0123456789abcdef0123456789abcdef01234567",
    rank: 64,
  },
];

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const servers = fc.record({
  model: fc.oneof(
    fc.record({
      id: fc.constantFrom("nvidia/Qwen3.6-35B-A3B-NVFP4", "openai/gpt-oss-20b", "some/Model-7B"),
      revision: maybe(fc.constant("0123456789abcdef0123456789abcdef01234567")),
      thinking: fc.boolean(),
    }),
    fc.record({ id: fc.constant("/data/run-7/merged"), thinking: fc.boolean() }),
  ),
  servedModelName: fc.constantFrom("model", "gpt-oss-20b", "it's"),
  aliases: maybe(fc.constantFrom(["other", "an/other"], ["x"])),
  gpuMemoryUtilization: fc.integer({ min: 10, max: 80 }).map((hundredths) => hundredths / 100),
  maxModelLen: fc.integer({ min: 1024, max: 300_000 }),
  adapters: fc.subarray(ADAPTERS),
  loraTargetModules: fc.constant(["q_proj", "v_proj"]),
  maxNumSeqs: fc.integer({ min: 1, max: 64 }),
  maxNumBatchedTokens: fc.integer({ min: 2048, max: 32_768 }),
  kvCacheDtype: fc.constantFrom("fp8", "auto", "bfloat16"),
  kvCacheMemoryBytes: maybe(fc.integer({ min: 1e9, max: 8e9 })),
  tools: fc.record({ autoChoice: fc.boolean(), parser: fc.constantFrom("hermes", "qwen3_xml") }),
  moeBackend: maybe(fc.constantFrom("marlin", "triton")),
  attentionBackend: maybe(fc.constant("FLASHINFER")),
  loadFormat: maybe(fc.constant("fastsafetensors")),
  chatTemplate: maybe(fc.constant("{{ 'a \"quoted\" $HOME' }}")),
  chunkedPrefill: fc.boolean(),
  prefixCaching: fc.boolean(),
  trustRemoteCode: fc.boolean(),
  compileJobs: fc.integer({ min: 1, max: 4 }),
  speculative: maybe(
    fc.record({
      method: fc.constantFrom("mtp", "ngram"),
      numSpeculativeTokens: fc.integer({ min: 1, max: 8 }),
      model: maybe(fc.constant("a/draft")),
    }),
  ),
  environment: fc.constantFrom({}, { VLLM_LOGGING_LEVEL: "DEBUG", A: "it's $x" }),
  huggingFaceTokenVariable: maybe(fc.constant("HF_TOKEN")),
  extraArgs: fc.subarray(EXTRA).map((some) => some.flat()),
  port: fc.integer({ min: 1024, max: 4000 }),
});

/** A stack file with this server b. */
function stackOf({
  model,
  tools,
  loraTargetModules,
  ...server
}: typeof servers extends fc.Arbitrary<infer T> ? T : never) {
  const reasoningParser = model.thinking ? "qwen3" : undefined;
  const slots = server.adapters.length === 0 ? {} : { loraTargetModules };
  const b = { model, tools, ...server, ...slots, reasoningParser, ...pinnedServer() };
  const machine = { totalGiB: 121.69, device: "gb10", instanceA: "none", inferenceServers: { b } };
  return JSON.stringify({ config: { "local-serving:machines": { spark: machine } } });
}

const back = async (command: string) =>
  (await choose(facts, { name: "spark", project: process.cwd() }, { command: { text: command } }))
    .text;

describe("a planned server", () => {
  it("is the same from its own argv, and from the `docker run` that a plan prints", async () => {
    await fc.assert(
      fc.asyncProperty(servers, async (server) => {
        const text = stackOf(server);
        const planned = expressible(text);
        const { command, env } = containerOf(text);
        const variables = server.huggingFaceTokenVariable === undefined ? {} : { HF_TOKEN: "x" };
        const front = Object.entries({ ...env, ...variables }).map(
          ([name, value]) => `${name}=${shellWords([value])}`,
        );
        const argv = await back([...front, "vllm serve", shellWords(command)].join(" "));
        expect(expressible(argv)).toEqual(planned);
        const run = await back(dockerRun(containerOf(text)));
        const token = server.huggingFaceTokenVariable === undefined;
        // `docker inspect` shows no token, and so no command of ours has one.
        if (token) expect(expressible(run)).toEqual(planned);
        else expect(expressible(run).command).toEqual(planned.command);
      }),
      { numRuns: 8 },
    );
  });
});
