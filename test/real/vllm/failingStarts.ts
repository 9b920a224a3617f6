import {
  chownSync,
  cpSync,
  mkdirSync,
  readFileSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type Engine, type EngineOptions, startEngine } from "./engine";

/** A start of the real vLLM that fails. */
export interface FailingStart {
  readonly name: string;
  readonly options?: EngineOptions | ((engine: Engine) => EngineOptions | Promise<EngineOptions>);
  /** It ends only in its engine, after a minute and more. */
  readonly late?: true;
}

const config = (folder: string, change: (fields: Record<string, unknown>) => object) => {
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ ...change(JSON.parse(readFileSync(file, "utf8"))) }));
};

/** A copy of the dense model in a folder of its own, changed. */
const changedModel = (change: (folder: string) => void) => (engine: Engine) => {
  const folder = temporaryFolder("model-");
  cpSync(modelFolder(engine.home, "dense"), folder, { recursive: true });
  change(folder);
  return { model: folder };
};

function modelFolder(home: string, name: "dense" | "hybrid"): string {
  return join(home, "hub", `models--rig--${name}`, "snapshots", "0".repeat(40));
}

const withFields = (fields: object) =>
  changedModel((folder) => config(folder, (all) => ({ ...all, ...fields })));

/** Runs it behind other commands of a shell, in mounts of its own. */
const after = (script: string): readonly string[] => [
  "unshare",
  "--mount",
  "sh",
  "-c",
  `${script} && exec "$@"`,
  "sh",
];

export const FAILING_STARTS: readonly FailingStart[] = [
  { name: "reasoning-parser-unknown", options: { args: ["--reasoning-parser", "qwen4"] } },
  { name: "tool-parser-unknown", options: { args: ["--tool-call-parser", "qwen4_xml"] } },
  { name: "argument-unknown", options: { args: ["--enable-reasoning"] } },
  { name: "choice-invalid", options: { args: ["--kv-cache-dtype", "fp9"] } },
  { name: "json-invalid", options: { args: ["--speculative-config", "{method: mtp}"] } },
  { name: "share-above-1", options: { args: ["--gpu-memory-utilization", "1.2"] } },
  {
    name: "address-in-use",
    options: async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      server.unref();
      const address = server.address();
      return { args: ["--port", String(typeof address === "object" ? address?.port : "")] };
    },
  },
  { name: "window-above-model", options: { args: ["--max-model-len", "1000000"] } },
  {
    name: "architecture-unsupported",
    options: withFields({ architectures: ["QwenFourForCausalLM"] }),
  },
  { name: "model-type-unknown", options: withFields({ model_type: "qwen4" }) },
  {
    name: "config-not-json",
    options: changedModel((folder) =>
      writeFileSync(join(folder, "config.json"), "version https://git-lfs\n"),
    ),
  },
  {
    name: "weights-cut",
    late: true,
    options: changedModel((folder) => truncateSync(join(folder, "model.safetensors"), 500_000)),
  },
  {
    name: "shard-missing",
    late: true,
    options: changedModel((folder) => {
      const weight_map = { "model.embed_tokens.weight": "model-00002-of-00002.safetensors" };
      writeFileSync(
        join(folder, "model.safetensors.index.json"),
        JSON.stringify({ metadata: {}, weight_map }),
      );
    }),
  },
  {
    name: "weights-missing",
    late: true,
    options: changedModel((folder) => unlinkSync(join(folder, "model.safetensors"))),
  },
  { name: "model-not-cached", options: { model: "rig/absent" } },
  {
    name: "hub-unreachable",
    options: {
      model: "rig/absent",
      env: { HF_HUB_OFFLINE: "0", HF_ENDPOINT: "http://127.0.0.1:9" },
    },
  },
  {
    name: "tokenizer-missing",
    options: changedModel((folder) => unlinkSync(join(folder, "tokenizer.json"))),
  },
  {
    name: "chat-template-missing",
    options: { args: ["--chat-template", "/templates/qwen.jinja"] },
  },
  {
    name: "shared-memory-full",
    late: true,
    options: { before: after("mount -t tmpfs -o size=64k none /dev/shm") },
  },
  {
    name: "cache-full",
    late: true,
    options: () => {
      const folder = temporaryFolder("cache-");
      return {
        env: { VLLM_CACHE_ROOT: folder },
        before: after(`mount -t tmpfs -o size=16k none ${folder}`),
      };
    },
  },
  {
    name: "model-denied",
    late: true,
    options: (engine) => ({
      // As a download by somebody else leaves it.
      ...changedModel((folder) => chownSync(join(folder, "model.safetensors"), 65534, 65534))(
        engine,
      ),
      before: ["setpriv", "--bounding-set=-dac_override,-dac_read_search"],
    }),
  },
  {
    name: "kv-room-too-small",
    late: true,
    options: {
      args: ["--kv-cache-memory-bytes", "1M", "--enforce-eager"],
      before: ["env", "-u", "VLLM_CPU_KVCACHE_SPACE"],
    },
  },
  { name: "batch-below-sequences", options: { args: ["--max-num-batched-tokens", "2"] } },
  {
    name: "no-device",
    options: ({ version }) => {
      // Ahead of the environment's own, which ends in `+cpu`.
      const folder = temporaryFolder("unnamed-");
      mkdirSync(join(folder, `vllm-${version}.dist-info`));
      const metadata = `Metadata-Version: 2.1\nName: vllm\nVersion: ${version}\n`;
      writeFileSync(join(folder, `vllm-${version}.dist-info`, "METADATA"), metadata);
      return { env: { PYTHONPATH: folder } };
    },
  },
  { name: "marlin-unquantized", late: true, options: { model: "rig/hybrid" } },
  { name: "quantization-absent", options: { args: ["--quantization", "gptq_marlin"] } },
  {
    name: "draft-impossible",
    options: { args: ["--speculative-config", '{"method":"mtp","num_speculative_tokens":2}'] },
  },
  {
    name: "draft-missing",
    options: {
      args: [
        "--speculative-config",
        '{"method":"draft_model","model":"rig/draft","num_speculative_tokens":2}',
      ],
    },
  },
];

/** Starts it and waits for its end. */
export async function failedStart(engine: Engine, { options = {} }: FailingStart) {
  const running = await startEngine(
    engine,
    typeof options === "function" ? await options(engine) : options,
  );
  const code = await running.ended;
  return { code, log: running.log() };
}
