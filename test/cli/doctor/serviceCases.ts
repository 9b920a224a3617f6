import { type PlaceCase, raised, UP } from "./placeCases";

const LITELLM = "/srv/proxy/lib/python3.11/site-packages/litellm";

const access = (path: string, status: string, { method = "POST", client = "10.0.0.9" } = {}) =>
  `INFO:     ${client}:51544 - "${method} ${path} HTTP/1.1" ${status}`;
const CHAT = "/v1/chat/completions";

const ofLiteLlm = (what: string, ...files: readonly string[]): string[] => [
  "12:17:24 - LiteLLM Proxy:ERROR: common_request_processing.py:1839 - Exception occured",
  "Traceback (most recent call last):",
  '  File "/srv/proxy/lib/python3.11/site-packages/aiohttp/connector.py", line 1322, in _wrap',
  "    sock = await start_connection(",
  "ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 8001)",
  "",
  "The above exception was the direct cause of the following exception:",
  "",
  "Traceback (most recent call last):",
  ...files.flatMap((file) => [`  File "${file}", line 7, in f`, "    f(x)"]),
  what,
];

/** LiteLLM of somebody else's, in a container or not. */
const BRIDGE: readonly PlaceCase[] = [
  {
    name: "what LiteLLM raises of a request",
    id: "bridge-upstream-down",
    lines: [
      ...ofLiteLlm(
        "litellm.exceptions.InternalServerError: litellm.InternalServerError: Hosted_vllmException - Cannot connect to host localhost:8001 ssl:default",
        `${LITELLM}/main.py`,
      ),
      access(CHAT, "500 Internal Server Error"),
    ],
    cause: "on loopback (localhost:8001)",
    change: "as `api_base`",
    not: /vLLM ended|file that the plan writes/,
  },
  {
    name: "one request of LiteLLM's that failed of something else",
    id: "",
    lines: [
      ...ofLiteLlm("litellm.exceptions.Timeout: it took too long", `${LITELLM}/main.py`),
      access(CHAT, "408 Request Timeout"),
      access(CHAT, "200 OK"),
    ],
  },
  {
    name: "a key that everybody knows",
    id: "bridge-without-key",
    lines: ["LiteLLM proxy refused to start: the master key is a publicly known default."],
    change: "LITELLM_MASTER_KEY",
    not: /file that the plan writes/,
  },
  {
    name: "a model of the proxy's without a provider",
    id: "bridge-provider-missing",
    lines: [
      "12:13:20 - LiteLLM Router:ERROR: router.py:9852 - Error creating deployment: litellm.BadRequestError: LLM Provider NOT provided. Pass in the LLM provider you are trying to call. You passed model=m7",
      "litellm.exceptions.BadRequestError: litellm.BadRequestError: LLM Provider NOT provided. You passed model=m7",
      UP,
    ],
    cause: "`m7`",
    change: "hosted_vllm/m7",
    not: /aider/,
  },
];

const docker = (said: string) => `docker: Error response from daemon: ${said}`;
const created = (said: string) =>
  docker(
    `failed to create task for container: failed to create shim task: OCI runtime create failed: ${said}: unknown`,
  );
const NO_LOGS = /docker logs/;

/** Docker's own words, by what stands behind its prefix. */
const DOCKER: readonly PlaceCase[] = [
  {
    name: "a name twice",
    id: "container-name-taken",
    lines: [
      docker('Conflict. The container name "/chat-1" is already in use by container "63675f28".'),
    ],
    cause: "called chat-1",
    change: "Remove the old one",
    not: NO_LOGS,
  },
  {
    name: "an image without vllm",
    id: "no-vllm-inside",
    lines: [created('runc create failed: exec: "vllm": executable file not found in $PATH')],
    not: NO_LOGS,
  },
  {
    name: "an image without a program",
    id: "program-missing",
    lines: [
      created('runc create failed: exec: "/srv/go": stat /srv/go: no such file or directory'),
    ],
    cause: "no program /srv/go",
    not: NO_LOGS,
  },
  {
    name: "an option for a program",
    id: "program-missing",
    lines: [created('runc create failed: exec: "--model": executable file not found in $PATH')],
    cause: "took the option --model for the program",
  },
  {
    name: "a program that may not be run",
    id: "program-missing",
    lines: [created('runc create failed: exec: "/srv/go.sh": permission denied')],
    cause: "/srv/go.sh isn't executable",
  },
  {
    name: "an exec of nvidia-smi",
    id: "program-not-inside",
    lines: [
      'OCI runtime exec failed: exec failed: unable to start container process: exec: "nvidia-smi": executable file not found in $PATH: unknown',
    ],
    cause: "The container runs, and has no `nvidia-smi`",
    change: "--gpus all",
    not: /can't be started/,
  },
  {
    name: "an exec of something else",
    id: "program-not-inside",
    lines: [
      'OCI runtime exec failed: exec failed: unable to start container process: exec: "vllm": executable file not found in $PATH: unknown',
    ],
    cause: "no program vllm: its image lacks it",
  },
  {
    name: "an exec into what ended",
    id: "program-not-inside",
    lines: ["Error response from daemon: Container 4f2a is not running"],
    cause: "in the container 4f2a: it isn't running",
  },
  {
    name: "a socket of others",
    id: "docker-denied",
    lines: [
      "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
    ],
    cause: "may not use Docker",
    change: "join that group",
    not: /can't be started/,
  },
  {
    name: "an engine that doesn't run",
    id: "docker-unreachable",
    lines: [
      "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    ],
    cause: "engine doesn't answer",
  },
  {
    name: "a registry without a name",
    id: "registry-unreachable",
    lines: [
      docker(
        'failed to resolve reference "quay.example/a:1": failed to do request: Head "https://quay.example/v2/a/manifests/1": dial tcp: lookup quay.example on 10.0.0.1:53: no such host',
      ),
    ],
    cause: "finds no address of quay.example",
    change: "HTTPS_PROXY",
  },
  {
    name: "an image that isn't handed out",
    id: "image-denied",
    lines: [
      docker(
        "pull access denied for org/a, repository does not exist or may require 'docker login'",
      ),
    ],
    cause: "hand out org/a",
  },
  {
    name: "too many pulls",
    id: "registry-limit",
    lines: ["Error response from daemon: toomanyrequests: Rate exceeded"],
    change: "log in",
    not: /can't be started|docker logs/,
  },
  {
    name: "a device without a description",
    id: "gpu-cdi-missing",
    lines: [created("failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=1")],
    cause: "unresolvable CDI devices nvidia.com/gpu=1.",
    change: "make the list",
  },
  {
    name: "an engine without descriptions",
    id: "gpu-cdi-missing",
    lines: [docker('could not select device driver "cdi" with capabilities: []')],
    change: "`--gpus all`",
  },
  {
    name: "a GPU that Docker 29 doesn't find",
    id: "gpu-cdi-missing",
    lines: [docker("failed to discover GPU vendor from CDI: no known GPU vendor found")],
    change: "install the toolkit if it is missing",
  },
  {
    name: "no RDMA",
    id: "host-device-missing",
    lines: [
      docker(
        'error gathering device information while adding custom device "/dev/infiniband/rdma_cm": no such file or directory',
      ),
    ],
    cause: "no /dev/infiniband/rdma_cm",
    change: "Leave `--device /dev/infiniband/rdma_cm` out",
  },
  {
    name: "another device",
    id: "host-device-missing",
    lines: [
      docker(
        'error gathering device information while adding custom device "/dev/kfd": no such file or directory',
      ),
    ],
    cause: "no /dev/kfd",
  },
  {
    name: "a network that isn't there",
    id: "docker-network-missing",
    lines: [docker("network back not found")],
    cause: "no network called back",
  },
  {
    name: "swap below the memory",
    id: "docker-option-refused",
    lines: [docker("Minimum memoryswap limit should be larger than memory limit, see usage")],
    change: "`--memory` or more",
  },
  {
    name: "an image's name",
    id: "docker-option-refused",
    lines: ["docker: invalid reference format: repository name (org/A) must be lowercase"],
    cause: "repository name (org/A) must be lowercase",
    not: NO_LOGS,
  },
  {
    name: "anything else that Docker refuses",
    id: "engine-said",
    lines: ["Error response from daemon: plugin of volumes is away"],
    cause: "Docker refuses: plugin of volumes is away",
    change: "Docker itself says it",
    not: NO_LOGS,
  },
  {
    name: "a full disk of anybody's",
    id: "no-space",
    lines: ["Error: open /data/models/a.bin: no space left on device"],
    cause: "A disk is full",
  },
];

/** NCCL, and processes that wait for each other. */
const RANKS: readonly PlaceCase[] = [
  {
    name: "a step that all take together",
    id: "collective-timeout",
    lines: [
      "ERROR 07-01 13:54:43 w.py:120] Worker VllmWorkerProcess pid 1159 died, exit code: -6",
      "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600059 milliseconds before timing out.",
    ],
    cause: "waited 600 s for each other in one step (ALLREDUCE)",
  },
  {
    name: "a worker that died",
    id: "engine-said",
    lines: ["ERROR 07-01 13:54:43 w.py:120] Worker VllmWorkerProcess pid 1159 died, exit code: -6"],
    cause: "VllmWorkerProcess (pid 1159) ended by signal 6",
  },
  {
    name: "kernels of another GPU",
    id: "backend-of-another-gpu",
    lines: raised("RuntimeError: No supported CUDA architectures found for major versions [9].", [
      "flashinfer/compilation_context.py",
    ]),
    cause: "for GPUs 9.x alone",
    change: "moeBackend: marlin",
  },
  {
    name: "a kernel that ran and failed, by its own line",
    id: "kernel-unfit",
    lines: ["RuntimeError: [FP8 gemm Runner] Failed to run cutlass FP8 gemm on sm120. Error: x"],
    cause: "CUTLASS can't make or run a kernel on this GPU, for linear layers",
    change: "--linear-backend marlin",
  },
  {
    name: "another image's platform",
    id: "wrong-platform",
    lines: ["no matching manifest for linux/arm64/v8 in the manifest list entries"],
    not: /"command":"[^"]*serving pin/,
  },
];

const figures = (clock: string, generation: number) =>
  `(APIServer pid=1) INFO 09-05 ${clock} [loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: ${generation}.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 34.3%, Prefix cache hit rate: 61.0%`;
const blocked = (clock: string) =>
  `(EngineCore pid=2) INFO 09-05 ${clock} [shm_broadcast.py:698] No available shared memory broadcast block found in 60 seconds.`;
const preempted = (times: number) =>
  `WARNING 08-20 10:18:39 scheduler.py:1141] Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=${times}`;

/** An engine whose workers take no step, or take one again and again. */
const HANGS: readonly PlaceCase[] = [
  {
    name: "workers that took nothing for minutes, behind one interval without a token",
    id: "engine-hangs",
    lines: [figures("10:00:00", 0), blocked("10:01:00"), blocked("10:02:00")],
    cause: "no token was made for 2 min 0 s",
    not: /cache doesn't fill/,
  },
  {
    name: "workers that took nothing for one minute",
    id: "",
    lines: [figures("10:00:00", 0), blocked("10:01:00")],
  },
  {
    name: "workers that took something again",
    id: "",
    lines: [
      figures("10:00:00", 0),
      blocked("10:01:00"),
      blocked("10:02:00"),
      figures("10:02:10", 20),
    ],
  },
  {
    name: "a cache that is too small for what runs",
    id: "cache-too-small",
    lines: [preempted(1), preempted(51)],
    cause: "51 times",
    change: "maxNumSeqs",
  },
  {
    name: "one request that gave way",
    id: "",
    lines: [preempted(1)],
  },
];

const UNREACHED =
  "Router:INFO: router.py:770 - Exception litellm.APIConnectionError: Cannot connect to host";

/** What clients say of the server that they ask. */
const CLIENTS: readonly PlaceCase[] = [
  {
    name: "a path, as the clients in Go say it",
    id: "client-path-missing",
    lines: ['Error: POST "http://10.0.0.7:8000/responses": 404 Not Found {"detail":"x"}'],
    change: "its base URL lacks the /v1, since it asked for /responses",
  },
  {
    name: "a path with /v1, as the clients in Go say it",
    id: "",
    lines: ['POST "http://10.0.0.7:8000/v1/responses": 404 Not Found'],
  },
  {
    name: "a model that may be pulled",
    id: "client-unknown-model",
    lines: ["unexpected status 404 Not Found: model 'gpt-oss:20b' not found"],
    cause: "the model gpt-oss:20b,",
  },
  {
    name: "a name that the container wasn't given",
    id: "client-host-unknown",
    lines: [
      "ERROR: Cannot connect to host host.docker.internal:8000 ssl:default [Name or service not known]",
      access("/api/models", "200 OK", { method: "GET" }),
    ],
    change: "--add-host=host.docker.internal:host-gateway",
  },
  {
    name: "the same, as Node says it",
    id: "client-host-unknown",
    lines: ["Error: getaddrinfo ENOTFOUND host.docker.internal"],
  },
  {
    name: "loopback",
    id: "client-not-reached",
    lines: [`${UNREACHED} localhost:11434 ssl:default [Connection refused]`],
    cause: "where that address is the container itself",
    not: /first start takes minutes|bridge with a key/,
  },
  {
    name: "the machine, from a container",
    id: "client-not-reached",
    lines: [
      `${UNREACHED} host.docker.internal:11434 ssl:default [Connect call failed ('172.17.0.1', 11434)]`,
    ],
    cause: "listens on the machine's loopback alone",
    change: "simpleServer.listen: 172.17.0.1",
  },
  {
    name: "another computer",
    id: "client-not-reached",
    lines: [`${UNREACHED} 192.168.1.9:8000 ssl:default [Connection refused]`],
    cause: "at 192.168.1.9:8000: the server doesn't run",
    change: "the bridge with a key",
  },
  {
    name: "opencode's words",
    id: "client-not-reached",
    lines: ['error=Unable to connect stack="AI_APICallError: Unable to connect\\n at x"'],
  },
  {
    name: "an Ollama, in a client's own words",
    id: "client-not-reached",
    lines: ["Unable to connect to local Ollama instance. Ollama may not be running."],
    cause: "Ollama doesn't run",
  },
  {
    name: "a proxy in between",
    id: "client-proxy-between",
    lines: [
      "OllamaException - Server error '502 Bad Gateway' for url 'http://localhost:11434/api'",
    ],
    cause: "answers the client 502",
    change: "NO_PROXY=localhost",
  },
  {
    name: "a runner that was killed",
    id: "ollama-runner-killed",
    lines: [
      'time=2025-06-27T14:42:08.637Z level=ERROR source=server.go:415 msg="llama runner terminated" error="signal: killed"',
    ],
    cause: "killed Ollama's runner (SIGKILL)",
    not: /docker logs/,
  },
  {
    name: "the same of a load",
    id: "ollama-runner-killed",
    lines: ["Error: llama runner process has terminated: signal: killed"],
  },
];

/** What clients, their servers, Docker and the machine say, each told by who says it. */
export const SERVICE_CASES: readonly PlaceCase[] = [
  ...BRIDGE,
  ...DOCKER,
  ...RANKS,
  ...HANGS,
  ...CLIENTS,
];
