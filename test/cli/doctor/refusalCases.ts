import { ARGS, access, type PlaceCase, raised, UP, VENV } from "./placeCases";

const CONFIG = ["vllm/engine/arg_utils.py", "pydantic/_internal/_dataclasses.py"];
const SEE_PYDANTIC =
  "    For further information visit https://errors.pydantic.dev/2.12/v/value_error";
const refused = (validated: string, ...fields: readonly string[]) =>
  [
    `pydantic_core._pydantic_core.ValidationError: 1 validation error for ${validated}`,
    ...fields,
    SEE_PYDANTIC,
  ].join("\n");
const started = (args: string) =>
  `(APIServer pid=1) INFO 09-05 10:19:15 [a.py:1] non-default args: {'model_tag': 'org/m', ${args}}`;

/** Values and numbers that vLLM's own classes refuse. */
const VALUES: readonly PlaceCase[] = [
  {
    name: "a field of a class, where the log doesn't say what was given",
    id: "engine-said",
    lines: raised(
      refused(
        "SchedulerConfig",
        "max_num_scheduled_tokens",
        "  Input should be greater than or equal to 0 [type=greater_than_equal, input_value=-1, input_type=int]",
      ),
      CONFIG,
    ),
    cause: "vLLM ended: max_num_scheduled_tokens: Input should be greater than or equal to 0.",
    change: "the option `--max-num-scheduled-tokens`, in the stack file `extraArgs`",
  },
  {
    name: "the words of such a class alone",
    id: "engine-said",
    lines: [
      "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig",
      "block_size",
      "  Input should be 1, 8, 16 or 32 [type=literal_error, input_value=24, input_type=int]",
    ],
    cause: "The log says: block_size: Input should be 1, 8, 16 or 32.",
    change: "`--block-size`",
    not: /Look at line/,
  },
  {
    name: "one of its fields, without the heading",
    id: "not-divisible",
    lines: [
      "  Value error, Total number of attention heads (40) must be divisible by tensor parallel size (3). [type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]",
    ],
    change: "1, 2, 4, 5, 8, 10, 20, 40 divide 40.",
  },
  {
    name: "the sentence alone",
    id: "not-divisible",
    lines: ["Total number of attention heads (40) must be divisible by tensor parallel size (3)."],
    change: "`tensorParallelSize` of inferenceServers",
  },
  {
    name: "a field's words behind their heading, both without their indent",
    id: "engine-said",
    lines: [
      "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
      "Value error, No architectures found in config [type=value_error, input_value=1, input_type=int]",
    ],
    cause: "The log says: No architectures found in config.",
  },
  {
    name: "experts that can't be split evenly",
    id: "not-divisible",
    lines: raised(
      "ValueError: Number of experts (129) must be divisible by expert parallel size (2)",
      ["vllm/model_executor/layers/fused_moe/layer.py"],
    ),
    cause: "The model can't be split so: Number of experts (129)",
    change: "`--enable-expert-parallel`",
  },
  {
    name: "a part that ends inside of a quantized block",
    id: "not-divisible",
    lines: raised(
      "ValueError: The output_size of gate's and up's weight = 192 is not divisible by weight quantization block_n = 128.",
      ["vllm/model_executor/layers/quantization/fp8.py"],
    ),
    change: "quantized in blocks",
    not: /divide 192/,
  },
  {
    name: "an assertion that something divides",
    id: "not-divisible",
    lines: raised("AssertionError", ["vllm/model_executor/models/llama.py"], {
      code: "assert self.total_num_kv_heads % tp_size == 0",
    }),
    cause: "assert self.total_num_kv_heads % tp_size == 0.",
    change: "tensorParallelSize",
  },
  {
    name: "drafts that fill a batch",
    id: "drafts-fill-batch",
    lines: raised(
      refused(
        "VllmConfig",
        "  Value error, max_num_scheduled_tokens is set to -1792, which does not allow any tokens to be scheduled [type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]",
      ),
      CONFIG,
    ),
    cause: "-1792 tokens are left",
    change: "lower `maxNumSeqs`",
  },
  {
    name: "drafts without their number",
    id: "draft-count-missing",
    lines: raised(
      refused(
        "SpeculativeConfig",
        "  Value error, num_speculative_tokens must be provided with speculative model unless the draft model config contains an n_predict parameter. [type=value_error, input_value=1, input_type=int]",
      ),
      CONFIG,
    ),
    change: "numSpeculativeTokens: 2",
  },
  {
    name: "anything else of the drafts",
    id: "draft-option-refused",
    lines: raised(
      refused(
        "SpeculativeConfig",
        "prompt_lookup_max",
        "  Input should be greater than or equal to 1 [type=greater_than_equal, input_value=0, input_type=int]",
      ),
      CONFIG,
    ),
    cause: "prompt_lookup_max: Input should be greater than or equal to 1.",
    change: "`--speculative-config`",
  },
  {
    name: "a cache of a fixed size that is too small",
    id: "no-kv-room",
    lines: [
      started("'kv_cache_memory_bytes': 1048576"),
      ...raised("ValueError: No available memory for the cache blocks.", [
        "vllm/v1/core/kv_cache_utils.py",
      ]).slice(1),
    ],
    change: "kvCacheMemoryBytes: ",
    not: /Raise `gpuMemoryUtilization`/,
  },
  {
    name: "one without a block for a sequence's state",
    id: "too-many-sequences",
    lines: [
      started("'kv_cache_memory_bytes': 1048576"),
      ...raised("ValueError: max_num_seqs (256) exceeds available Mamba cache blocks (0).", [
        "vllm/v1/worker/gpu_model_runner.py",
      ]).slice(1),
    ],
    change: "raise `kvCacheMemoryBytes`",
    not: /gpuMemoryUtilization/,
  },
];

const JIT = ["vllm/v1/sample/ops/topk_topp_sampler.py", "flashinfer/jit/cpp_ext.py"];
const built = (...output: readonly string[]) =>
  raised(["RuntimeError: Ninja build failed. Ninja output:", ...output].join("\n"), JIT);

/** Compilers, the driver, and what doesn't go with this GPU. */
const MACHINES: readonly PlaceCase[] = [
  {
    name: "the system's own old nvcc",
    id: "compiler-too-old",
    lines: built(
      "[1/3] /usr/bin/nvcc -gencode=arch=compute_121a,code=sm_121a -c sampling.cu",
      "nvcc fatal   : Unsupported gpu architecture 'compute_121a'",
    ),
    cause: "/usr/bin/nvcc (of the system's own package",
    change: "CUDA_HOME=/usr/local/cuda",
    not: /moeBackend|FLASHINFER_SAMPLER/,
  },
  {
    name: "that of a conda environment, by another option",
    id: "compiler-too-old",
    lines: built(
      "[1/3] /opt/miniconda3/envs/llm/bin/nvcc -c sampling.cu",
      "nvcc fatal   : Value 'sm_121' is not defined for option 'gpu-architecture'",
    ),
    cause: "(of a conda environment) doesn't know sm_121.",
    change: "CUDA_HOME",
  },
  {
    name: "FlashInfer, which reads no GPU by an old nvcc",
    id: "compiler-too-old",
    lines: raised("RuntimeError: FlashInfer requires GPUs with sm75 or higher", JIT),
    change: "CUDA_HOME",
  },
  {
    name: "what FlashInfer only warns of",
    id: "",
    lines: [ARGS, "Failed to get device capability: SM 12.x requires CUDA >= 12.9.", UP],
  },
  {
    name: "a header of CUDA",
    id: "compiler-missing",
    lines: built(
      "/x/flashinfer/sampling.cuh:20:10: fatal error: curand_kernel.h: No such file or directory",
    ),
    cause: "the header curand_kernel.h of CUDA is missing.",
  },
  {
    name: "Python's header, above what its compiler's wrapper says",
    id: "compiler-missing",
    lines: [
      ARGS,
      "/tmp/tmpx/cuda_utils.c:5:10: fatal error: Python.h: No such file or directory",
      ...raised(
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc']' returned non-zero exit status 1.",
        ["triton/runtime/build.py"],
      ).slice(1),
    ],
    change: "python3-dev",
  },
  {
    name: "the image's own libcuda in front of the driver's",
    id: "driver-shadowed",
    lines: raised(
      "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination",
      ["vllm/platforms/cuda.py", "torch/cuda/__init__.py"],
    ),
    cause: "/usr/local/cuda/compat",
    change: "LD_LIBRARY_PATH",
    not: /update the driver, or/,
  },
  {
    name: "a GPU that isn't ready",
    id: "gpu-not-initialized",
    lines: raised(
      "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
      ["torch/cuda/__init__.py"],
    ),
    cause: "fabric manager",
  },
  {
    name: "sparse attention without a kernel for this GPU",
    id: "no-attention-backend",
    lines: raised(
      "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, dtype=torch.bfloat16, kv_cache_dtype=auto, use_mla=True, use_sparse=True). Reasons: {FLASHMLA: [sparse not supported, compute capability not supported], FLASHMLA_SPARSE: [compute capability not supported]}.",
      ["vllm/platforms/cuda.py"],
    ),
    cause: "(sparse MLA attention) here: none has a kernel of that kind for this GPU.",
  },
  {
    name: "a type of the cache that no backend takes",
    id: "no-attention-backend",
    lines: raised(
      "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=128, kv_cache_dtype=fp8, use_mla=False). Reasons: {FLASH_ATTN: [kv_cache_dtype not supported], FLASHINFER: [non-causal attention not supported], FLEX_ATTENTION: [kv_cache_dtype not supported]}.",
      ["vllm/platforms/cuda.py"],
    ),
    change: "kvCacheDtype: remove it",
  },
  {
    name: "a backend that was asked for",
    id: "no-attention-backend",
    lines: raised(
      "ValueError: Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration. Reason: ['compute capability not supported']",
      ["vllm/platforms/cuda.py"],
    ),
    change: "attentionBackend: remove it",
  },
  {
    name: "GPUs that don't write into each other's memory",
    id: "all-reduce-unfit",
    lines: [
      ARGS,
      "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'invalid argument'",
    ],
    change: "--disable-custom-all-reduce",
  },
  {
    name: "a transformers that is newer than this vLLM",
    id: "transformers-too-new",
    lines: raised(
      "transformers.integrations.heterogeneity.configuration_utils.AmbiguousGlobalPerLayerAttributeError: 'head_dim' is a per-layer attribute and may vary across layers.",
      ["vllm/config/model.py", "transformers/integrations/heterogeneity/configuration_utils.py"],
      { root: VENV },
    ),
    change: "0.28.0",
  },
  {
    name: "a library's name without a traceback",
    id: "built-for-another",
    lines: [
      "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    ],
    cause: "libcudart.so.12",
  },
  {
    name: "sources of vLLM that were checked out elsewhere",
    id: "variable-refused",
    lines: raised(
      "ValueError: invalid literal for int() with base 10: 'ten'",
      ["/opt/src/vllm/vllm/config/x.py", "vllm/envs.py"],
      {
        code: 'int(os.getenv("VLLM_PORT"))',
      },
    ),
  },
];

/** What clients, the bridge and an access log keep of a refusal. */
const ANSWERS: readonly PlaceCase[] = [
  {
    name: "a developer's turn",
    id: "role-refused",
    lines: ['{"error":{"message":"Unexpected message role.","type":"BadRequestError","code":400}}'],
    cause: "usually `developer`",
    change: "chatTemplate",
  },
  {
    name: "the words of a schema",
    id: "role-refused",
    lines: [
      "{\"error\":{\"message\":\"[{'loc': ('body', 'messages', 0, 'role'), 'msg': \\\"Input should be 'system', 'user' or 'tool'\\\", 'input': 'developer'}]\",\"code\":400}}",
    ],
    cause: "of the role `developer`",
  },
  {
    name: "any other answer, in its own words",
    id: "answer-said",
    lines: [
      "openai.BadRequestError: Error code: 400 - {'error': {'message': 'top_k must be 0 or at least 1, got -5.', 'type': 'BadRequestError', 'code': 400}}",
    ],
    cause: "(400): top_k must be 0 or at least 1, got -5.",
  },
  {
    name: "an answer that has no error",
    id: "",
    lines: ['{"id":"c","choices":[{"message":{"content":"an error"}}],"error":null}'],
  },
  {
    name: "one line of an access log, with two slashes",
    id: "client-refused",
    lines: [access("//models", "404 Not Found", "GET")],
    cause: "is refused (GET //models, 404)",
    change: "write /v1 in its place",
  },
  {
    name: "one refusal in the log of a server",
    id: "",
    lines: [ARGS, UP, access("//models", "404 Not Found", "GET")],
  },
  {
    name: "a bridge that asks an address to listen on",
    id: "bridge-upstream-down",
    lines: [
      "litellm.InternalServerError: InternalServerError: Hosted_vllmException - Cannot connect to host 0.0.0.0:8000 ssl:default [Connect call failed ('0.0.0.0', 8000)]",
    ],
    cause: "an address to listen on and none to ask",
    change: "http://host.docker.internal:8000/v1",
  },
  {
    name: "a bridge that finds no container of a name",
    id: "bridge-upstream-down",
    lines: [
      "litellm.InternalServerError: InternalServerError: Hosted_vllmException - Cannot connect to host vllm:8000 ssl:default [Temporary failure in name resolution]",
    ],
    cause: "finds no address of vllm",
    change: "one Docker network",
  },
  {
    name: "a bridge that doesn't say where it looks, beside its own file",
    id: "bridge-upstream-down",
    lines: [
      "      api_base: http://localhost:9001/v1",
      "litellm.APIError: APIError: OpenAIException - Connection error..",
    ],
    cause: "on loopback (localhost:9001)",
  },
];

const DAEMON = "docker: Error response from daemon: ";
const INIT = `${DAEMON}failed to create task for container: OCI runtime create failed: runc create failed: unable to start container process: `;

/** Machines, containers and packages, each in one line of somebody's log. */
const LINES: readonly (readonly [id: string, line: string, cause: string])[] = [
  [
    "gpu-xid",
    "[1.4] NVRM: Xid (PCI:000f:01:00): 79, pid=12, GPU has fallen off the bus.",
    "(Xid 79)",
  ],
  ["gpu-xid", "[1.4] NVRM: Xid (PCI:000f:01:00): 119, pid=12, Timeout of GSP", "(Xid 119)"],
  [
    "task-blocked",
    "[99.1] INFO: task VLLM::Worker_TP:512 blocked for more than 245 seconds.",
    "VLLM::Worker_TP (process 512) hung inside the kernel for more than 245 s",
  ],
  [
    "database-unreachable",
    "> litellm-1  | Error: P1001: Can't reach database server at `db`:`5432`",
    "its database at db (port 5432): nothing answers",
  ],
  ["database-unreachable", "P1000: Authentication failed against database server", "password"],
  ["sqlite-refuses", "peewee.OperationalError: database is locked", "another process has it open"],
  [
    "sqlite-refuses",
    "open-webui  | sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) attempt to write a readonly database",
    "belongs to another user",
  ],
  [
    "sqlite-refuses",
    "sqlite3.DatabaseError: database disk image is malformed",
    "damaged, or its disk is full",
  ],
  [
    "adapter-unsupported",
    "ValueError: While loading /a, expected target modules in {'qkv_proj'} but received ['base_model.model.lm_head']. Please verify",
    "The adapter /a changes the layer lm_head",
  ],
  [
    "gpu-xid",
    "[1.4] NVRM: Xid (PCI:000f:01:00): 31, pid=12, MMU Fault",
    "stopped a program (Xid 31)",
  ],
  [
    "driver-not-loaded",
    "[1.4] NVRM: GPU 000f:01:00.0: RmInitAdapter failed! (0x62:0x40)",
    "can't begin with the GPU",
  ],
  [
    "driver-not-loaded",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    "The driver isn't loaded",
  ],
  ["gpu-gone-inside", "Failed to initialize NVML: Unknown Error", "has lost its GPU"],
  [
    "nccl-versions",
    "a:1:1 [0] init.cc:18 NCCL WARN Mismatched NCCL versions: 22809 vs 22707",
    "(22809 and 22707)",
  ],
  [
    "mount-of-another-kind",
    `${INIT}error mounting "/home/op/t.jinja" to rootfs at "/t.jinja": create mountpoint: not a directory`,
    "has /home/op/t.jinja as another kind",
  ],
  [
    "container-too-small",
    `${INIT}container init was OOM-killed (memory limit too low?)`,
    "own limit",
  ],
  [
    "docker-rules-gone",
    `${DAEMON}driver failed programming external connectivity: Unable to enable DNAT rule: (iptables failed)`,
    "rules of the firewall are gone",
  ],
  [
    "control-group-full",
    `${INIT}unable to apply cgroup configuration: write /sys/fs/cgroup: no space left on device`,
    "no full disk",
  ],
  ["compose-refused", "dependency failed to start: container vllm is unhealthy", "since vllm,"],
  [
    "compose-refused",
    "yaml: line 12: did not find expected key",
    "refuses its file: yaml: line 12",
  ],
  ["unit-failed", "vllm.service: Main process exited, code=exited, status=203/EXEC", "203/EXEC"],
  ["unit-failed", "vllm.service: Start operation timed out. Terminating.", "took too long"],
  ["package-unresolved", "ERROR: No matching distribution found for vllm==0.99", "vllm==0.99"],
  ["page-between", "<html><head><title>502 Bad Gateway</title></head>", "(502 Bad Gateway)"],
  [
    "bridge-wrong-key",
    "Authentication Error, Invalid proxy server token passed. Key = x",
    "another key",
  ],
  ["no-vllm-inside", "bash: vllm: command not found", "no program `vllm`"],
  ["killed", "./run.sh: line 3: 12345 Killed                  vllm serve org/m", "signal 9"],
  [
    "client-not-reached",
    "curl: (7) Failed to connect to localhost port 8000 after 0 ms",
    "localhost port 8000",
  ],
];

/** What was raised below these files, in the last line. */
const RAISED: readonly (readonly [id: string, what: string, below: string, cause: string])[] = [
  [
    "cublas-not-begun",
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "vllm/model_executor/layers/linear.py",
    "CUBLAS_STATUS_NOT_INITIALIZED",
  ],
  [
    "kernel-not-compiled",
    "AttributeError: '_OpNamespace' '_C' object has no attribute 'cutlass_scaled_fp4_mm'",
    "vllm/_custom_ops.py",
    "cutlass_scaled_fp4_mm",
  ],
  [
    "vllm-not-built",
    "ModuleNotFoundError: No module named 'vllm._C'",
    "vllm/platforms/cuda.py",
    "vllm._C",
  ],
  [
    "packages-apart",
    "RuntimeError: flashinfer-cubin version (0.6.13) does not match flashinfer version (0.6.15).",
    "flashinfer/jit/env.py",
    "flashinfer-cubin",
  ],
  [
    "package-missing",
    "ImportError: Please install vllm[fastsafetensors] for fastsafetensors support.",
    "vllm/model_executor/model_loader/weight_utils.py",
    "vllm[fastsafetensors]",
  ],
  [
    "hub-transfer",
    "RuntimeError: Data processing error: CAS service error : HTTP status client error (416)",
    "huggingface_hub/file_download.py",
    "broke off",
  ],
  [
    "vocabulary-unreachable",
    "openai_harmony.HarmonyError: error downloading or loading vocab file: failed to download",
    "openai_harmony/__init__.py",
    "vocabulary of gpt-oss",
  ],
  [
    "nvml-silent",
    "vllm.third_party.pynvml.NVMLError_NotSupported: Not Supported",
    "vllm/platforms/cuda.py",
    "Not Supported",
  ],
  [
    "transformers-too-old",
    "ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.",
    "transformers/models/auto/tokenization_auto.py",
    "TokenizersBackend",
  ],
];

const JITTED = [
  "(EngineCore pid=2) [2/3] /usr/local/cuda/bin/nvcc -gencode=arch=compute_121a,code=sm_121a -c x.cu",
  "(EngineCore pid=2) INFO 09-05 10:22:15 [core.py:80] Building JIT ops: sampling",
];

/** What looks like a start and is none. */
const STARTED: readonly PlaceCase[] = [
  { name: "kernels of the first requests", id: "", lines: [ARGS, UP, ...JITTED] },
  {
    name: "the same, where the log's front is cut off",
    id: "",
    lines: [
      "(APIServer pid=1) INFO 09-05 10:20:02 [loggers.py:248] Engine 000: Avg prompt throughput: 4.0 tokens/s, Avg generation throughput: 6.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix cache hit rate: 61.8%",
      ...JITTED,
    ],
  },
];

/** What is raised of one request, and answered with a refusal. */
const ANSWERED: readonly PlaceCase[] = [
  {
    name: "a picture that is too large, in what was kept of a log",
    id: "client-refused",
    lines: [
      UP,
      "(APIServer pid=1) Traceback (most recent call last):",
      '(APIServer pid=1)   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/input_processor.py", line 7, in f',
      "(APIServer pid=1)     raise ValueError(",
      "(APIServer pid=1) ValueError: The decoder prompt contains a(n) video item with length 9000, which exceeds the pre-allocated encoder cache size 8192.",
      `(APIServer pid=1) ${access("/v1/chat/completions", "400 Bad Request")}`,
    ],
    cause: "vLLM says: The decoder prompt contains a(n) video item",
    change: "fewer or smaller pictures",
    not: /then ended/,
  },
];

export const REFUSAL_CASES: readonly PlaceCase[] = [
  ...VALUES,
  ...MACHINES,
  ...ANSWERS,
  ...ANSWERED,
  ...STARTED,
  ...LINES.map(([id, line, cause]) => ({ name: line.slice(0, 60), id, lines: [line], cause })),
  ...RAISED.map(([id, what, below, cause]) => ({
    name: what.slice(0, 60),
    id,
    lines: raised(what, [below]),
    cause,
  })),
];
