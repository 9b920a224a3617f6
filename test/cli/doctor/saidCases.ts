import type { MatrixCase } from "./cases";
import { withServer } from "./stack";

const file = (name: string) => ({ log: `said/${name}.log` });

/** A log that no known line explains: its own last word is the cause. */
const said = (name: string, evidence: string, cause: string, more = {}): MatrixCase => ({
  name: `engine-said: ${name}`,
  files: file(name),
  ids: ["engine-said"],
  evidence,
  cause,
  ...more,
});

const known = (id: string, name: string, evidence: string, more = {}): MatrixCase => ({
  name: `${id}: ${name}`,
  files: file(name),
  ids: [id],
  evidence,
  ...more,
});

const healthy = (name: string): MatrixCase => ({
  name: `nothing: ${name}`,
  files: file(name),
  ids: [],
  evidence: "",
});

/** What the real vLLM 0.30.0 and 0.32.0 say last, and what other layers say for them. */
export const SAID: readonly MatrixCase[] = [
  said("model-folder-typo", "HFValidationError", "/models/Qwen3-Coder-30B-A3B-Instruct-FP8", {
    change: "is looked for inside the container",
  }),
  said("ssl-key-missing", "ctx.load_cert_chain(certfile, keyfile", "No such file or directory", {
    change: "--ssl-keyfile /etc/vllm/tls/privkey.pem",
  }),
  said("quantization-typo", "awq_marlinn", "ended: Unknown quantization method: awq_marlinn.", {
    change: "Must be one of ['awq'",
  }),
  said("custom-code-off", "custom code", "contains custom code", { change: "trust_remote_code" }),
  said("custom-code-package-missing", "causal_conv1d", "not found in your environment", {
    change: "pip install causal_conv1d",
  }),
  known("not-divisible", "heads-not-divisible", "(2)", {
    cause: "must be divisible by tensor parallel size (3)",
    change: "--tensor-parallel-size 3",
  }),
  said("no-sequences", "greater than or equal to 1", "ended: max_num_seqs: Input should be", {
    change: "`maxNumSeqs",
  }),
  known("tokenizer-mode", "tokenizer-mode-mistral", "No tokenizer file", {
    cause: "No tokenizer file found",
    change: "--tokenizer-mode mistral",
  }),
  known("weights-unlike-config", "vocabulary-larger-than-weights", "AssertionError", {
    cause: "don't belong together: a tensor has another shape.",
    change: "from one revision of one model",
  }),
  known("variable-refused", "logging-level-verbose", "Unable to configure", {
    cause: "the value of VLLM_LOGGING_LEVEL: Unknown level: 'VERBOSE'.",
    change: "has it already",
  }),
  said("no-network-interface", "device.cc", "Unable to find interface for: [172.17.0.2]"),
  said("host-of-another-machine", "[Errno 99]", "Cannot assign requested address"),
  said("engine-segfault-in-warm-up", "Segfault", "SIGSEGV, a segmentation fault"),
  said("segfault-by-the-gate", "by signal 11 (SEGV)", "ended by signal 11 (SIGSEGV"),
  known("module-shadowed", "module-shadowed", "tokenizers.py", {
    cause: "cannot import name 'Encoding' from 'tokenizers'",
    change:
      "start vLLM in another folder than the one that holds /vllm-workspace/lib/tokenizers.py",
  }),
  said("rust-panic", "model.rs:351", "merge of a token that is not in the vocabulary"),
  known("cuda-illegal-access", "cpp-terminate", "what():  CUDA error: unspecified", {
    cause: "unspecified launch failure",
    change: "pin another release",
  }),
  said("worker-failed", "Worker failed", "served, then ended: The size of tensor a (128)"),
  said("window-only-warned", "Invalid repository ID", "'/models/gen-greedy'", {
    change: "--generation-config /models/gen-greedy",
  }),
  known("argument-refused", "argument-that-is-an-object", "--structured-outputs-config", {
    cause: "refuses the value of --structured-outputs-config: disable_any_whitespace is",
    change: "or in `extraArgs`",
  }),
  known("docker-denied", "docker-socket-forbidden", "docker.sock", {
    cause: "This user may not use Docker",
    change: "join that group",
  }),
  known("gguf-as-model", "gguf-as-model", "Q4_K_M.gguf", { change: "with Ollama" }),
  known("weights-not-found", "weights-of-other-files", "Qwen3-8B-sql", { change: "loadFormat" }),
  known("weights-of-another-shape", "weights-of-another-shape", "dimension size (256)", {
    change: "from one revision of one model",
  }),
  said("command-of-a-script", "run.sh", "exec: vllm: not found", {
    change: "Look at line",
  }),
  ...[
    ["no-vllm-setsid", "failed to execute vllm"],
    ["no-vllm-busybox", "can't execute 'vllm'"],
    ["no-vllm-dash", "gate: 382: vllm: not found"],
    ["no-vllm-bash", "vllm: command not found"],
  ].map(([name = "", evidence = ""]) =>
    known("no-vllm-inside", name, evidence, { change: "Pin an image with vLLM inside" }),
  ),
  said("server-instead-of-serve", "'server'", "argument subparser: invalid choice", {
    change: "Look at line",
  }),
  known("program-missing", "oci-error", "OCI runtime", {
    cause: "The image has no program vllm-serve",
  }),
  said("attention-backend", "Valid options are", "ended: Unknown attention backend: 'FLASHINFR'", {
    text: withServer(["environment", { MY_BACKEND: "FLASHINFR" }]),
    change: "line 29, `environment.MY_BACKEND: FLASHINFR`",
  }),
  known("model-json-damaged", "tokenizer-is-lfs-pointer", "Expecting value: line 1 column 1"),
  known("hub-model-absent", "hub-repository-absent", "is not a local folder", {
    cause: "Qwen/Qwen3-Coder-30B-A3B-Instruct-NVFP4",
  }),
  known("hub-busy", "hub-busy", "Retry 2/5", {
    edits: [["inferenceServers.b.huggingFaceTokenVariable", "HF_TOKEN"]],
  }),
  known("hub-out-of-service", "hub-out-of-service", "HTTP Error 503", { cause: "status 503" }),
  known("weights-index-damaged", "weights-index-damaged", 'json.load(f)["weight_map"]', {
    cause: "model.safetensors.index.json",
  }),
  known("killed", "served-broke-off", "broke off without a word", {
    cause: "It has been started again since.",
  }),
  known("parser-plugin", "parser-plugin", "Failed to load module 'acme_tools'", {
    cause: "/etc/vllm/plugins/acme_tools.py",
  }),
  said("host-with-scheme", "socket.gaierror", "Name or service not known", {
    change: "It was started with `--host http://0.0.0.0`.",
  }),
  said("zeromq-threads", "src/thread.cpp:241", "Resource temporarily unavailable"),
  known("model-not-in-cache", "proxy-refuses", "huggingface.co", {
    cause: "HF_HUB_OFFLINE is set ([Errno 111] Connection refused).",
  }),
  known("killed", "served-worker-gone", "VllmWorker-0 died unexpectedly", {
    cause: "ended without a word",
  }),
  known("killed", "worker-killed-in-warm-up", "core proc(s): {}"),
  said("unix-socket", "sock.bind(path)", "No such file or directory", {
    change: "It was started with `--uds /run/vllm/api.sock`.",
  }),
  said("python-home", "Fatal Python error", "ModuleNotFoundError: No module named 'encodings'."),
  known("hub-certificate", "hub-certificate", "CERTIFICATE_VERIFY_FAILED", {
    cause: "self-signed certificate in certificate chain.",
  }),
  known("too-many-open-files", "open-files", "Too many open files", { change: "nofile" }),
  known("wrong-platform", "exec-format-error", "exec format error", { change: "uname -m" }),
  known("wrong-platform", "no-manifest", "no matching manifest", {
    cause: "The registry has no image of that name for this machine's processor (linux/arm64/v8).",
  }),
  known("remote-code", "remote-code", "trust_remote_code=True", {
    edits: [["inferenceServers.b.trustRemoteCode", true]],
  }),
  known("quantization-differs", "quantization-differs", "(compressed-tensors)", {
    cause: "`--quantization` says modelopt, and the model's own files say compressed-tensors.",
    change: "Take `--quantization` out of `extraArgs`",
  }),
  known("dtype-unfit", "dtype-unfit", "Supported dtypes", {
    cause: "Weights of awq can't be computed in bfloat16.",
    change: "`--dtype float16`",
  }),
  known("model-missing", "model-missing", "are required: model_tag", {
    change: "`vllm serve MODEL`",
  }),
  known("argument-refused", "choice-later", "invalid choice: 'llama3_json'", {
    cause: "`llama3_json` came with a later one.",
    change: "Take an image of vLLM 0.23.0 or later",
  }),
  known("argument-refused", "pairs-for-json", "cannot be converted", {
    cause: "The value of --limit-mm-per-prompt isn't JSON: `image=4,video=1`.",
    change: `--limit-mm-per-prompt '{"image":4,"video":1}'`,
  }),
  known("gpu-mode-cdi", "gpu-mode-cdi", "Container Runtime Hook", { change: "the toolkit's hook" }),
  known("driver-too-old", "driver-too-old", "cuda>=13.0", { change: "update the driver" }),
  known("chat-template-broken", "chat-template-broken", "TemplateSyntaxError", {
    cause: "Unexpected end of template",
  }),
  known("killed", "engine-killed-in-load", "Failed core proc(s): {}", {
    cause: "ended without a word",
  }),
  known("killed", "served-killed-restarted", "engine core exited unexpectedly", {
    cause: "It has been started again since.",
  }),
  known("prefix-cache-cold", "prefix-caching-off", "hit rate: 0.0%", {
    cause: "Prefix caching is off",
    change: "has it already",
  }),
  healthy("healthy-stop-idle"),
  healthy("healthy-other-name"),
  healthy("healthy-address-warning"),
  healthy("healthy-adapters-refused"),
  healthy("healthy-wrong-paths"),
  healthy("healthy-short-prompts"),
];
