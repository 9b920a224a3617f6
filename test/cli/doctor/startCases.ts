import {
  ARGS,
  access,
  chained,
  error,
  figures,
  loading,
  type PlaceCase,
  raised,
  UP,
  VENV,
} from "./placeCases";

/** Words, values and files that a start was given, and what it ends of. */
const GIVEN: readonly PlaceCase[] = [
  {
    name: "JSON without its quotes",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --speculative-config/-sc: Value {method: mtp, num_speculative_tokens: 2} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    cause:
      "The value of --speculative-config isn't JSON: `{method: mtp, num_speculative_tokens: 2}`.",
    change: "in YAML: `speculative: { method: mtp, numSpeculativeTokens: 2 }`.",
    not: /which values it takes/,
  },
  {
    name: "JSON in Python's form, of an option without a setting",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --override-generation-config: Value {'top_k': 20} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    change: `Write \`--override-generation-config '{"top_k":20}'\``,
    not: /in YAML/,
  },
  {
    name: "an object with a key that there isn't",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --compilation-config/-cc: 1 validation error for CompilationConfig",
      "capture_sizes",
      "  Unexpected keyword argument [type=unexpected_keyword_argument, input_value=[1], input_type=list]",
    ],
    cause: "a key that this version of vLLM doesn't know, `capture_sizes`",
    not: /Look at line/,
  },
  {
    name: "JSON that is cut off",
    id: "argument-refused",
    lines: [
      'vllm serve: error: argument --compilation-config/-cc: Value {"mode": 3 cannot be converted to <function loads at 0x7fb834fe0180>.',
    ],
    cause: 'isn\'t JSON: `{"mode": 3`.',
    change: `Write \`--compilation-config '{"key": "value"}'\``,
  },
  {
    name: "a blank behind a backslash",
    id: "argument-unknown",
    lines: ["vllm: error: unrecognized arguments:  ", "bash: line 2: --port: command not found"],
    cause: "words that it doesn't take: a word of nothing but a blank.",
    change: "nothing may stand behind the backslash",
  },
  {
    name: "`serve` twice",
    id: "argument-unknown",
    lines: ["vllm: error: unrecognized arguments: org/model-7b"],
    cause: "`org/model-7b` belongs to no option",
    change: "see whether `serve` stands twice",
  },
  {
    name: "a secret that should be JSON",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --hf-overrides: Value {api_key: hf_abcdefghijklmnopqrstuvwxyzabcdef} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    cause: "The value of --hf-overrides isn't JSON.",
    not: /hf_abc/,
  },
];

const vllm = (version: string) =>
  `(APIServer pid=1) INFO 11-30 11:52:22 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version ${version}`;
const UNKNOWN_TYPE =
  "(APIServer pid=1)   Value error, The checkpoint you are trying to load has model type `acme3_vl` but Transformers does not recognize this architecture. [type=value_error]";
const NO_CLASS =
  "(APIServer pid=1)   Value error, Model architectures ['AcmeForCausalLM'] are not supported for now. Supported architectures: dict_keys([])";

/** Models that a release doesn't have: it has to be a newer one than the log's own. */
const NEWER: readonly PlaceCase[] = [
  {
    name: "a type that the usual release doesn't know either",
    id: "transformers-too-old",
    lines: [vllm("0.30.0"), UNKNOWN_TYPE],
    cause: "vLLM 0.30.0 and the transformers beside it don't know the model's type, acme3_vl.",
    change: "a release newer than 0.30.0",
    not: /above the floors|openai:v/,
  },
  {
    name: "a type of a release below the usual one",
    id: "transformers-too-old",
    lines: [vllm("0.26.0"), UNKNOWN_TYPE],
    cause: "older than the model",
    change: "Pin an image above the floors",
    not: /--newer/,
  },
  {
    name: "a class that a newer release may have",
    id: "architecture-unsupported",
    lines: [vllm("0.32.0"), NO_CLASS],
    cause: "['AcmeForCausalLM']",
    change: "a release newer than 0.32.0",
    not: /openai:v/,
  },
  {
    name: "a value of a newer release",
    id: "argument-refused",
    lines: [
      vllm("0.30.0"),
      "vllm serve: error: argument --all2all-backend: invalid choice: 'moonep' (choose from 'naive')",
    ],
    cause: "`moonep` came with a later one",
    change: "Take an image of vLLM 0.31.0 or later",
    not: /openai:v/,
  },
];

/** Values of variables, told by where they are read. */
const VARIABLES: readonly PlaceCase[] = [
  {
    name: "a service that is called vllm",
    id: "variable-refused",
    lines: raised(
      "ValueError: VLLM_PORT 'tcp://10.9.0.7:8000' appears to be a URI. This may be caused by a Kubernetes service discovery issue",
      ["vllm/utils/network_utils.py", "vllm/envs.py"],
      { code: "raise ValueError(" },
    ),
    cause: "VLLM_PORT is the address of a service (tcp://10.9.0.7:8000)",
    change: "`enableServiceLinks: false`",
    not: /Look at line|remove it/,
  },
  {
    name: "a unit behind a number",
    id: "variable-refused",
    lines: raised(
      "ValueError: invalid literal for int() with base 10: '5m'",
      ["vllm/v1/engine/core.py", "vllm/envs.py"],
      { code: '"VLLM_RPC_TIMEOUT_S": lambda: int(os.getenv("VLLM_RPC_TIMEOUT_S", "10")),' },
    ),
    cause:
      "can't read the value of VLLM_RPC_TIMEOUT_S: invalid literal for int() with base 10: '5m'.",
    change: "needs a plain number of seconds",
    not: /Look at line/,
  },
  {
    name: "a choice that there isn't",
    id: "variable-refused",
    lines: raised(
      "ValueError: Invalid value 'mbit' for VLLM_KV_CACHE_LAYOUT. Valid options: ['NHD', 'HND'].",
      ["vllm/envs.py"],
      { code: "raise ValueError(" },
    ),
    cause: "Valid options: ['NHD', 'HND'].",
    change: "environment.VLLM_KV_CACHE_LAYOUT: remove it",
  },
];

const loads = (...lines: readonly string[]) =>
  lines.map((line) => `(APIServer pid=1) ERROR 11-30 11:54:13 [import_utils.py:100] ${line}`);
/** A plug-in of a parser that can't be loaded, with the frames and what was raised. */
const plugin = (...lines: readonly string[]) => [
  ...loads(
    "Failed to load module 'acme' from /plugins/acme.py.",
    "Traceback (most recent call last):",
    `  File "${VENV}/vllm/utils/import_utils.py", line 98, in import_plugin`,
    "    return import_from_path(module_name, plugin_path)",
    ...lines,
  ),
  ...raised("KeyError: 'invalid tool call parser: acme (chose from { hermes })'", [
    "vllm/entrypoints/launchers/launcher.py",
  ]).slice(1),
];
const named = (argument: string, value: string) =>
  `(APIServer pid=1) INFO 09-05 10:19:15 [a.py:1] non-default args: {'model_tag': 'org/m', '${argument}': ['${value}']}`;

/** Code of the user's own, which arguments name. */
const OWN_CODE: readonly PlaceCase[] = [
  {
    name: "one that Python can't read",
    id: "parser-plugin",
    lines: plugin(
      '  File "/plugins/acme.py", line 7',
      "    class Acme",
      "              ^",
      "SyntaxError: expected ':'",
    ),
    cause: "(SyntaxError: expected ':' in line 7)",
    change: "correct that file in line 7",
    not: /Update the plugin|docker logs/,
  },
  {
    name: "one that imports what this vLLM lacks",
    id: "parser-plugin",
    lines: plugin(
      '  File "/plugins/acme.py", line 1, in <module>',
      "    from vllm.gone import ToolParser",
      "ModuleNotFoundError: No module named 'vllm.gone'",
    ),
    cause: "No module named 'vllm.gone' in line 1",
    change: "Update the plugin to this version",
  },
  {
    name: "one that isn't there",
    id: "parser-plugin",
    lines: plugin("FileNotFoundError: [Errno 2] No such file or directory: '/plugins/acme.py'"),
    change: "mount its folder (`mounts`)",
    not: /Python can't read|in line/,
  },
  {
    name: "a module of one's own",
    id: "module-named",
    lines: [
      named("middleware", "acme.auth.CheckKey"),
      ...raised("ModuleNotFoundError: No module named 'acme'", [
        "vllm/entrypoints/openai/api_server.py",
      ]).slice(1),
    ],
    cause: "vLLM finds no module acme, which `--middleware ['acme.auth.CheckKey']` names",
    change: "PYTHONPATH",
    not: /pip install/,
  },
  {
    name: "a package beside a module of one's own",
    id: "package-missing",
    lines: [
      named("middleware", "acme.auth.CheckKey"),
      ...raised("ModuleNotFoundError: No module named 'lmcache'", [
        "vllm/distributed/kv_transfer/kv_connector/factory.py",
      ]).slice(1),
    ],
  },
  {
    name: "a class of another kind",
    id: "plugin-unfit",
    lines: raised("ValueError: Steer must be a subclass of LogitsProcessor", [
      "vllm/v1/sample/logits_processor/__init__.py",
    ]),
    cause: "must be a subclass of LogitsProcessor",
    change: "derive Steer from vLLM's own LogitsProcessor",
    not: /Look at line/,
  },
  {
    name: "code of one's own that fails",
    id: "engine-said",
    lines: raised("KeyError: 'bias'", [
      "vllm/v1/sample/sampler.py",
      "/plugins/steer.py",
      "/usr/lib/python3.12/collections/__init__.py",
    ]),
    change: "raised in /plugins/steer.py:7, which is no part of vLLM",
    not: /Look at line/,
  },
];

const MODELS = "vllm/model_executor/models/utils.py";
const ROPE = "vllm/model_executor/layers/rotary_embedding/__init__.py";

/** Files of a model that don't belong together, told by where and as what that is raised. */
const FILES: readonly PlaceCase[] = [
  {
    name: "weights for Macs",
    id: "weights-unlike-config",
    lines: raised(
      "ValueError: There is no module or parameter named 'model.embed_tokens.biases' in AcmeForCausalLM.",
      [MODELS],
    ),
    cause: "one of MLX, which is made for Macs (model.embed_tokens.biases)",
    change: "another build of the model",
    not: /Look at line|force-download/,
  },
  {
    name: "a quantization that the weights don't have",
    id: "weights-unlike-config",
    lines: raised(
      "ValueError: There is no module or parameter named 'layers.3.mlp.up_proj.weight' in AcmeModel.",
      [MODELS],
    ),
    cause: "no module or parameter named 'layers.3.mlp.up_proj.weight'.",
    change: "from one revision of one model",
    not: /Look at line|made for Macs/,
  },
  {
    name: "weights that are missing",
    id: "weights-unlike-config",
    lines: raised(
      "ValueError: Following weights were not initialized from checkpoint: {'model.layers.9.mlp.down_proj.weight'}",
      ["vllm/model_executor/model_loader/default_loader.py"],
    ),
    cause: "model.layers.9.mlp.down_proj.weight",
    change: "no shard is missing",
  },
  {
    name: "a tensor that the class doesn't have",
    id: "weights-unlike-config",
    lines: raised(
      "KeyError: 'layers.0.self_attn.indexer.weight'",
      ["vllm/model_executor/models/acme.py"],
      { code: "param = params_dict[name]" },
    ),
    cause: "'layers.0.self_attn.indexer.weight'",
  },
  {
    name: "rope parameters without one of them",
    id: "rope-parameters",
    lines: raised("KeyError: 'original_max_position_embeddings'", [ROPE], {
      code: 'size = rope_parameters["original_max_position_embeddings"]',
    }),
    cause: "lack `original_max_position_embeddings`",
    change: "`--hf-overrides`",
    not: /Look at line/,
  },
  {
    name: "rope parameters of an unknown type",
    id: "rope-parameters",
    lines: raised("ValueError: Unknown RoPE scaling type yarnn", [ROPE]),
    cause: "a type that vLLM doesn't have, yarnn",
  },
  {
    name: "a draft of another tokenizer",
    id: "draft-unusable",
    lines: raised(
      "ValueError: Target and draft model should have the same vocabulary size. Target model vocab_size=151936. Draft model vocab_size=32000. Using models with different tokenizers can cause errors.",
      ["vllm/config/speculative.py"],
    ),
    cause: "another vocabulary (32000 tokens) than the model itself (151936)",
    change: "speculative: remove it",
  },
  {
    name: "a revision that there isn't",
    id: "hub-revision-absent",
    lines: raised(
      "OSError: v9 is not a valid git identifier (branch name, tag name or commit id) that exists for this model name. Check the model page at 'https://huggingface.co/org/m' for available revisions.",
      ["transformers/utils/hub.py"],
    ),
    cause: "no revision v9",
    change: "`model.revision`",
  },
  {
    name: "a proxy that answers in the hub's place",
    id: "hub-proxy",
    lines: chained(
      raised("httpx.ProxyError: 503 Service Unavailable", ["httpx/_transports/default.py"]),
      "OSError: Can't load the configuration of 'org/m'. If you were trying to load it from 'https://huggingface.co/models', make sure you don't have a local directory with the same name.",
    ),
    cause: "doesn't let it through (503 Service Unavailable)",
    change: "HTTPS_PROXY",
    not: /password/,
  },
  {
    name: "a part of the installation",
    id: "permission-denied",
    lines: raised("PermissionError: [Errno 13] Permission denied: '/srv/venv/bin/python'", [
      "vllm/model_executor/models/registry.py",
    ]),
    cause: "/srv/venv/bin/python, a part of its own installation",
    not: /files of the cache|huggingface/,
  },
  {
    name: "no room in shared memory",
    id: "no-space",
    lines: raised("RuntimeError: Insufficient space in /dev/shm: 160 MiB required, 0 MiB free.", [
      "vllm/distributed/device_communicators/shm_broadcast.py",
    ]),
    change: "`--shm-size`",
    not: /modelCache|free some space/,
  },
  {
    name: "a folder that is called vllm",
    id: "module-shadowed",
    lines: [
      "/usr/bin/python3: Error while finding module specification for 'vllm.entrypoints.openai.api_server' (ModuleNotFoundError: No module named 'vllm.entrypoints')",
    ],
    change: "start vLLM in another folder",
    not: /docker logs/,
  },
  {
    name: "a file that is called torch",
    id: "module-shadowed",
    lines: raised("AttributeError: module 'torch' has no attribute 'nn'", [
      "vllm/utils/__init__.py",
    ]),
    cause: "a file or folder of the same name",
    not: /fresh environment/,
  },
  {
    name: "a name that torch may have lost",
    id: "packages-apart",
    lines: raised("AttributeError: module 'torch' has no attribute 'float8_e8m0fnu'", [
      "vllm/utils/__init__.py",
    ]),
  },
];

const refusedTimes = (times: number, path: string, status: string, method = "POST") =>
  Array.from({ length: times }, () => access(path, status, method));
const NO_BLOCK = "No available shared memory broadcast block found in 60 seconds.";
const tries = (times: number, said: string) =>
  Array.from(
    { length: times },
    (_, at) =>
      `[W1130 11:54:1${at}.908311122 TCPStore.cpp:340] [c10d] TCP client failed to connect/validate to host 10.9.0.1:29501 - retrying (try=${at}, timeout=600000ms, delay=1077ms): ${said}`,
  );
const REFUSED_CONNECTION =
  "The client socket has failed to connect to [::ffff:10.9.0.1]:29501 (errno: 111 - Connection refused).";
const STALLED = error("TimeoutError: RPC call to execute_model timed out.");

/** What servers and ranks say while they run or wait. */
const RUNNING: readonly PlaceCase[] = [
  {
    name: "every chat refused, and no word of why",
    id: "client-refused",
    lines: [ARGS, UP, ...refusedTimes(3, "/v1/chat/completions", "400 Bad Request")],
    cause: "vLLM only tells the client why",
    change: "`--log-error-stack`",
  },
  {
    name: "a chat refused among answers",
    id: "",
    lines: [
      ARGS,
      UP,
      access("/v1/chat/completions", "200 OK"),
      ...refusedTimes(3, "/v1/chat/completions", "400 Bad Request"),
    ],
  },
  {
    name: "a path of another server, in a log without its start",
    id: "client-refused",
    lines: refusedTimes(3, "/generate", "404 Not Found"),
    cause: "asks for `/generate`, which this server doesn't have",
    change: "ends in /v1",
  },
  {
    name: "every chat fails, and no word of why",
    id: "requests-fail",
    lines: [ARGS, UP, ...refusedTimes(3, "/v1/chat/completions", "500 Internal Server Error")],
    cause: "and the log doesn't say why",
  },
  {
    name: "two names that the server doesn't have, and no answer",
    id: "client-refused",
    lines: [
      ARGS,
      UP,
      ...["one", "two"].flatMap((name) => [
        error(`Error with model message='The model \`${name}\` does not exist.' code=404`),
        access("/v1/chat/completions", "404 Not Found"),
      ]),
    ],
    cause: "asks for the model `one`, and the server answers to `m`",
  },
  {
    name: "what browsers ask for",
    id: "",
    lines: [ARGS, UP, ...refusedTimes(4, "/favicon.ico", "404 Not Found", "GET")],
  },
  {
    name: "a slash too many, in a log without its start",
    id: "client-refused",
    lines: refusedTimes(2, "/v1//models", "404 Not Found", "GET"),
    cause: "`/v1//models`",
  },
  {
    name: "a key that isn't the server's",
    id: "client-refused",
    lines: refusedTimes(3, "/v1/models", "401 Unauthorized", "GET"),
    cause: "it sends no key, or another one",
    not: /HF_TOKEN|hub/,
  },
  {
    name: "one key that isn't the server's",
    id: "",
    lines: [access("/v1/chat/completions", "200 OK"), access("/v1/models", "401 Unauthorized")],
  },
  {
    name: "an engine whose figures have ended",
    id: "engine-hangs",
    lines: [
      figures("11:19:37", 1, 0, 0.9),
      loading("11:20:19", NO_BLOCK),
      loading("11:21:19", NO_BLOCK),
    ],
    cause: "no token was made for 1 min 42 s",
    not: /cache doesn't fill/,
  },
  {
    name: "an engine that waited once",
    id: "",
    lines: [
      figures("11:19:37", 1, 0, 0.9),
      loading("11:20:07", NO_BLOCK),
      figures("11:20:17", 1, 0, 0.9, 12),
    ],
  },
  {
    name: "an engine that only says that it waits",
    id: "engine-hangs",
    lines: ["11:16:19", "11:17:19", "11:18:19"].map((at) => loading(at, NO_BLOCK)),
    cause: "3 times it has waited a minute",
    not: /do not kill it/,
  },
  {
    name: "another program at the head's port",
    id: "master-unreached",
    lines: tries(2, "Ping failed, invalid value returned from server. Expected: 1, Got: 2"),
    cause: "at 10.9.0.1, port 29501 (`--master-addr`): what answers there is no head of vLLM.",
    change: "another `masterPort`",
  },
  {
    name: "a head that doesn't run",
    id: "master-unreached",
    lines: [1, 2, 3].map(() => REFUSED_CONNECTION),
    cause: "nothing listens there. It has tried 3 times.",
    change: "Start the head (rank 0), too",
  },
  {
    name: "a head that no way leads to",
    id: "master-unreached",
    lines: [
      "[E socket.cpp:1011] [c10d] The client socket has timed out after 60000ms while trying to connect to (10.9.0.1, 29501).",
    ],
    cause: "no answer comes.",
    change: "look at the cable",
  },
  { name: "a head that comes a moment later", id: "", lines: [REFUSED_CONNECTION] },
  {
    name: "a head that came",
    id: "",
    lines: [
      ...tries(4, "The client socket has failed to connect to [10.9.0.1]:29501 (errno: 111)."),
      loading("11:55:00", "rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1"),
    ],
  },
  {
    name: "a step of a server on one machine",
    id: "rank-stalled",
    lines: [ARGS, STALLED],
    cause: "a worker hangs, or it compiled",
    not: /infiniband|other rank|the link/,
  },
  {
    name: "a step of a server on two machines",
    id: "rank-stalled",
    lines: [ARGS.replace("'revision'", "'nnodes': 2, 'revision'"), STALLED],
    cause: "the link is down",
  },
  {
    name: "a bridge that finds no server, and goes on",
    id: "bridge-upstream-down",
    lines: [
      "Traceback (most recent call last):",
      `  File "${VENV}/aiohttp/connector.py", line 1, in f`,
      "    raise client_error(req.connection_key, exc) from exc",
      "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host localhost:8001",
      "",
      "During handling of the above exception, another exception occurred:",
      "",
      "Traceback (most recent call last):",
      `  File "${VENV}/litellm/main.py", line 1, in f`,
      "    raise exception_type(",
      "litellm.exceptions.InternalServerError: litellm.InternalServerError: InternalServerError: Hosted_vllmException - Cannot connect to host localhost:8001 ssl:None [Connect call failed ('127.0.0.1', 8001)]",
      access("/v1/chat/completions", "500 Internal Server Error"),
    ],
    cause: "in a container that is the container itself",
    change: "host.docker.internal:8001/v1",
  },
];

const DAEMON = "docker: Error response from daemon: ";
const ollama = (text: string) => `time=2026-06-27T14:42:08.637Z level=ERROR ${text}`;
const cannot = (host: string) =>
  `Connection error: Cannot connect to host ${host} ssl:default [Connect call failed]`;

/** What Docker, NCCL, clients and Ollama say by themselves. */
const OTHERS: readonly PlaceCase[] = [
  {
    name: "two containers of one name",
    id: "container-name-taken",
    lines: [
      `${DAEMON}Conflict. The container name "/brain" is already in use by container "63675f28a3e6". You have to remove (or rename) that container to be able to reuse that name.`,
    ],
    cause: "A container called brain exists already.",
    not: /docker logs/,
  },
  {
    name: "an image without vLLM",
    id: "no-vllm-inside",
    lines: [
      `${DAEMON}failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "vllm": executable file not found in $PATH: unknown.`,
    ],
    not: /docker logs/,
  },
  {
    name: "a container without a GPU that is asked for one",
    id: "program-not-inside",
    lines: [
      'OCI runtime exec failed: exec failed: unable to start container process: exec: "nvidia-smi": executable file not found in $PATH: unknown',
    ],
    cause: "it was started without a GPU",
    change: "`--gpus all`",
    not: /can't be started/,
  },
  {
    name: "a container without the program that is asked for",
    id: "program-not-inside",
    lines: [
      'OCI runtime exec failed: exec failed: unable to start container process: exec: "htop": executable file not found in $PATH: unknown',
    ],
    cause: "has no program htop",
    not: /GPU/,
  },
  {
    name: "a Docker without CDI",
    id: "gpu-cdi-missing",
    lines: [`${DAEMON}could not select device driver "cdi" with capabilities: []`],
    change: "write `--gpus all`",
  },
  {
    name: "a toolkit without its list",
    id: "gpu-cdi-missing",
    lines: [`${DAEMON}failed to discover GPU vendor from CDI: no known GPU vendor found`],
    cause: "Docker finds no list of GPUs (CDI)",
    change: "make the list",
  },
  {
    name: "a machine without RDMA",
    id: "host-device-missing",
    lines: [
      `${DAEMON}error gathering device information while adding custom device "/dev/infiniband": no such file or directory`,
    ],
    cause: "RDMA isn't loaded",
    change: "without `nodes` the plan gives no container that device",
  },
  {
    name: "a network that isn't there",
    id: "docker-network-missing",
    lines: [`${DAEMON}network agents not found`],
    cause: "no network called agents",
  },
  {
    name: "a registry without its address",
    id: "registry-unreachable",
    lines: [
      `${DAEMON}Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.1:53: no such host`,
    ],
    cause: "finds no address of registry-1.docker.io",
  },
  {
    name: "a registry behind a wall",
    id: "registry-unreachable",
    lines: [
      `${DAEMON}Get "https://nvcr.io/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)`,
    ],
    cause: "doesn't reach nvcr.io (Client.Timeout)",
  },
  {
    name: "too many pulls",
    id: "registry-limit",
    lines: [`${DAEMON}toomanyrequests: You have reached your unauthenticated pull rate limit.`],
    change: "log in to Docker Hub",
    not: /can't be started/,
  },
  {
    name: "a full disk, in Go's words",
    id: "no-space",
    lines: ["failed to register layer: write /usr/lib/libx.so: no space left on device"],
    change: "remove what nobody uses",
  },
  {
    name: "NCCL's shared memory",
    id: "no-space",
    lines: [
      "host:36:44 [0] misc/shmutils.cc:129 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Ewj (size 33030528), error: No space left on device (28)",
    ],
    cause: "Shared memory (/dev/shm)",
    not: /free some space/,
  },
  {
    name: "an interface that the machine doesn't have",
    id: "nccl-interface",
    lines: [
      "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
    ],
    change: "environment.NCCL_SOCKET_IFNAME: remove it",
  },
  {
    name: "another rank's address",
    id: "nccl-unreachable",
    lines: [
      "node5:236:1022 [2] NCCL WARN socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host) errno 115(Operation now in progress)",
    ],
  },
  {
    name: "NCCL without a kernel for the GPU",
    id: "no-kernel-image",
    lines: ["n75:23:29 [0] enqueue.cc:58 NCCL WARN Cuda failure 'named symbol not found'"],
  },
  {
    name: "ranks that waited for each other",
    id: "collective-timeout",
    lines: [
      "ERROR 07-01 13:54:43 multiproc_worker_utils.py:120] Worker VllmWorkerProcess pid 1159 died, exit code: -6",
      "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600059 milliseconds before timing out.",
    ],
    cause: "waited 600 s for each other in one step (ALLREDUCE)",
    not: /docker logs/,
  },
  {
    name: "an API without its /v1, in Go's words",
    id: "client-path-missing",
    lines: ['Error: POST "http://localhost:11434/chat/completions": 404 Not Found'],
    change: "lacks the /v1, since it asked for /chat/completions",
  },
  {
    name: "a name that Linux gives no container",
    id: "client-host-unknown",
    lines: [
      "Cannot connect to host host.docker.internal:11434 ssl:default [Name or service not known]",
    ],
    change: "`--add-host=host.docker.internal:host-gateway`",
    not: /a first start takes minutes/,
  },
  {
    name: "a container that asks itself",
    id: "client-not-reached",
    lines: [cannot("localhost:11434")],
    cause: "where that address is the container itself",
    not: /From another computer/,
  },
  {
    name: "a container that asks a machine's loopback",
    id: "client-not-reached",
    lines: [cannot("host.docker.internal:11434")],
    cause: "listens on the machine's loopback alone",
    change: "`simpleServer.listen: 172.17.0.1`",
  },
  {
    name: "opencode's words",
    id: "client-not-reached",
    lines: [
      'ERROR service=session.processor error=Unable to connect stack="AI_APICallError: Unable to connect"',
    ],
    cause: "Nothing answers the client at its address",
  },
  {
    name: "a proxy between them",
    id: "client-proxy-between",
    lines: [
      "litellm.APIConnectionError: OllamaException - Server error '502 Bad Gateway' for url 'http://localhost:11434/api/generate'",
    ],
    cause: "answers the client 502 in place of http://localhost:11434",
    change: "NO_PROXY",
  },
  {
    name: "a killed runner",
    id: "ollama-runner-killed",
    lines: [ollama('source=server.go:415 msg="llama runner terminated" error="signal: killed"')],
    cause: "the kernel for lack of memory, or somebody",
    not: /docker logs/,
  },
  {
    name: "a runner that went while it answered",
    id: "ollama-load-failed",
    lines: [
      `Ollama Error - {'error': 'POST predict: Post "http://127.0.0.1:41401/completion": EOF'}`,
    ],
    cause: "or its runner ended",
  },
  {
    name: "a cache that is too small",
    id: "cache-too-small",
    lines: [
      "WARNING 08-20 10:23:40 scheduler.py:1141] Sequence group 221 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=101",
    ],
    cause: "101 times so far",
  },
  {
    name: "a cache that was too small once",
    id: "",
    lines: [
      "WARNING 08-20 10:23:40 scheduler.py:1141] Sequence group 1 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=1",
    ],
  },
];

const request = (text: string) =>
  `(APIServer pid=1) INFO 11-30 12:34:41 [request_logger.py:98] ${text}`;
const rates = (times: number, calls: number) => [
  ARGS,
  UP,
  ...Array.from(
    { length: times },
    (_, at) =>
      `(APIServer pid=1) INFO 11-30 12:0${at}:15 [loggers.py:271] Engine 000: Avg prompt throughput: 212.4 tokens/s, Avg generation throughput: 179.2 tokens/s, Running: 8 reqs, Waiting: 4 reqs, GPU KV cache usage: 0.1%, Prefix cache hit rate: 0.0%`,
  ),
  ...refusedTimes(calls, "/v1/chat/completions", "200 OK"),
];

/** What looks like trouble or like another one. */
const NO_TROUBLE: readonly PlaceCase[] = [
  {
    name: "an answer about errors",
    id: "",
    lines: [
      ARGS,
      UP,
      request(
        "Generated response chatcmpl-1: output: 'It is torch.OutOfMemoryError: CUDA out of memory.'",
      ),
    ],
  },
  { name: "many short prompts at once", id: "", lines: rates(4, 40) },
  {
    name: "few long prompts without a common beginning",
    id: "prefix-cache-cold",
    lines: rates(4, 8),
  },
  {
    name: "a start that was stopped",
    id: "",
    note: "stopped-while-starting",
    lines: [
      ARGS,
      "(EngineCore pid=2) Traceback (most recent call last):",
      `(EngineCore pid=2)   File "${VENV}/vllm/entrypoints/launchers/api_server/entry.py", line 171, in _interrupt_init`,
      '(EngineCore pid=2)     raise KeyboardInterrupt("terminated")',
      "(EngineCore pid=2) KeyboardInterrupt: terminated",
    ],
  },
  {
    name: "a rank that looks for the others",
    id: "",
    note: "master-unreached",
    lines: [
      "(Worker pid=9) INFO 11-30 12:14:07 [parallel_state.py:1827] world_size=2 rank=1 local_rank=0 distributed_init_method=tcp://10.9.0.1:29509 backend=gloo",
    ],
  },
  {
    name: "a full disk below a compiler",
    id: "no-space",
    lines: raised(
      "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\nfatal error: error writing to /tmp/x.s: No space left on device",
      ["torch/_inductor/codecache.py"],
    ),
    not: /enforce-eager|another one/,
  },
  {
    name: "JSON in typographic quotes",
    id: "argument-refused",
    lines: [
      "vllm: error: argument --hf-overrides: Value {\u201cvocab_size\u201d: 65536} cannot be converted to <function loads at 0x7fbe66d7ca40>.",
    ],
    cause: "since its quotes are typographic ones",
    change: `'{"vocab_size":65536}'`,
  },
  {
    name: "a plug-in whose package isn't installed",
    id: "parser-plugin",
    lines: plugin(
      '  File "/plugins/acme.py", line 1, in <module>',
      "    import json_repair",
      "ModuleNotFoundError: No module named 'json_repair'",
    ),
    change: "that package in line 1 isn't installed",
    not: /Update the plugin/,
  },
  {
    name: "a class that an argument names",
    id: "module-named",
    lines: [
      named("scheduler_cls", "vllm.v1.core.sched.scheduler.FairScheduler"),
      ...raised(
        "AttributeError: module 'vllm.v1.core.sched.scheduler' has no attribute 'FairScheduler'",
        ["vllm/config/scheduler.py"],
      ).slice(1),
    ],
    cause: "vLLM finds no FairScheduler in vllm.v1.core.sched.scheduler, which `--scheduler-cls",
    not: /fresh environment/,
  },
  {
    name: "a template that was given",
    id: "chat-template-broken",
    lines: [
      ARGS.replace("'revision'", "'chat_template': '/templates/acme.jinja', 'revision'"),
      "jinja2.exceptions.TemplateSyntaxError: Unexpected end of template.",
    ],
    change: "Correct /templates/acme.jinja",
    not: /the model's own chat_template.jinja/,
  },
  {
    name: "a certificate that is cut off",
    id: "engine-said",
    lines: [
      ARGS.replace("'revision'", "'ssl_certfile': '/tls/cut.pem', 'revision'"),
      ...raised("ssl.SSLError: [SSL] PEM lib (_ssl.c:3905)", ["uvicorn/config.py"], {
        code: "ctx.load_cert_chain(certfile, keyfile, get_password)",
      }).slice(1),
    ],
    change: "`--ssl-certfile /tls/cut.pem`",
  },
  {
    name: "an address of another machine",
    id: "engine-said",
    lines: [
      ARGS.replace("'revision'", "'data_parallel_address': '192.0.2.7', 'revision'"),
      ...raised(
        "OSError: [Errno 99] Cannot assign requested address",
        ["vllm/utils/network_utils.py"],
        {
          code: "listener.bind(bind_address)",
        },
      ).slice(1),
    ],
    change: "`--data-parallel-address 192.0.2.7`",
  },
  {
    name: "no model at all",
    id: "model-not-in-cache",
    lines: [
      "(APIServer pid=1) INFO 09-05 10:19:15 [a.py:1] non-default args: {'enforce_eager': True}",
      ...raised(
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder",
        ["huggingface_hub/_snapshot_download.py"],
      ).slice(1),
    ],
    cause: "No model was named, so vLLM takes its default",
    change: "`vllm serve MODEL`",
  },
];

/** What starts end of, by what they were given, where it was raised and what the log's clock shows. */
export const START_CASES: readonly PlaceCase[] = [
  GIVEN,
  NEWER,
  VARIABLES,
  OWN_CODE,
  FILES,
  RUNNING,
  OTHERS,
  NO_TROUBLE,
].flat();
