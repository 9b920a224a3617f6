import * as docker from "@pulumi/docker";
import { container, Declaration, DIGEST, provider, record, server } from "./declare";

const tools = ["--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder"];
const pulled = new docker.RemoteImage("pulled", { name: "nginx:1.27" }, { provider });

record("v030", DIGEST, { vllm: "0.30.0", transformers: "5.10.4" });
new Declaration("HostInstance", "a", { machine: "dgx", port: 8000, gpuMemoryUtilization: 0.45 });
new Declaration("InferenceServer", "b-record", {
  machine: "dgx",
  container: "b",
  model: { id: "Qwen/X", kind: "chat", thinking: false },
  codingClients: ["codex"],
});
server(
  "b",
  ["Qwen/X", "--served-model-name", "x", "Qwen/X", "--gpu-memory-utilization", "0.45", ...tools],
  {
    name: "b",
    ports: [{ internal: 8001, external: 8001, ip: "127.0.0.1" }],
  },
);
container("unrelated", { image: pulled.imageId, envs: [pulled.id] });
