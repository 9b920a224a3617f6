import { KV_DTYPE } from "./engine";

/** Variables that vLLM's build for CPUs needs in a container. */
export const CPU_ENVIRONMENT = {
  HF_HUB_OFFLINE: "1",
  TORCHDYNAMO_DISABLE: "1",
  VLLM_CPU_KVCACHE_SPACE: "1",
} as const;

/** A server of the tiny dense model by the real vLLM for CPUs, whose words scripted.py chooses. */
export const CPU_SERVER = {
  model: { id: "rig/dense", thinking: true },
  servedModelName: "rig-dense",
  tools: { parser: "qwen3_coder" },
  reasoningParser: "qwen3",
  gpuMemoryUtilization: 0.2,
  maxModelLen: 131_072,
  kvCacheDtype: KV_DTYPE,
  environment: { ...CPU_ENVIRONMENT, PYTHONPATH: "/opt/scripted" },
  moeBackend: "marlin",
  extraArgs: ["--enforce-eager", "--logits-processors", "scripted:Scripted"],
  stopGraceSeconds: 30,
} as const;
