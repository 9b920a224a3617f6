import { READ_VERSIONS } from "@local-serving/vllm/argv/versionReadings";
import { DIGEST } from "../declared";

type Props = Record<string, unknown>;

/** Who stands beside a server: what it is, how it is declared, and where it is written so. */
export type Neighbour = readonly [what: string, declares: Props, source: string];

const words = (text: string) => (text === "" ? [] : text.split(" "));
const runs = (image: string, command = "", more: Props = {}) => ({
  image,
  ...(command === "" ? {} : { command: words(command) }),
  ...more,
});
const GPU = { gpus: "all" };
const HUB = [{ hostPath: "/hub", containerPath: "/root/.cache/huggingface" }];
/** vLLM's own image, whose entrypoint is replaced. */
const vllm = (entrypoint: string, command: string | string[] = [], more: Props = {}) => ({
  image: `vllm/vllm-openai:v0.30.0@${DIGEST}`,
  ...GPU,
  entrypoints: words(entrypoint),
  command: typeof command === "string" ? words(command) : command,
  ...more,
});
/** NVIDIA's image, whose entrypoint runs the command. */
const ngc = (command: string | string[], more: Props = {}) => ({
  image: "nvcr.io/nvidia/vllm:26.05.post1-py3",
  ...GPU,
  command: typeof command === "string" ? words(command) : command,
  ...more,
});
const DYNAMO = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.0";

/** Programs that aren't vLLM, by image and command as compose files and manifests have them. */
// biome-ignore format: one row a line
const SERVICES: readonly Neighbour[] = [
  ["guidellm", runs("ghcr.io/vllm-project/guidellm:v0.7.3", "benchmark run --target http://b:8001 --model org/m --rate 4"), "vllm-project/guidellm, README"],
  ["guidellm on the GPU's network", runs("ghcr.io/vllm-project/guidellm:latest", "benchmark --target http://b:8001 --max-seconds 30", GPU), "ghcr.io/vllm-project/guidellm"],
  ["semantic router", runs("ghcr.io/vllm-project/semantic-router/extproc:latest", "--config /app/config/config.yaml --port 50051", GPU), "vllm-project/semantic-router, docker-compose"],
  ["semantic router, one image", runs("ghcr.io/vllm-project/semantic-router/vllm-sr:latest", "", { ...GPU, envs: ["HF_TOKEN=x"] }), "vllm-project/semantic-router, deploy"],
  ["semantic router's dashboard", runs("ghcr.io/vllm-project/semantic-router/dashboard:latest"), "vllm-project/semantic-router, docker-compose"],
  ["semantic router's stand-in", runs("ghcr.io/vllm-project/semantic-router/mock-vllm:latest"), "vllm-project/semantic-router, docker-compose"],
  ["production stack's router", runs("lmcache/lmstack-router:latest", "--host 0.0.0.0 --port 8000 --service-discovery static --static-backends http://b:8001 --static-models org/m --routing-logic session --session-key x-user-id --engine-stats-interval 15 --log-stats", GPU), "vllm-project/production-stack, helm values"],
  ["the same from the project", runs("ghcr.io/vllm-project/production-stack/router:latest", "--static-backends http://b:8001", GPU), "vllm-project/production-stack"],
  ["vllm-router", runs("vllm-router:v0.1.15-arm64", "--host 0.0.0.0 --port 30000 --worker-urls http://b:8001 http://c:8001 --policy cache_aware --prometheus-host 0.0.0.0"), "vllm-project/router, compose"],
  ["vllm-router by its program", runs("lmcache/fault_tolerance_router:latest", "vllm-router --port 30080 --service-discovery static --static-backends http://b:8100 --static-models org/m --engine-stats-interval 10", GPU), "LMCache, router example"],
  ["AIBrix's gateway", runs("aibrix/gateway-plugins:v0.5.0", "/plugins -v=5", { envs: ["AIBRIX_VLLM=1"] }), "vllm-project/aibrix, config"],
  ["a vLLM exporter", runs("own/vllm-exporter:1", "", GPU), "a metrics sidecar"],
  ["a vLLM dashboard", runs("own/vllm-dashboard:1", "", { envs: ["VLLM_LOGGING_LEVEL=INFO"], ...GPU }), "a page of metrics"],
  ["a vLLM playground", runs("quay.io/own/vllm-playground:0.1.2"), "micytao/vllm-playground"],
  ["Dynamo's frontend", runs(DYNAMO, "python3 -m dynamo.frontend --http-port 8000 --router-mode kv", { ...GPU, workingDir: "/workspace/examples/backends/vllm" }), "ai-dynamo/dynamo, examples/backends/vllm/deploy"],
  ["Dynamo's frontend in a shell", runs(DYNAMO, "", { ...GPU, entrypoints: ["/bin/sh", "-c"], command: ["python3 -m dynamo.frontend --http-port 8000 --router-mode kv"] }), "ai-dynamo/dynamo, disagg_router.yaml"],
  ["Dynamo's planner", runs(DYNAMO, "python3 -m dynamo.planner --environment kubernetes"), "ai-dynamo/dynamo, deploy"],
  ["LMCache's server", runs("lmcache/vllm-openai:latest", "", { ...GPU, entrypoints: ["lmcache_server"], command: ["0.0.0.0", "65432", "cpu"] }), "docs.lmcache.ai, Docker deployment"],
  ["LMCache's server, without an entrypoint", runs("lmcache/vllm-openai:latest", "lmcache_server 0.0.0.0 65432", GPU), "docs.lmcache.ai"],
  ["LMCache's server by its module", runs("lmcache/vllm-openai:latest", "python3 -m lmcache.v1.multiprocess.server --port 5555 --l1-size-gb 20", GPU), "docs.lmcache.ai, multiprocess mode"],
  ["LMCache standalone", runs("lmcache/standalone:nightly", "/opt/venv/bin/lmcache server --host 0.0.0.0 --port 5555", { runtime: "nvidia", ipcMode: "host" }), "docs.lmcache.ai, multiprocess mode"],
  ["llm-d's scheduler", runs("ghcr.io/llm-d/llm-d-inference-scheduler:v0.3.0", "--pool-name vllm-pool"), "llm-d/llm-d, guides"],
  ["LiteLLM", runs("ghcr.io/berriai/litellm:v1.103.0", "--config /app/config.yaml --port 4000", { envs: ["HOSTED_VLLM_API_BASE=http://b:8001/v1"] }), "BerriAI/litellm, docker-compose.yml"],
  ["Open WebUI", runs("ghcr.io/open-webui/open-webui:v0.11.3-cuda", "", { ...GPU, envs: ["OPENAI_API_BASE_URL=http://vllm:8001/v1", "VLLM_LOGGING_LEVEL=INFO"] }), "open-webui/open-webui, docker-compose.gpu.yaml"],
  ["LibreChat", runs("ghcr.io/danny-avila/librechat:v0.8.0", "", { envs: ["OPENAI_REVERSE_PROXY=http://vllm:8001/v1"] }), "danny-avila/LibreChat, docker-compose.yml"],
  ["AnythingLLM", runs("mintplexlabs/anythingllm:1.9", "", { envs: ["LLM_PROVIDER=generic-openai", "GENERIC_OPEN_AI_BASE_PATH=http://vllm:8001/v1"] }), "Mintplex-Labs/anything-llm, docker"],
  ["n8n", runs("docker.n8n.io/n8nio/n8n:1.110.0"), "n8n-io/self-hosted-ai-starter-kit"],
  ["SGLang", runs("lmsysorg/sglang:v0.5.9", "python3 -m sglang.launch_server --model-path org/m --mem-fraction-static 0.4 --host 0.0.0.0 --port 30000", { ...GPU, ipcMode: "host" }), "sgl-project/sglang, docker/compose.yaml"],
  ["SGLang that takes an attention kernel of vLLM's", runs("lmsysorg/sglang:v0.5.9", "python3 -m sglang.launch_server --model-path org/m", { ...GPU, envs: ["VLLM_LOGGING_LEVEL=ERROR"] }), "sgl-project/sglang"],
  ["Text Generation Inference", runs("ghcr.io/huggingface/text-generation-inference:3.3.5", "--model-id org/m --cuda-memory-fraction 0.4", GPU), "huggingface/text-generation-inference, README"],
  ["Text Embeddings Inference", runs("ghcr.io/huggingface/text-embeddings-inference:1.9", "--model-id BAAI/bge-m3 --port 8080 --max-batch-tokens 16384 --auto-truncate", GPU), "huggingface/text-embeddings-inference, README"],
  ["Infinity", runs("michaelf34/infinity:0.0.77", "v2 --model-id BAAI/bge-m3 --port 7997 --engine torch", GPU), "michaelfeil/infinity, README"],
  ["llama.cpp", runs("ghcr.io/ggml-org/llama.cpp:server-cuda", "-m /models/m.gguf -c 32768 --host 0.0.0.0 --port 8080 -ngl 99 -fa on --jinja", GPU), "ggml-org/llama.cpp, docs/docker.md"],
  ["Ollama", runs("ollama/ollama:0.34.4", "serve", GPU), "ollama/ollama, docs/docker.mdx"],
  ["LocalAI", runs("localai/localai:v3.7.0-gpu-nvidia-cuda-12", "", GPU), "mudler/LocalAI, docker-compose.yaml"],
  ["Triton", runs("nvcr.io/nvidia/tritonserver:26.05-py3", "tritonserver --model-repository=/models", { ...GPU, shmSize: 1024 }), "triton-inference-server/server, docs"],
  ["Triton with vLLM's backend in its tag, but other models", runs("nvcr.io/nvidia/tritonserver:26.05-vllm-python-py3", "tritonserver --model-repository=/models", GPU), "triton-inference-server/vllm_backend, README"],
  ["a NIM of speech", runs("nvcr.io/nim/nvidia/parakeet-ctc-1.1b-asr:1.3.0", "", { runtime: "nvidia", envs: ["NIM_HTTP_API_PORT=9000"] }), "NVIDIA NIM, speech"],
  ["a NIM of embeddings", runs("nvcr.io/nim/nvidia/nv-embedqa-e5-v5:1.10", "", { ...GPU, envs: ["NGC_API_KEY=x"] }), "NVIDIA NIM, retrieval"],
  ["TensorRT-LLM", runs("nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc13", "trtllm-serve org/m --backend pytorch --kv_cache_free_gpu_memory_fraction 0.4", GPU), "NVIDIA/dgx-spark-playbooks, trt-llm"],
  ["speaches", runs("ghcr.io/speaches-ai/speaches:0.8.3-cuda", "", GPU), "speaches-ai/speaches, compose.cuda.yaml"],
  ["whisper", runs("onerahmet/openai-whisper-asr-webservice:latest-gpu", "", { ...GPU, envs: ["ASR_MODEL=base"] }), "ahmetoner/whisper-asr-webservice"],
  ["kokoro", runs("ghcr.io/remsky/kokoro-fastapi-gpu:v0.4.0", "", GPU), "remsky/Kokoro-FastAPI, docker/gpu"],
  ["ComfyUI", runs("yanwk/comfyui-boot:cu126-megapak", "", GPU), "YanWenKun/ComfyUI-Docker"],
  ["Jupyter with vLLM's variable", runs("quay.io/jupyter/pytorch-notebook:cuda12-2025-11-01", "start-notebook.py --ServerApp.token=", { ...GPU, envs: ["VLLM_USE_V1=1"] }), "jupyter/docker-stacks"],
  ["code-server", runs("codercom/code-server:4.105.0", "--auth none", { envs: ["OPENAI_BASE_URL=http://vllm:8001/v1"] }), "coder/code-server"],
  ["aider", runs("paulgauthier/aider-full:v0.86", "--openai-api-base http://vllm:8001/v1 --model openai/m"), "Aider-AI/aider, docs/install/docker"],
  ["OpenHands", runs("docker.all-hands.dev/all-hands-ai/openhands:0.60", "", { envs: ["LLM_BASE_URL=http://vllm:8001/v1"] }), "All-Hands-AI/OpenHands, docker-compose.yml"],
  ["DCGM exporter", runs("nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.1-ubuntu22.04", "", { ...GPU, capabilities: { adds: ["SYS_ADMIN"] } }), "NVIDIA/dcgm-exporter, README"],
  ["Prometheus", runs("prom/prometheus:v3.5.0", "--config.file=/etc/prometheus/prometheus.yml --storage.tsdb.retention.time=15d"), "vllm-project/vllm, examples/online_serving/prometheus_grafana"],
  ["Grafana", runs("grafana/grafana:12.2.0", "", { uploads: [{ file: "/d.json", content: '{"title":"vLLM","expr":"vllm:gpu_cache_usage_perc"}' }] }), "vllm-project/vllm, examples/online_serving/prometheus_grafana"],
  ["cAdvisor", runs("gcr.io/cadvisor/cadvisor:v0.52.1", "", { privileged: true }), "google/cadvisor, docs/running.md"],
  ["node exporter", runs("quay.io/prometheus/node-exporter:v1.9.1", "--path.rootfs=/host", { privileged: true }), "prometheus/node_exporter, README"],
  ["a script that watches GPUs", runs("nvidia/cuda:13.0.1-base-ubuntu24.04", "", { ...GPU, command: ["sh", "-c", "while true; do nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader; sleep 5; done"] }), "a common compose file"],
  ["nginx with vLLM in its tag", runs("own/nginx:1.29-vllm", "nginx -g off", GPU), "a proxy of one's own"],
  ["nginx called after vLLM", runs("own/vllm-nginx:1", "", GPU), "a proxy of one's own"],
  ["Dynamo's mocker", runs(DYNAMO, "python3 -m dynamo.mocker --model-path org/m", GPU), "ai-dynamo/dynamo, components/src/dynamo/mocker"],
  ["Caddy", runs("caddy:2.10-alpine", "caddy run --config /etc/caddy/Caddyfile"), "caddyserver/caddy-docker"],
  ["Traefik", runs("traefik:v3.5", "--providers.docker=true --entrypoints.web.address=:80"), "traefik/traefik, docs"],
  ["Envoy", runs("envoyproxy/envoy:v1.36.0", "-c /etc/envoy/envoy.yaml --log-level info"), "envoyproxy/envoy, examples"],
  ["llama-swap", runs("ghcr.io/mostlygeek/llama-swap:cuda", "-config /app/config.yaml -listen :8080", GPU), "mostlygeek/llama-swap, README"],
  ["PostgreSQL with vectors", runs("pgvector/pgvector:pg17"), "pgvector/pgvector, README"],
  ["Qdrant", runs("qdrant/qdrant:v1.15.5-gpu-nvidia", "", { ...GPU, envs: ["QDRANT__GPU__INDEXING=1"] }), "qdrant/qdrant, docs"],
  ["Milvus", runs("milvusdb/milvus:v2.6.2-gpu", "milvus run standalone", GPU), "milvus-io/milvus, docker-compose"],
  ["Redis", runs("redis:8-alpine", "redis-server --save 60 1"), "docker-library/redis"],
  ["etcd", runs("quay.io/coreos/etcd:v3.6.5", "etcd --listen-client-urls http://0.0.0.0:2379"), "ai-dynamo/dynamo, deploy/docker-compose.yml"],
  ["NATS", runs("nats:2.11.9", "-js --trace"), "ai-dynamo/dynamo, deploy/docker-compose.yml"],
  ["k6", runs("grafana/k6:1.3.0", "run /scripts/vllm.js", { envs: ["VLLM_URL=http://vllm:8001"] }), "grafana/k6, docs"],
  ["genai-perf", runs("nvcr.io/nvidia/tritonserver:26.05-py3-sdk", "genai-perf profile -m m --service-kind openai --url http://b:8001", GPU), "triton-inference-server/perf_analyzer"],
];

const VERSIONS = "import vllm, transformers; print(vllm.__version__, transformers.__version__)";
const LOOP = `for name in ("torch", "vllm", "transformers"):
    try:
        print(name, __import__(name).__version__)
    except ImportError:
        print(name, "MISSING")`;

/** What people run in vLLM's own image beside a server. */
// biome-ignore format: one row a line
const UTILITIES: readonly Neighbour[] = [
  ["hf download", vllm("hf", "download org/m --local-dir /models/m", { volumes: HUB }), "huggingface_hub, guides/cli"],
  ["hf download without an entrypoint", { image: `vllm/vllm-openai@${DIGEST}`, command: words("hf download org/m"), volumes: HUB }, "vLLM refuses the words"],
  ["hf download in NVIDIA's image", ngc("hf download org/m", { volumes: HUB }), "NVIDIA/dgx-spark-playbooks"],
  ["hf download in a shell", vllm("/bin/bash -c", ["set -e; hf download org/m && hf download org/n --quiet"], { volumes: HUB }), "a common compose file"],
  ["hf download of a variable", vllm("sh -c", ['hf download "$MODEL"'], { envs: ["MODEL=org/m", "HF_TOKEN=x"] }), "a common compose file"],
  ["hf download beside a variable of its own", vllm("bash -c", ["HF_HUB_ENABLE_HF_TRANSFER=1 hf download org/m --local-dir /models/m"]), "a common compose file"],
  ["hf download if the model is missing", vllm("bash -c", ["[ -d /models/m ] || hf download org/m --local-dir /models/m"], { volumes: [{ hostPath: "/m", containerPath: "/models" }] }), "a common compose file"],
  ["hf download behind its installation", vllm("bash -c", ["pip install -qU huggingface_hub[cli] hf_transfer && hf download org/m"]), "huggingface_hub, installation"],
  ["hf download by uvx", vllm("uvx", "hf download org/m"), "huggingface_hub, guides/cli"],
  ["hf download by its module", vllm("python3", "-m huggingface_hub.commands.huggingface_cli download org/m"), "huggingface_hub 0.34"],
  ["vllm bench serve into a file", vllm("bash -c", ["vllm bench serve --base-url http://b:8001 --model org/m 2>&1 | tee /results/out.txt"]), "a common compose file"],
  ["vllm bench serve by redirection", vllm("bash -c", ["vllm bench serve --base-url http://b:8001 --model org/m > /results/out.txt"]), "a common compose file"],
  ["vllm bench serve in a loop", vllm("bash -c", ["for c in 1 2 4 8; do vllm bench serve --base-url http://b:8001 --model org/m --max-concurrency $c; done"]), "a common compose file"],
  ["vllm serve's help, searched", vllm("bash -c", ["vllm serve --help=all | grep -i kv"]), "docs.vllm.ai, CLI"],
  ["packages, searched", vllm("bash -c", ["pip list | grep -iE 'vllm|torch|transformers'"]), "a look at an image"],
  ["vLLM's module for issues", vllm("python3", "-m vllm.collect_env"), "vllm/collect_env.py"],
  ["a loop of sleep behind an option's end", vllm("/bin/bash -c --", ["while true; do sleep 30; done;"]), "a common Kubernetes manifest"],
  ["metrics in a loop", vllm("sh -c", ["while sleep 30; do curl -fsS http://b:8001/metrics | grep num_requests; done"]), "a common compose file"],
  ["curl that shows a status alone", vllm("sh -c", ["until curl -s -o /dev/null http://b:8001/health; do sleep 2; done; vllm chat --url http://b:8001/v1"]), "a common compose file"],
  ["lm-eval that asks a server", vllm("lm_eval", "--model local-completions --model_args base_url=http://vllm:8001/v1/completions,model=m --tasks gsm8k"), "EleutherAI/lm-evaluation-harness, API_guide"],
  ["ms-swift that trains without vLLM", { image: "modelscope-repo/modelscope:cuda12.8.1-vllm0.11.0-swift3.9.1", ...GPU, command: words("swift sft --model org/m --dataset d") }, "modelscope/ms-swift, SWIFT-installation"],
  ["a container to work in, with a home", vllm("sleep", "infinity", { volumes: [{ hostPath: "/home/me", containerPath: "/home/me" }] }), "a devcontainer"],
  ["versions in one text", vllm("python3", ["-c", "import vllm, torch; print(f'vllm {vllm.__version__}, torch {torch.__version__}')"]), "a look at an image"],
  ["versions by metadata", vllm("python3", ["-c", "import importlib.metadata as m; print(m.version('vllm'), m.version('transformers'))"]), "a look at an image"],
  ["whether PyTorch sees a GPU", vllm("python3", ["-c", "import torch; print(torch.cuda.is_available())"]), "a look at an image"],
  ["huggingface-cli download", vllm("huggingface-cli", "download org/m --revision main"), "huggingface_hub 0.34, guides/cli"],
  ["vllm --version", vllm("vllm", "--version"), "docs.vllm.ai, CLI"],
  ["vllm --version as one line", vllm("vllm --version"), "docs.vllm.ai, CLI"],
  ["--version alone", { image: `vllm/vllm-openai@${DIGEST}`, command: ["--version"] }, "docker run vllm/vllm-openai --version"],
  ["vllm --help", vllm("vllm", "--help"), "docs.vllm.ai, CLI"],
  ["vllm serve --help", vllm("vllm", "serve --help"), "docs.vllm.ai, CLI"],
  ["vllm serve --help=all", vllm("vllm serve", "--help=all"), "docs.vllm.ai, CLI"],
  ["--help alone", { image: `vllm/vllm-openai@${DIGEST}`, command: ["--help"] }, "docker run vllm/vllm-openai --help"],
  ["vllm bench serve", vllm("vllm", "bench serve --backend vllm --base-url http://b:8001 --model org/m --served-model-name m --dataset-name random --num-prompts 100 --max-concurrency 4 --request-rate inf"), "docs.vllm.ai, bench serve"],
  ["vllm bench serve in a shell", vllm("bash -lc", ["until curl -sf http://b:8001/health; do sleep 5; done; exec vllm bench serve --base-url http://b:8001 --model org/m"]), "a common compose file"],
  ["vllm bench serve in NVIDIA's image", ngc("vllm bench serve --base-url http://b:8001 --model org/m"), "NVIDIA/dgx-spark-playbooks"],
  ["vllm bench serve in an image of one's own", { image: `own/bench:1@${DIGEST}`, ...GPU, command: words("vllm bench serve --base-url http://b:8001 --model org/m --max-num-batched-tokens 1") }, "docs.vllm.ai, bench serve"],
  ["vllm chat", vllm("vllm", "chat --url http://b:8001/v1 --quick hi"), "docs.vllm.ai, chat"],
  ["vllm complete", vllm("vllm", "complete --url http://b:8001/v1 --quick hi"), "docs.vllm.ai, complete"],
  ["vllm collect-env", vllm("vllm", "collect-env"), "docs.vllm.ai, collect-env"],
  ["vllm collect-env without an entrypoint", ngc("vllm collect-env"), "vLLM's form for issues"],
  ["vllm collect-env by Python", vllm("python3", "-m vllm.entrypoints.cli.main collect-env"), "vllm/entrypoints/cli/main.py"],
  ["vllm launch render", vllm("vllm", "launch render org/m --port 8002", { gpus: undefined }), "docs.vllm.ai, launch"],
  ["nvidia-smi", vllm("nvidia-smi"), "NVIDIA container toolkit, sample workload"],
  ["nvidia-smi without an entrypoint", { image: `vllm/vllm-openai@${DIGEST}`, ...GPU, command: ["nvidia-smi"] }, "NVIDIA container toolkit, sample workload"],
  ["nvidia-smi -L in NVIDIA's image", ngc("nvidia-smi -L"), "NVIDIA container toolkit"],
  ["sleep infinity", vllm("sleep", "infinity"), "a container to look around in"],
  ["sleep infinity without an entrypoint", ngc("sleep infinity", { volumes: HUB }), "a container to look around in"],
  ["sleep below an init", vllm("/usr/bin/tini --", "sleep infinity"), "krallin/tini, README"],
  ["sleep that ends on a signal", vllm("sh -c", ["trap : TERM INT; sleep infinity & wait"]), "a common compose file"],
  ["tail -f /dev/null", vllm("tail", "-f /dev/null"), "a container to look around in"],
  ["bash", vllm("bash", [], { tty: true, stdinOpen: true }), "docker run -it --entrypoint bash"],
  ["ls in a shell", vllm("bash -c", ["ls -l /models; df -h; env"], { volumes: [{ hostPath: "/m", containerPath: "/models" }] }), "a look at a volume"],
  ["cat", vllm("cat", "/etc/os-release"), "a look at an image"],
  ["env", vllm("env"), "a look at an image"],
  ["pip list", vllm("pip", "list"), "a look at an image"],
  ["pip show", vllm("python3", "-m pip show vllm transformers"), "a look at an image"],
  ["the specification's versions", vllm("python3", ["-c", VERSIONS]), "the specification, Versioning 2"],
  ["the same in NVIDIA's image", ngc(["python3", "-c", VERSIONS]), "the specification, Versioning 2"],
  ["the same in a shell", vllm("sh -c", [`python3 -c "${VERSIONS}"; nvidia-smi`]), "the specification, Versioning 2"],
  ["the specification's versions, or MISSING", vllm("python3", ["-c", LOOP]), "the specification, Versioning 5"],
  ["our own reading of versions", vllm("python3", ["-I", "-c", READ_VERSIONS]), "serving pin"],
  ["python3 --version", vllm("python3", "--version"), "a look at an image"],
  ["a health check that asks for vLLM's version", vllm("sleep", "infinity", { healthcheck: { tests: ["CMD", "python3", "-c", "import vllm; print(vllm.__version__)"] } }), "a common compose file"],
];

export const NEIGHBOURS: readonly Neighbour[] = [...SERVICES, ...UTILITIES];
