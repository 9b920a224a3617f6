import * as docker from "@pulumi/docker";
import { container, Declaration, DIGEST, provider, record, server } from "./declare";

const pulled = new docker.RemoteImage("pulled", { name: "nginx:1.27" }, { provider });
const name = ["--served-model-name", "m"];

// One share for each way of writing it, so that the sum's sentence shows how each was read.
server("equals", ["m", "--gpu-memory-utilization=0.11"]);
server("abbreviated", ["m", "--gpu-mem", "0.12"]);
server("underscored", ["m", "--gpu_memory_utilization", "0.13"]);
server("repeated", ["m", "--gpu-memory-utilization", "0.99", "--gpu-memory-utilization", "0.14"]);
server("aliased", ["m", "--device-memory-utilization", "0.15"]);
server("script", [], {
  entrypoints: ["/bin/sh", "-c", 'sleep 1; exec vllm serve "$@"', "gate", "m", "--gpu-mem=0.16"],
});
server("default", ["m"]);

server("slash", ["a/b", "--gpu-memory-utilization", "0.01", "--served-model-name", "a/b", "b"]);
server("unpinned", ["m", "--gpu-memory-utilization", "0.01"], {
  image: "vllm/vllm-openai:nightly",
});
server("unrecorded", ["m", "--gpu-memory-utilization", "0.01"], {
  image: `vllm/vllm-openai@sha256:${"1".repeat(64)}`,
});
server("old", ["m", "--gpu-memory-utilization", "0.01"], {
  image: `vllm/vllm-openai@sha256:${"2".repeat(64)}`,
});
record("old-record", `sha256:${"2".repeat(64)}`, { vllm: "0.26.0rc1", transformers: "5.7.0" });
record("good-record", DIGEST, { vllm: "0.30.0", transformers: "5.10.4" });
record(
  "published-record",
  `sha256:${"3".repeat(64)}`,
  { vllm: "0.30.0", transformers: "5.10.4" },
  "published",
);
server("published", ["m", "--gpu-memory-utilization", "0.01"], {
  image: `vllm/vllm-openai@sha256:${"3".repeat(64)}`,
});
server("output", ["m", "--gpu-memory-utilization", "0.01"], { image: pulled.repoDigest });

container("compromised", { image: "ghcr.io/berriai/litellm:v1.82.7" });
record("range-record", `sha256:${"4".repeat(64)}`, { vllm: "0.31.0", transformers: "5.18.0" });
container("bare", { command: ["m", ...name, "--gpu-memory-utilization", "0.01"] });
server("on-a", ["m", "--gpu-memory-utilization", "0.01"], {
  ports: [{ internal: 8000, external: 8000, ip: "127.0.0.1" }],
});
container("web", { image: "nginx:1.27", ports: [{ internal: 80, external: 8080 }] });
container("web2", {
  image: "nginx:1.27",
  ports: [{ internal: 80, external: 8080, ip: "127.0.0.1" }],
});
server("parserless", ["m", "--gpu-memory-utilization", "0.01", "--enable-auto-tool-choice"]);
server("clientless", ["m", "--gpu-memory-utilization", "0.01", "--reasoning-parser", "qwen3"], {
  name: "clientless",
});
new Declaration("InferenceServer", "clientless-record", {
  container: "clientless",
  model: { id: "m", kind: "chat", thinking: false },
  codingClients: ["codex"],
});
server("secret", ["m", "--gpu-memory-utilization", "0.01"], { envs: ["HF_TOKEN=hf_s3cr3tvalue"] });
server("exposed", ["m", "--gpu-memory-utilization", "0.01"], {
  ports: [{ internal: 8000, external: 8009 }],
});

// Not ours, and not known: left alone.
container("unrelated", {
  image: pulled.imageId,
  envs: [pulled.id],
  command: [pulled.id],
  ports: [],
});
