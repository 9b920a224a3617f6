/** A log in a few lines, and what doctor is to say of it. */
export interface PlaceCase {
  readonly name: string;
  /** The only diagnosis; "" where none may be. */
  readonly id: string;
  /** The only note, where there is no diagnosis. */
  readonly note?: string;
  readonly lines: readonly string[];
  readonly cause?: string;
  /** In the change or the note. */
  readonly change?: string;
  /** What no part of the report may hold. */
  readonly not?: RegExp;
}

const IMAGE = "/usr/local/lib/python3.12/dist-packages";
export const VENV = "/home/op/vllm/lib/python3.12/site-packages";
export const UP = "INFO:     Application startup complete.";
export const ARGS =
  "(APIServer pid=1) INFO 09-05 10:19:15 [a.py:1] non-default args: {'model_tag': 'org/m', 'max_model_len': 32768, 'kv_cache_dtype': 'fp8', 'enforce_eager': True, 'speculative_config': {'method': 'suffix', 'num_speculative_tokens': 3}, 'served_model_name': ['m'], 'revision': 'v2.0'}";

/** What a process ends of, raised below these files. */
export const raised = (
  what: string,
  files: readonly string[],
  { root = IMAGE, code = "f(x)" } = {},
) => [
  ARGS,
  "(EngineCore pid=2) Traceback (most recent call last):",
  ...files.flatMap((file) => [
    `(EngineCore pid=2)   File "${file.startsWith("/") ? file : `${root}/${file}`}", line 7, in f`,
    `(EngineCore pid=2)     ${code}`,
  ]),
  ...what.split("\n").map((line) => `(EngineCore pid=2) ${line}`),
];

const failed = (what: string, files: readonly string[]) => raised(what, files).slice(1);

/** The same, behind what it comes of. */
export const chained = (first: readonly string[], last: string) => [
  ...first,
  "(EngineCore pid=2) ",
  "(EngineCore pid=2) The above exception was the direct cause of the following exception:",
  "(EngineCore pid=2) ",
  ...raised(last, ["transformers/utils/hub.py"]).slice(1),
];

const CORE = "vllm/v1/engine/core.py";
export const access = (path: string, status: string, method = "POST", client = "10.0.0.9") =>
  `INFO:     ${client}:51544 - "${method} ${path} HTTP/1.1" ${status}`;
export const error = (text: string) =>
  `(APIServer pid=1) ERROR 09-05 11:36:01 [serving.py:323] ${text}`;
const twice = (...lines: readonly string[]) => [...lines, ...lines];
const thrice = (...lines: readonly string[]) => [...lines, ...lines, ...lines];
export const figures = (
  clock: string,
  runs: number,
  waits: number,
  usage: number,
  generation = 0,
) =>
  `(APIServer pid=1) INFO 09-05 ${clock} [loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: ${generation}.0 tokens/s, Running: ${runs} reqs, Waiting: ${waits} reqs, GPU KV cache usage: ${usage}%, Prefix cache hit rate: 61.0%`;
export const loading = (clock: string, text: string) =>
  `(EngineCore pid=2) INFO 09-05 ${clock} [core.py:1] ${text}`;

/** Built against something else, or put together from what doesn't belong together. */
const PACKAGES: readonly PlaceCase[] = [
  {
    name: "CUDA 12's library in an image",
    id: "built-for-another",
    lines: raised(
      "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
      [CORE, "deep_ep/__init__.py"],
    ),
    cause: "built for CUDA 12",
    change: "Pin another image",
    not: /Look at line/,
  },
  {
    name: "the same, of which somebody kept no heading, by a worker of another process",
    id: "built-for-another",
    lines: raised(
      "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
      [CORE, "deep_ep/__init__.py"],
    )
      .filter((line) => !line.includes("Traceback"))
      .map((line) =>
        line.replace("(EngineCore pid=2)", "$& (RayWorkerWrapper pid=9, ip=10.0.0.2)"),
      ),
    cause: "built for CUDA 12",
    change: "Pin another image",
    not: /Look at line/,
  },
  {
    name: "the same in a virtual environment",
    id: "built-for-another",
    lines: raised(
      "OSError: libcublas.so.13: cannot open shared object file: No such file or directory",
      ["torch/__init__.py"],
      { root: VENV },
    ),
    cause: "/home/op/vllm was built for CUDA 13",
    change: "fresh environment",
  },
  {
    name: "the driver's library",
    id: "built-for-another",
    lines: raised(
      "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
      ["triton/backends/nvidia/driver.py"],
    ),
    cause: "a library of the driver",
  },
  {
    name: "another library",
    id: "built-for-another",
    lines: raised(
      "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
      ["cv2/__init__.py"],
    ),
    cause: "that a package needs is missing: libGL.so.1",
  },
  {
    name: "a symbol of CUDA",
    id: "built-for-another",
    lines: raised(
      "ImportError: /x/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
      ["torch/__init__.py"],
    ),
    cause: "no symbol __nvJitLinkComplete_12_4",
  },
  {
    name: "a symbol of torch in any module",
    id: "torch-mismatch",
    lines: raised(
      "ImportError: /x/flash_attn_2_cuda.cpython-312-aarch64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE",
      ["flash_attn/flash_attn_interface.py"],
    ),
    cause: "flash_attn_2_cuda.cpython-312-aarch64-linux-gnu.so was built for another torch",
  },
  {
    name: "names that moved, in an image",
    id: "packages-apart",
    lines: raised(
      `ImportError: cannot import name 'x' from 'transformers.utils' (${IMAGE}/transformers/utils/__init__.py)`,
      ["vllm/config/model.py"],
    ),
    cause: "Two packages of this image",
    change: "Pin an image of a release",
  },
  {
    name: "names that moved, in a virtual environment",
    id: "packages-apart",
    lines: raised(
      `ImportError: cannot import name 'x' from 'transformers.utils' (${VENV}/transformers/utils/__init__.py)`,
      ["vllm/config/model.py"],
      { root: VENV },
    ),
    cause: "Two packages in /home/op/vllm",
    not: /serving pin/,
  },
  {
    name: "a package that isn't there",
    id: "package-missing",
    lines: raised("ModuleNotFoundError: No module named 'bitsandbytes'", [
      "vllm/model_executor/model_loader/bitsandbytes_loader.py",
    ]),
    cause: "lacks the package bitsandbytes",
  },
  {
    name: "a checkout in the way",
    id: "module-shadowed",
    lines: raised("ModuleNotFoundError: No module named 'vllm._C'", [
      "/home/op/src/vllm/vllm/platforms/cuda.py",
    ]),
    cause: "shadows the package",
    change: "start vLLM in another folder",
  },
];

/** Kernels and their makers. */
const KERNELS: readonly PlaceCase[] = [
  {
    name: "below FlashInfer, for the experts",
    id: "kernel-unfit",
    lines: raised("RuntimeError: Failed to initialize cutlass TMA WS grouped gemm", [
      "vllm/model_executor/layers/fused_moe/flashinfer_cutlass_moe.py",
      "flashinfer/fused_moe/core.py",
    ]),
    cause: "FlashInfer can't make or run a kernel on this GPU, for the experts",
    change: 'moeBackend: "marlin"',
  },
  {
    name: "below Triton, for attention",
    id: "kernel-unfit",
    lines: raised("triton.compiler.errors.CompilationError: at 12:9: PassManager::run failed", [
      "vllm/v1/attention/backends/triton_attn.py",
      "triton/compiler/compiler.py",
    ]),
    cause: "Triton can't make",
    change: 'attentionBackend: "FLASHINFER"',
  },
  {
    name: "below TVM, with nothing to switch",
    id: "kernel-unfit",
    lines: raised("tvm.error.InternalError: Check failed: (status == cudaSuccess) is false", [
      CORE,
      "tvm_ffi/_ffi_api.py",
    ]),
    cause: "TVM can't make",
    change: "pin another one",
  },
  {
    name: "a library that only its status names",
    id: "kernel-unfit",
    lines: raised("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED", [
      "vllm/model_executor/models/qwen3_vl.py",
      "torch/nn/modules/conv.py",
    ]),
    cause: "cuDNN can't make",
  },
  {
    name: "an argument that a backend doesn't take",
    id: "engine-said",
    lines: raised("ValueError: FlashInfer does not take a block of 7 tokens", [
      "vllm/v1/attention/backends/flashinfer.py",
    ]),
  },
  {
    name: "a sticky error in Triton's words",
    id: "cuda-illegal-access",
    lines: raised("RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered", [
      "triton/runtime/jit.py",
    ]),
  },
  {
    name: "what a compiler says, over what its wrapper does",
    id: "compiler-too-old",
    lines: [
      ...raised(
        "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
        ["flashinfer/jit/cpp_ext.py"],
      ),
      "(EngineCore pid=2) nvcc fatal   : Unsupported gpu architecture 'compute_121a'",
    ],
    cause: "nvcc doesn't know compute_121a",
    not: /CalledProcessError: Command.*Look at line/,
  },
  {
    name: "no compiler",
    id: "compiler-missing",
    lines: raised(
      "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
      ["triton/runtime/build.py"],
    ),
    cause: "C compiler",
  },
  {
    name: "no ninja",
    id: "compiler-missing",
    lines: raised("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", [
      "flashinfer/jit/cpp_ext.py",
    ]),
    cause: "ninja",
  },
  {
    name: "memory, wherever it runs out",
    id: "out-of-memory-loading",
    lines: raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", [
      "flashinfer/fused_moe/core.py",
    ]),
  },
  {
    name: "a sticky error",
    id: "cuda-illegal-access",
    lines: raised("torch.AcceleratorError: CUDA error: unspecified launch failure", [
      "vllm/v1/worker/gpu_model_runner.py",
    ]),
    cause: "unspecified launch failure",
  },
  {
    name: "an assertion in a kernel",
    id: "cuda-illegal-access",
    lines: raised("RuntimeError: CUDA error: device-side assert triggered", ["torch/x.py"]),
    cause: "device-side assert",
  },
  {
    name: "a driver that is older than the kernels",
    id: "driver-too-old",
    lines: raised(
      "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
      ["triton/backends/nvidia/driver.py"],
    ),
    cause: "The driver is too old",
    change: "update the driver",
  },
];

/** Files, the hub, the network and Docker: told by where and by status. */
const PLACES: readonly PlaceCase[] = [
  {
    name: "an empty shard",
    id: "weights-damaged",
    lines: raised("struct.error: unpack requires a buffer of 8 bytes", [
      "vllm/transformers_utils/utils.py",
    ]),
    cause: "`*.safetensors`",
    not: /--enforce-eager|kv-cache/,
  },
  {
    name: "a web page as weights",
    id: "weights-damaged",
    lines: raised("MemoryError", ["vllm/transformers_utils/utils.py"]),
    cause: "web page",
    not: /kv-cache/,
  },
  {
    name: "torch's own form, damaged",
    id: "weights-damaged",
    lines: raised(
      "_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6 we changed `weights_only`.",
      ["vllm/model_executor/model_loader/weight_utils.py", "torch/serialization.py"],
    ),
    cause: "`*.bin`",
    not: /trust-remote-code/,
  },
  {
    name: "a cut tokenizer",
    id: "model-json-damaged",
    lines: raised(
      "json.decoder.JSONDecodeError: Expecting value: line 12060 column 8 (char 301234)",
      ["transformers/tokenization_utils_base.py", "/usr/lib/python3.12/json/decoder.py"],
    ),
    cause: "tokenizer.json",
  },
  {
    name: "an adapter's file",
    id: "adapter-files-damaged",
    lines: raised("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", [
      "vllm/lora/peft_helper.py",
    ]),
    cause: "adapter_config.json",
  },
  {
    name: "shared memory",
    id: "shared-memory-denied",
    lines: raised("PermissionError: [Errno 13] Permission denied: '/psm_4f1e'", [
      "vllm/distributed/device_communicators/shm_broadcast.py",
    ]),
    cause: "/dev/shm",
    not: /files of the cache/,
  },
  {
    name: "a proxy that wants a password",
    id: "hub-proxy",
    lines: chained(
      raised("httpx.ProxyError: 407 Proxy Authentication Required", [
        "httpx/_transports/default.py",
      ]),
      "OSError: Can't load the configuration of 'org/m'. If you were trying to load it from 'https://huggingface.co/models', make sure you don't have a local directory with the same name.",
    ),
    cause: "407",
    not: /local directory|model\.id/,
  },
  {
    name: "a SOCKS proxy",
    id: "hub-proxy",
    lines: chained(
      raised("ImportError: Using SOCKS proxy, but the 'socksio' package is not installed.", [
        "httpx/_transports/default.py",
      ]),
      "OSError: Can't load the configuration of 'org/m'. If you were trying to load it from 'https://huggingface.co/models', make sure you don't have a local directory with the same name.",
    ),
    cause: "SOCKS",
    not: /local directory/,
  },
  {
    name: "a wrong token",
    id: "hub-token-refused",
    lines: chained(
      raised(
        "huggingface_hub.errors.HfHubHTTPError: Client error '401 Unauthorized' for url 'https://huggingface.co/org/m/resolve/main/config.json'",
        ["huggingface_hub/utils/_http.py"],
      ),
      "OSError: Can't load the configuration of 'org/m'. If you were trying to load it from 'https://huggingface.co/models', make sure you don't have a local directory with the same name.",
    ),
    cause: "HF_TOKEN is wrong",
  },
  {
    name: "a filter",
    id: "hub-filtered",
    lines: raised(
      "huggingface_hub.errors.LocalEntryNotFoundError: 403 Client Error: Forbidden for url: https://huggingface.co/org/m",
      ["huggingface_hub/file_download.py"],
    ),
    cause: "refused with 403",
    not: /there is no network/,
  },
  {
    name: "a login page",
    id: "hub-filtered",
    lines: raised(
      "huggingface_hub.errors.FileMetadataError: Response from https://huggingface.co/org/m is missing the 'X-Repo-Commit' header, so it does not seem to be served by a Hugging Face Hub endpoint.",
      ["huggingface_hub/file_download.py"],
    ),
    cause: "login page",
  },
  {
    name: "a revision that isn't in the cache",
    id: "model-not-in-cache",
    lines: raised(
      "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files",
      ["huggingface_hub/file_download.py"],
    ),
    cause: "in its revision `v2.0`",
  },
  {
    name: "the head's name",
    id: "master-unresolved",
    lines: [
      ARGS,
      "[W905 10:19:36.598644385 socket.cpp:764] [c10d] The IPv6 network addresses of (spark-1, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
    ],
    cause: "spark-1",
  },
  {
    name: "NCCL's other words",
    id: "engine-said",
    lines: [
      ARGS,
      "spark:12:34 [0] init.cc:1 NCCL WARN Cuda failure 999 'unknown error' in NVLS",
      ...failed("RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)", [
        "vllm/distributed/device_communicators/pynccl_wrapper.py",
      ]),
    ],
    change: "NCCL itself said: Cuda failure 999 'unknown error' in NVLS",
  },
  {
    name: "NCCL's interface",
    id: "nccl-interface",
    lines: [
      ARGS,
      "spark:12:34 [0] bootstrap.cc:92 NCCL WARN Bootstrap : no socket interface found",
      ...failed(
        "RuntimeError: NCCL error: internal error - please report this issue to the NCCL developers",
        ["vllm/distributed/device_communicators/pynccl_wrapper.py"],
      ),
    ],
    cause: "NCCL_SOCKET_IFNAME",
    not: /report this issue/,
  },
  {
    name: "NCCL's connection",
    id: "nccl-unreachable",
    lines: [
      ARGS,
      "spark:12:34 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2<43567> failed : Connection refused",
      ...failed(
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system error",
        ["torch/distributed/c10d_logger.py"],
      ),
    ],
    cause: "10.0.0.2, port 43567 (Connection refused)",
    not: /gidIndex/,
  },
  {
    name: "a driver without its reboot",
    id: "driver-not-loaded",
    lines: [
      "docker: Error response from daemon: failed to create task for container: OCI runtime create failed: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'",
      "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
    ],
    cause: "updated without a reboot",
    change: "reboot",
  },
  {
    name: "a folder that Docker doesn't find",
    id: "bind-source-missing",
    lines: [
      'docker: Error response from daemon: invalid mount config for type "bind": bind source path does not exist: /srv/models',
    ],
    cause: "The machine has no /srv/models",
    not: /inside the container/,
  },
  {
    name: "a port at another address",
    id: "address-changed",
    lines: [
      "docker: Error response from daemon: driver failed programming external connectivity on endpoint vllm: failed to bind host port for 192.168.7.5:8000:172.17.0.2:8000/tcp: listen tcp4 192.168.7.5:8000: bind: cannot assign requested address",
    ],
    cause: "no address 192.168.7.5",
    not: /clients\.host/,
  },
  {
    name: "words of a message that are also options",
    id: "engine-said",
    lines: raised(
      "RuntimeError: [enforce fail at /pytorch/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to use fp8 with method of suffix",
      [CORE],
    ),
    not: /--enforce-eager|--method|--num-speculative|kv-cache-dtype/,
  },
  {
    name: "a list of requirements",
    id: "engine-said",
    lines: raised(
      "ValueError: Nothing at '/x/y'. Please verify the following requirements: 1. Provide a folder. 2. Or a name.",
      [CORE],
    ),
    change: "1. Provide a folder. 2. Or a name.",
  },
];

/** A server that is up, or is long in coming up. */
const SERVING: readonly PlaceCase[] = [
  {
    name: "one refusal",
    id: "",
    lines: [
      ARGS,
      UP,
      error("Bad: it is invalid"),
      access("/v1/chat/completions", "400 Bad Request"),
    ],
  },
  {
    name: "different refusals",
    id: "",
    lines: [
      ARGS,
      UP,
      access("/v1/chat/completions", "200 OK"),
      ...["one", "two", "three"].flatMap((each) => [
        error(`Invalid ${each}`),
        access("/v1/chat/completions", "400 Bad Request"),
      ]),
    ],
  },
  {
    name: "one failure",
    id: "",
    lines: [
      ARGS,
      UP,
      access("/v1/chat/completions", "500 Internal Server Error"),
      error("Exception in ASGI application"),
    ],
  },
  {
    name: "a slash too many",
    id: "client-refused",
    lines: [ARGS, UP, ...twice(access("//models", "404 Not Found", "GET"))],
    cause: "`//models`",
    change: "slash",
  },
  {
    name: "another name, again and again",
    id: "client-refused",
    lines: [
      ARGS,
      UP,
      ...thrice(
        error(
          "Error with model error=ErrorInfo(message='The model `gpt-4o` does not exist.', code=404)",
        ),
        access("/v1/chat/completions", "404 Not Found"),
      ),
    ],
    cause: "asks for the model `gpt-4o`, and the server answers to `m`",
  },
  {
    name: "Ollama's API",
    id: "client-refused",
    lines: [ARGS, UP, ...thrice(access("/api/tags", "404 Not Found", "GET"))],
    cause: "Ollama's API",
  },
  {
    name: "failures with their exception",
    id: "requests-fail",
    lines: [
      ARGS,
      UP,
      ...twice(
        error("Error in chat completion stream generator."),
        error("Traceback (most recent call last):"),
        error(`  File "${IMAGE}/xgrammar/compiler.py", line 3, in f`),
        error("RuntimeError: Unsupported schema keyword"),
        access("/v1/chat/completions", "500 Internal Server Error"),
      ),
    ],
    cause: "Unsupported schema keyword",
    change: "schema",
  },
  {
    name: "every chat refused by its template",
    id: "template-refuses",
    lines: [
      ARGS,
      UP,
      error("Chat template rejected the request: Conversation roles must alternate user/assistant"),
      access("/v1/chat/completions", "400 Bad Request"),
    ],
    cause: "every chat so far: Conversation roles must alternate",
    change: "chatTemplate",
  },
  {
    name: "one of many refused by its template",
    id: "",
    lines: [
      ARGS,
      UP,
      access("/v1/chat/completions", "200 OK"),
      error("Chat template rejected the request: Conversation roles must alternate user/assistant"),
      access("/v1/chat/completions", "400 Bad Request"),
    ],
  },
  {
    name: "no token, and nothing moves",
    id: "engine-hangs",
    lines: [
      ARGS,
      UP,
      ...["00:00", "00:40", "01:20", "02:10"].map((at, index) =>
        figures(`15:${at}`, 2, index, 3.1),
      ),
    ],
    cause: "no token was made for 2 min 10 s",
  },
  {
    name: "a long prompt that is read",
    id: "",
    lines: [
      ARGS,
      UP,
      ...["00:00", "00:10", "00:20"].map((at, index) => figures(`15:${at}`, 1, 0, 3.1 + index)),
    ],
  },
  {
    name: "tokens came again",
    id: "",
    lines: [
      ARGS,
      UP,
      ...["00:00", "05:00"].map((at) => figures(`15:${at}`, 1, 0, 3.1)),
      figures("15:06:00", 1, 0, 3.1, 20),
    ],
  },
  {
    name: "a start without a new word",
    id: "start-stands-still",
    lines: [
      ARGS,
      loading("10:24:04", "Model loading took 66.1 GiB memory and 312.4 seconds"),
      ...["10:26:04", "10:40:04", "11:30:04"].map((at) =>
        loading(at, "No available shared memory broadcast block found in 60 seconds."),
      ),
    ],
    cause: "for 66 min 0 s, since 09-05 10:24:04",
    not: /do not kill it/,
  },
  {
    name: "a start that takes its time",
    id: "first-boot",
    lines: [
      ARGS,
      loading("10:24:04", "Model loading took 66.1 GiB memory and 312.4 seconds"),
      loading("10:33:04", "No available shared memory broadcast block found in 60 seconds."),
    ],
    change: "do not kill it",
  },
];

/** What a machine, an account or an image lacks. */
const LACKING: readonly PlaceCase[] = [
  {
    name: "a package in a release that isn't there",
    id: "package-missing",
    lines: raised(
      "ImportError: Please install timm>=1.0.17,<2 via `pip install timm>=1.0.17` to use it.",
      ["vllm/model_executor/models/registry.py"],
    ),
    cause: "This image lacks the package timm>=1.0.17,<2, or has another version",
    change: "`pip install 'timm>=1.0.17,<2'`",
  },
  {
    name: "a compiler where its variable leads",
    id: "compiler-missing",
    lines: raised(
      "RuntimeError: Ninja build failed. Ninja output:\n[1/2] /opt/cuda:/usr/bin/nvcc -c a.cu\n/bin/sh: 1: /opt/cuda:/usr/bin/nvcc: not found",
      ["flashinfer/jit/cpp_ext.py"],
    ),
    cause: "no nvcc below /opt/cuda:/usr, which CUDA_HOME",
    change: "one path, without a colon",
    not: /GPU/,
  },
  {
    name: "a compiler that no path leads to",
    id: "compiler-missing",
    lines: raised("RuntimeError: Ninja build failed:\nsh: line 1: nvcc: command not found", [
      "flashinfer/jit/cpp_ext.py",
    ]),
    cause: "lacks what compiles kernels at the first start: nvcc",
    not: /without a colon/,
  },
  {
    name: "no kernel for the experts",
    id: "experts-without-kernel",
    lines: raised(
      "NotImplementedError: No Fp8 MoE backend supports the deployment configuration.",
      [
        "vllm/model_executor/layers/quantization/fp8.py",
        "vllm/model_executor/layers/fused_moe/oracle/fp8.py",
      ],
    ),
    change: "`moeBackend: marlin`",
  },
  {
    name: "a GGUF file of another family",
    id: "gguf-as-model",
    lines: raised("RuntimeError: Unknown gguf model_type: olmo3", [
      "vllm/model_executor/model_loader/gguf_loader.py",
    ]),
    cause: "can't read this GGUF file: Unknown gguf model_type: olmo3",
    change: "with Ollama",
  },
  {
    name: "no kernel for the linear layers",
    id: "linear-without-kernel",
    lines: raised(
      "ValueError: Failed to find a kernel that can implement the WNA16 linear layer. Reasons: \n MacheteLinearKernel requires capability 90, current compute  capability is 121",
      ["vllm/model_executor/kernels/linear/__init__.py"],
    ),
    cause: "this model's WNA16 linear layers",
  },
  {
    name: "weights of a draft in another form",
    id: "draft-unlike-weights",
    lines: raised(
      "KeyError: 'model.layers.0.hidden_norm.bias'",
      ["vllm/model_executor/models/llama_eagle3.py"],
      { code: "param = params_dict[name]" },
    ),
    cause: "'model.layers.0.hidden_norm.bias'",
    change: "without `speculative`",
    not: /config\.json|force-download/,
  },
  {
    name: "a token with chosen permissions",
    id: "gated-model",
    lines: [
      "huggingface_hub.errors.HfHubHTTPError: 403 Forbidden: Please enable access to public gated repositories in your fine-grained token settings to view this repository..",
    ],
    cause: "may not read gated repositories",
    not: /huggingFaceTokenVariable/,
  },
  {
    name: "a port that the log doesn't name",
    id: "port-taken",
    lines: ["(APIServer pid=1) OSError: [Errno 98] Address already in use"],
    cause: "the log doesn't say which port",
    not: /Port 0|:0'/,
  },
  {
    name: "an account that wasn't let in",
    id: "gated-model",
    lines: [
      "huggingface_hub.errors.GatedRepoError: 403 Client Error.",
      "Access to model org/m is restricted and you are not in the authorized list. Visit https://huggingface.co/org/m to ask for access.",
    ],
    change: "ask for access on the model's page",
    not: /huggingFaceTokenVariable|has no token/,
  },
  {
    name: "a user without a home",
    id: "permission-denied",
    lines: raised("PermissionError: [Errno 13] Permission denied: '/.triton'", ["triton/cache.py"]),
    cause: "no home of its own",
    change: "Set HOME where the server starts",
    not: /huggingface/,
  },
  {
    name: "a folder that belongs to another user",
    id: "permission-denied",
    lines: raised("PermissionError: [Errno 13] Permission denied: '/data/kernels/a'", [
      "flashinfer/jit/env.py",
    ]),
    change: "let the user that the server runs as into that folder",
    not: /huggingface|HOME/,
  },
  {
    name: "another program than vLLM",
    id: "engine-said",
    lines: [
      "open-webui  | Traceback (most recent call last):",
      'open-webui  |   File "/app/backend/open_webui/main.py", line 60, in <module>',
      "open-webui  |     start()",
      "open-webui  | KeyError: 'WEBUI'",
      "open-webui exited with code 1",
    ],
    cause: "The program ended: KeyError: 'WEBUI'.",
    not: /exited with|vLLM ended/,
  },
  {
    name: "Ray's nodes, which came",
    id: "",
    lines: [
      loading("10:00:00", "Waiting for creating a placement group of specs for 10 seconds."),
      loading("10:01:00", "rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1"),
    ],
  },
];

export const PLACE_CASES: readonly PlaceCase[] = [
  ...PACKAGES,
  ...KERNELS,
  ...PLACES,
  ...SERVING,
  ...LACKING,
];
