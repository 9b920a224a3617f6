import type { MachineSettings } from "local-serving";

const digest = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";

/** What stands under `machines` in a stack file, as a value. */
export const machines: { [name: string]: MachineSettings } = {
  dgx: {
    totalGiB: 121.63,
    device: "gb10",
    instanceA: "none",
    inferenceServers: {
      b: {
        model: { id: "nvidia/Qwen3.6-35B-A3B-NVFP4", thinking: true, weightsGB: 22 },
        servedModelName: "qwen3.6-35b-a3b",
        image: `vllm/vllm-openai:v0.30.0@${digest}`,
        versions: {
          vllm: "0.30.0",
          transformers: "5.10.4",
          evidence: "published",
          digest,
          source: "metadata of the vllm 0.30.0 wheel (transformers >= 5.10.4)",
        },
        gpuMemoryUtilization: 0.72,
        maxModelLen: 262144,
        moeBackend: "marlin",
        trustRemoteCode: true,
      },
    },
    clients: { codex: { via: "native" } },
  },
};
