/**
 * What the stand-in takes from vLLM's command line; every other flag is accepted and kept in
 * `flags`.
 */
export interface ServerArguments {
  readonly model: string;
  /** Every name that requests may use; the first is echoed in answers. */
  readonly servedNames: readonly [string, ...string[]];
  /** Adapters by their names, which requests may use and answers echo, and their folders. */
  readonly adapters: ReadonlyMap<string, string>;
  readonly maxModelLen: number;
  readonly host: string;
  /** TCP port; 0 lets the system choose. */
  readonly port: number;
  /** Share of the machine's memory, in (0, 1]. */
  readonly gpuMemoryUtilization: number;
  readonly toolCallParser: string | undefined;
  readonly autoToolChoice: boolean;
  readonly reasoningParser: string | undefined;
  /** Every flag by its name with dashes; values as given, an empty list for a bare flag. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

/** A command line that vLLM itself refuses, in its words where they are known. */
export class RefusedArguments extends Error {
  override readonly name = "RefusedArguments";
}

const SHORT_FLAGS: Readonly<Record<string, string>> = { "-tp": "--tensor-parallel-size" };

/**
 * Defaults of vLLM where no flag is given; a context length is the model's own there, here that of
 * Qwen3-0.6B.
 */
const DEFAULTS = {
  model: "Qwen/Qwen3-0.6B",
  maxModelLen: 40_960,
  port: 8000,
  gpuMemoryUtilization: 0.92,
};

/**
 * Reads the arguments of `vllm serve` (a leading `serve` is allowed). Throws `RefusedArguments`.
 */
export function parseServerArguments(argv: readonly string[]): ServerArguments {
  const words = argv[0] === "serve" ? argv.slice(1) : argv;
  const positional = words[0] !== undefined && !words[0].startsWith("-") ? words[0] : undefined;
  const flags = readFlags(positional === undefined ? words : words.slice(1));
  const last = (name: string) => flags.get(name)?.at(-1);

  if (positional === undefined && flags.has("--served-model-name")) {
    throw new RefusedArguments("`model` should be provided as the first positional argument");
  }
  const model = positional ?? last("--model") ?? DEFAULTS.model;
  const [first = model, ...aliases] = flags.get("--served-model-name") ?? [];
  const utilization = Number(last("--gpu-memory-utilization") ?? DEFAULTS.gpuMemoryUtilization);
  if (!(utilization > 0 && utilization <= 1)) {
    throw new RefusedArguments(`gpu_memory_utilization must be in (0, 1], got ${utilization}`);
  }
  const autoToolChoice = switchedOn(flags, "enable-auto-tool-choice");
  const toolCallParser = last("--tool-call-parser");
  if (autoToolChoice && toolCallParser === undefined) {
    throw new RefusedArguments("Error: --enable-auto-tool-choice requires --tool-call-parser");
  }
  return {
    model,
    servedNames: [first, ...aliases],
    adapters: new Map((flags.get("--lora-modules") ?? []).map(adapterOf)),
    maxModelLen: tokenCount(last("--max-model-len")),
    host: last("--host") ?? "0.0.0.0",
    port: Number(last("--port") ?? DEFAULTS.port),
    gpuMemoryUtilization: utilization,
    toolCallParser,
    autoToolChoice,
    reasoningParser: last("--reasoning-parser") || undefined,
    flags,
  };
}

/** In vLLM's older form, `NAME=PATH`. */
function adapterOf(word: string): readonly [name: string, path: string] {
  const [name = "", path = ""] = word.split("=");
  return [name, path];
}

function readFlags(words: readonly string[]): Map<string, string[]> {
  const flags = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const word of words) {
    if (isFlag(word)) {
      const [name = word, ...rest] = word.split("=");
      values = rest.length > 0 ? [rest.join("=")] : [];
      flags.set(SHORT_FLAGS[name] ?? name.replaceAll("_", "-"), values);
    } else if (values === undefined) {
      throw new RefusedArguments(`unrecognized arguments: ${word}`);
    } else values.push(word);
  }
  return flags;
}

/** A negative number is a value; anything else that starts with a dash is a flag. */
function isFlag(word: string): boolean {
  return word.startsWith("-") && !/^-\d/.test(word);
}

function switchedOn(flags: ReadonlyMap<string, unknown>, name: string): boolean {
  return flags.has(`--${name}`) && !flags.has(`--no-${name}`);
}

/**
 * Token counts as vLLM writes them: `8192`, `1k` = 1000, `1K` = 1024; `auto` and `-1` are the
 * model's own length.
 */
function tokenCount(text: string | undefined): number {
  if (text === undefined || text === "auto" || text === "-1") return DEFAULTS.maxModelLen;
  const match = /^(\d+(?:\.\d+)?)([kKmM]?)$/.exec(text);
  if (match === null)
    throw new RefusedArguments(`argument --max-model-len: invalid value: '${text}'`);
  const unit = { "": 1, k: 1e3, K: 2 ** 10, m: 1e6, M: 2 ** 20 }[
    match[2] as "" | "k" | "K" | "m" | "M"
  ];
  return Number(match[1]) * unit;
}
