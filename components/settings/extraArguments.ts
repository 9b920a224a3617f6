import { type InferenceServerSettings, inferenceServer } from "./inferenceServer";

const flagOf = (setting: string) => `--${setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Flags of `vllm serve` that have a setting of their own, and that setting's name. */
export const FLAGS_WITH_SETTING: Readonly<
  Record<
    string,
    keyof InferenceServerSettings | "tools.autoChoice" | "tools.parser" | "model.id" | "model.kind" | "model.revision"
  >
> = {
  // Most have the setting's own name.
  ...Object.fromEntries(Object.keys(inferenceServer.shape).map((setting) => [flagOf(setting), setting])),
  "--model": "model.id",
  "--runner": "model.kind",
  "--revision": "model.revision",
  "--host": "listen",
  "-tp": "tensorParallelSize",
  "-pp": "pipelineParallelSize",
  "--nnodes": "nodes",
  "-n": "nodes",
  "--node-rank": "nodes",
  "-r": "nodes",
  "--headless": "nodes",
  "--master-addr": "nodes",
  "--device-memory-utilization": "gpuMemoryUtilization",
  "--enable-chunked-prefill": "chunkedPrefill",
  "--enable-prefix-caching": "prefixCaching",
  "--enable-auto-tool-choice": "tools.autoChoice",
  "--tool-call-parser": "tools.parser",
  "--speculative-config": "speculative",
};

/** Flags that can't be allowed in `extraArgs` at all, with the reason. */
const REFUSED_FLAGS: Readonly<Record<string, string>> = {
  "--config": "the plan and the policies can't read a file of further flags",
  "--num-gpu-blocks-override": "it sets the KV cache in blocks, whatever memory they take; use `kvCacheMemoryBytes`",
  "--distributed-executor-backend":
    "vLLM's own processes (`mp`) run a model, also over several machines (`nodes`); vLLM's image has no Ray",
  "--hf-token": "the token would stand in the argv; use `huggingFaceTokenVariable`",
  "--api-key":
    "it guards only part of vLLM's routes (/invocations, /classify, /pooling and others stay open), and the key would be in the argv. For the local network publish the bridge with `keyVariable`, and leave this server on 127.0.0.1",
};

/** Shortest abbreviation taken seriously: `--g` and the like are refused whatever they mean. */
const SHORTEST_ABBREVIATION = "--x".length;

/**
 * Why an extra argument can't be passed, or `undefined` when it can. vLLM takes abbreviated flags, underscores for
 * dashes, `--no-` forms and `--disable-x` for `--no-enable-x`, so a flag that only begins like one of ours is refused as well.
 */
export function extraArgumentFault(argument: string): string | undefined {
  if (!argument.startsWith("-")) return undefined;
  const flag = (argument.split("=", 1)[0] ?? argument).replaceAll("_", "-");
  const positive = flag.replace(/^--no-/, "--").replace(/^--disable-/, "--enable-");
  // vLLM refuses capitals, but only once the key has been printed.
  const refused = Object.entries(REFUSED_FLAGS).find(([name]) => abbreviates(positive.toLowerCase(), name));
  if (refused !== undefined) return `\`${refused[0]}\` can't be passed: ${refused[1]}.`;
  const owner = Object.entries(FLAGS_WITH_SETTING).find(([name]) => abbreviates(positive, name));
  if (owner !== undefined) return `\`${owner[0]}\` has a setting of its own: use \`${owner[1]}\`.`;
  return undefined;
}

const abbreviates = (flag: string, name: string): boolean =>
  flag === name || (name.startsWith("--") && flag.length >= SHORTEST_ABBREVIATION && name.startsWith(flag));
