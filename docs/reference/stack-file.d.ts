// Made by `serving harness reference` from components/settings. Edits here are lost.

/** A machine, as below `machines` in a stack file. */
export interface MachineSettings {
  /** Total unified memory in GiB: MemTotal of /proc/meminfo in kB, divided by 1048576. 121.63 or 121.69 on a DGX Spark. */
  readonly totalGiB: number;
  /** What the machine is, as `serving init` recognises it: `gb10` is a DGX Spark or a sibling from another maker. The preflight refuses a device that isn't the machine's. On `gb10`, a `totalGiB` more than 3 % off the figures known of it is a fault: 121.63 to 121.69, or 60.7 of the one with 64 GB. On that one, `jetson-thor`, `n1x` and `nvidia-unified`, figures published for a DGX Spark are marked. On `other`, a machine without an NVIDIA GPU that shares its memory, no server can be declared. Left out: planned as a DGX Spark. */
  readonly device?: "gb10" | "n1x" | "jetson-thor" | "nvidia-unified" | "other";
  /** Docker engine of the machine: a socket here (`unix://`), or `ssh://user@host` for another computer, whose files are written over the same ssh (guide: a machine that is elsewhere). Default: `"unix:///var/run/docker.sock"`. */
  readonly dockerHost?: string;
  /** Home directory on the machine, which `~/` in a path means. Left out: the home of whoever runs this; over ssh `/root` for root and `/home/USER` for any other user that `dockerHost` names. */
  readonly home?: string;
  /** Docker network that our containers share, so that they reach each other by name. Default: `"local-serving"`. */
  readonly network?: string;
  /** Hugging Face cache on the machine, mounted into the servers. Made when missing, never removed. Default: `"~/.cache/huggingface"`. */
  readonly modelCache?: string;
  /** Memory in GiB that the operating system and the page cache need: MemTotal - MemAvailable while no server runs. The default is unmeasured; 17 to 20 GiB have been seen. Any other value counts as declared: a plan that then exceeds the machine is refused. Default: `4`. */
  readonly operatingSystemGiB?: number;
  /** Memory in GiB of your own containers with GPUs that are not inference servers, such as an image generator. It counts in the sum, but not in the servers' 0.90. Without it a policy refuses such a container. */
  readonly otherGpuMemoryGiB?: number;
  /** GPUs of the machine: 1 on a DGX Spark. A server on this machine alone can't use more. Default: `1`. */
  readonly gpus?: number;
  /** The machine's end of the private network to other machines, over which one model runs on several (`inferenceServers.*.nodes`). No other computer may be on it: vLLM's ranks check no key. */
  readonly link?: {
    /** Network interface of the link, as `ip -br link` prints it on the machine. */
    readonly interface: string;
    /** The machine's own address on that interface. */
    readonly address: string;
    /** RDMA devices of the link, as `ibdev2netdev` prints them on the machine: two for each cable of a DGX Spark. Without them NCCL uses sockets, which is slow. Default: `[]`. */
    readonly hcas?: ReadonlyArray<string>;
    /** NCCL_IB_GID_INDEX: index of the address's RoCE v2 GID, as `show_gids` prints it on the machine. Needed with `hcas`. */
    readonly gidIndex?: number;
  };
  /** MemAvailable in GiB below which a server of ours is stopped, so that instance A and SSH survive. It waits for memory before it starts again. 0 turns this off. A change restarts nothing. Default: `2`. */
  readonly memoryFloorGiB?: number;
  /** How many starts of a server may fail within an hour, including stops at the memory floor. After that it stays stopped until you change it or run the command that its log names: restart loops have leaked memory until the machine hung. A change restarts nothing. Default: `3`. */
  readonly startsPerHour?: number;
  /** Longest time in minutes that `serving up`, after your yes, waits for running requests before it replaces or removes their server, and `serving stop` before it stops it. The default is enough for an answer of 12,000 tokens at 20 tokens a second. 0: it doesn't wait. Plain `pulumi up` never waits. A change restarts nothing. Default: `10`. */
  readonly waitForRequestsMinutes?: number;
  /** Longest time in minutes that `serving up --verified` gives each server and service that it starts. If one isn't ready by then, it is put back. Left out: twice the longest time in the plan, or 60 if the plan gives none. A change restarts nothing. */
  readonly startWithinMinutes?: number;
  readonly instanceA: "none" | {
    /** TCP port that instance A listens on. Default: `8000`. */
    readonly port?: number;
    /** Address that instance A listens on (its `--host`; vLLM's default is every address). On 127.0.0.1 no container can reach it; on 172.17.0.1, Docker's own bridge, the network can't. Default: `"0.0.0.0"`. */
    readonly listen?: string;
    /** Served model name of instance A. Needed only if a client, the bridge or the chat UI uses instance A. */
    readonly servedModelName?: string;
    /** Tool-call parser of instance A (its `--tool-call-parser`). Write `none` if it was started without that flag or without `--enable-auto-tool-choice`: coding clients are then not pointed at it. Declared, never set. Left out: not known. */
    readonly toolParser?: string;
    /** NAME of the variable of your shell that holds the key of instance A (its `--api-key` or VLLM_API_KEY); `none` if it asks for none. Left out: not known. Clients with `via: native` then take their key from this variable; the bridge sends it none. */
    readonly keyVariable?: "none" | string;
    /** Minutes that instance A may take to come up after a boot: loading (4 to 7 were seen) and, the first time, compiling (10 to 15). Until then our servers leave its share free; after that they start if their own share fits. Default: `30`. */
    readonly readyWithinMinutes?: number;
    /** Share of the machine's TOTAL memory that instance A was started with (its `--gpu-memory-utilization`). Declared, never set: only the operator can lower it, on instance A itself. */
    readonly gpuMemoryUtilization: number;
    /** Context window of instance A in tokens (its `--max-model-len`). */
    readonly maxModelLen?: number;
    /** What instance A serves, for people who read the plan. */
    readonly model?: string;
    /** Size of instance A's weights in GB (10^9 bytes). */
    readonly weightsGB?: number;
  };
  /** The vLLM servers that we run in containers, by short name. */
  readonly inferenceServers?: { readonly [key: string]: {
    /** The model that this server loads. */
    readonly model: {
      /** Hub id of the model, or its folder on the machine (`/data/run-7/merged`, `~/merged`), which is mounted read-only at `/models/`. A path counts as one inside the container if it is below a `to` of `mounts` or below `/root/.cache/huggingface` (the model cache), or if `inImage` is set. It is the first argument of `vllm serve`. */
      readonly id: string;
      /** Says that `id` is a path inside the image, which brings the model: nothing is mounted then. */
      readonly inImage?: true;
      /** Family, which chooses the default tool parser and reasoning parser. Default: from `model_type` in the model's config.json, else `other`; never guessed from the name. A family other than the config's is refused. `qwen3`: Qwen3.5, Qwen3.6, Qwen3.8; `qwen3-coder`: Qwen3-Coder, Qwen3-Coder-Next; `qwen3-next-instruct`: Qwen3-Next Instruct; `gpt-oss`: gpt-oss-20b, gpt-oss-120b; `nemotron-3`: Nemotron-3 Nano and Super, Nemotron-3.5 Lightning; `glm-4.5`: GLM-4.5, GLM-4.6; `gemma-4`: Gemma 4; `llama-4`: Llama 4; `other`: every other model; name its parsers yourself. */
      readonly family?: "qwen3" | "qwen3-coder" | "qwen3-next-instruct" | "gpt-oss" | "nemotron-3" | "glm-4.5" | "gemma-4" | "llama-4" | "other";
      /** `chat` models are addressed by /v1/chat/completions and may get chat and coding clients; `base` models by /v1/completions only; `embedding` models by /v1/embeddings and `rerank` models by /v1/rerank, for document search (`--runner pooling`, without parsers and clients). Default: `"chat"`. */
      readonly kind?: "chat" | "base" | "embedding" | "rerank";
      /** Whether the model has a thinking mode. Only then is a reasoning parser passed: without one it would swallow tool calls. Default: `false`. */
      readonly thinking?: boolean;
      /** `--revision`: commit of the model's repository on the hub, so that every start serves the same files. Default: what its main branch holds when the model is first loaded. */
      readonly revision?: string;
      /** Size of the weights on disk in GB (10^9 bytes), for the memory plan before anything was measured. Default: the size of the snapshot in the model cache. A value more than 5 % off that size is refused. */
      readonly weightsGB?: number;
      /** Memory in GiB that the loaded weights take, if that isn't their size on disk because they are quantized while loading or partly left on disk. */
      readonly residentGiB?: number;
    };
    /** Canonical name that clients ask for. It must contain no slash (policy): coding clients can't address a name with one. */
    readonly servedModelName: string;
    /** Further names for the same model. Default: the hub id alone. */
    readonly aliases?: ReadonlyArray<string>;
    /** Image as `repository[:tag]@sha256:<64 hex digits>`. A policy requires the digest, since a tag can move. `serving pin IMAGE:TAG` prints it. */
    readonly image: string;
    /** Versions inside the image and their evidence. Correcting the record never restarts a container: it is no part of the container, and the digest links the two. */
    readonly versions?: {
      /** Version of vLLM inside the image (PEP 440). The floor is 0.26.0. */
      readonly vllm?: string;
      /** Version of transformers inside the image (PEP 440). The floor is 5.8.0. */
      readonly transformers?: string;
      /** How the versions are known. `published`: from the release's own metadata; a warning stays. `read`: read inside this image, as `serving pin` does. */
      readonly evidence: "published" | "read";
      /** Digest of the image with these versions, as `serving pin --write` writes it. If `image` has another digest, the record no longer counts. Left out: the record counts if `image` has the digest of a known release, or a tag that names the same version. */
      readonly digest?: string;
      /** Digest of the image for the machine's platform, within the multi-platform `digest`: the one that `serving pin` read. */
      readonly platformDigest?: string;
      /** Where the versions come from: a release page, or the date of the reading. */
      readonly source: string;
    };
    /** TCP port, the same inside the container and on the machine. Default: `8001`. */
    readonly port?: number;
    /** Address that the port is published on. On any address other than 127.0.0.1, everyone on the network can use the server: vLLM's own key guards only part of its routes. Publish the bridge instead, with a key. Default: `"127.0.0.1"`. */
    readonly listen?: string;
    /** `--gpu-memory-utilization`: share of the machine's TOTAL memory (not of what is free) that this server takes. All servers together stay at or under 0.90 (policy); vLLM's own default of 0.92 hangs this machine. */
    readonly gpuMemoryUtilization: number;
    /** `--max-model-len`: context window in tokens. Raising it makes vLLM compile kernels again, for the new tile sizes. */
    readonly maxModelLen: number;
    /** `--max-num-seqs`: sequences served at once. Always passed: vLLM's default changes with its version. Default: `4`. */
    readonly maxNumSeqs?: number;
    /** `--max-num-batched-tokens`: tokens in one batch. Always passed, for the same reason. Default: `8192`. */
    readonly maxNumBatchedTokens?: number;
    /** `--kv-cache-dtype`. `fp8` halves the bytes per token. Default: `"fp8"`. */
    readonly kvCacheDtype?: string;
    /** `--kv-cache-memory-bytes`: fixed size of the KV cache, in bytes. vLLM then ignores the utilization for the cache, so the plan counts the larger of two figures: the share, or these bytes plus the memory outside the cache. vLLM's start check still uses the utilization. */
    readonly kvCacheMemoryBytes?: number;
    /** Your reason to apply this server although the plan says that it cannot start: `server-starts` then warns and shows the reason, instead of refusing. Only for somebody who knows better than the figures; `model.weightsGB` and `measured` mend those. */
    readonly startAnyway?: string;
    /** Machines that share the model, by their names in this stack. The first must be the machine that declares the server: it is the head, which has the API. Each needs a `link`. Default: this machine alone. */
    readonly nodes?: ReadonlyArray<string>;
    /** `--tensor-parallel-size`: parts of each layer. With `nodes`, this times `pipelineParallelSize` is the number of all their GPUs: 2 over two DGX Sparks. Default: `1`. */
    readonly tensorParallelSize?: number;
    /** `--pipeline-parallel-size`: stages of layers, one after the other. For 3 or 5 machines, or for many requests at once. Default: `1`. */
    readonly pipelineParallelSize?: number;
    /** `--master-port`: port on the link by which the ranks of a server with `nodes` find each other. Their start gates use the next one. Default: `29501`. */
    readonly masterPort?: number;
    /** `--trust-remote-code`: runs code that comes with the model. Only for a model you trust. Default: `false`. */
    readonly trustRemoteCode?: boolean;
    /** `--enable-chunked-prefill`. Default: `true`. */
    readonly chunkedPrefill?: boolean;
    /** `--enable-prefix-caching`: decides between a working agent loop and a very slow one. Default: `true`. */
    readonly prefixCaching?: boolean;
    /** Structured tool calls. */
    readonly tools?: {
      /** `--enable-auto-tool-choice`: the model decides when to call a tool. Coding agents need it. Default: `true`. */
      readonly autoChoice?: boolean;
      /** `--tool-call-parser`. `auto` takes the family's parser (qwen3: `qwen3_coder`). Use `qwen3_xml` if `tool_calls` is empty and `content` holds XML; since vLLM 0.24 both names mean the same parser. Default: `"auto"`. */
      readonly parser?: string;
    };
    /** `--reasoning-parser`. `auto` takes the family's parser for a model with a thinking mode, and passes no flag at all for one without. Default: `"auto"`. */
    readonly reasoningParser?: string;
    /** `--moe-backend`: `marlin` is the sound choice for NVFP4 mixture-of-experts models on a GB10. */
    readonly moeBackend?: string;
    /** `--attention-backend`, for example `FLASHINFER`. */
    readonly attentionBackend?: string;
    /** `--gdn-prefill-backend`: kernel for gated-deltanet prefill, for example `triton`. Needs vLLM 0.33 or later. */
    readonly gdnPrefillBackend?: string;
    /** `--load-format`, for example `fastsafetensors`. */
    readonly loadFormat?: string;
    /** `--chat-template`: a path inside the container, the template itself, or `tolerant`. `tolerant` is the model's own template, changed to accept a system message in the middle of a conversation: it appends that message to the one before. This lets a client with `via: native` find its prefix in the cache again. */
    readonly chatTemplate?: string;
    /** `--speculative-config`: draft tokens, which speed up a single stream and cost KV cache. */
    readonly speculative?: {
      /** Method, for example `mtp`. */
      readonly method: string;
      /** Draft tokens for each step. */
      readonly numSpeculativeTokens: number;
      /** Hub id of the draft model, which methods such as `eagle3` need. */
      readonly model?: string;
    };
    /** LoRA adapters of the model, each served under a name of its own: `--enable-lora` and `--lora-modules`. Default: `[]`. */
    readonly adapters?: ReadonlyArray<{
      /** Name that clients ask for, in addition to the server's own names. */
      readonly name: string;
      /** Folder on the machine that holds `adapter_config.json` and `adapter_model.safetensors`, as PEFT's `save_pretrained` writes them. It is mounted read-only. Either this or `id`. */
      readonly path?: string;
      /** Hub id of the adapter, instead of `path`. The server reads its snapshot in the model cache, so download it first with `serving fetch`. Needs `revision`. */
      readonly id?: string;
      /** Commit of the adapter's repository on the hub. vLLM itself can't pin an adapter and would load whatever `main` holds; with this setting, every start serves the same files. */
      readonly revision?: string;
      /** Rank of the adapter, `r` of its `adapter_config.json`. Default: read from that file. Needed on a machine reached over ssh, where the file can't be read. */
      readonly rank?: number;
      /** Base model that the adapter's `adapter_config.json` names (`base_model_name_or_path`), if that isn't `model.id` but another copy of the same model, such as the unquantized one. Without this setting, another base is refused. */
      readonly trainedOn?: string;
    }>;
    /** `--max-lora-rank`: highest rank that a slot for an adapter has room for. Each slot takes memory for this rank, whatever rank its adapter has. Default: the smallest that vLLM accepts and that covers all `adapters`. */
    readonly maxLoraRank?: number;
    /** `--max-loras`: slots for adapters on the GPU: how many adapters can be in use at once; requests for others wait. Default: one for each adapter. */
    readonly maxLoras?: number;
    /** `--max-cpu-loras`: adapters that are kept in host memory (the same memory as the GPU's here), so that a slot is filled without reading files. Default: vLLM's own, the same as `maxLoras`. */
    readonly maxCpuLoras?: number;
    /** `--lora-target-modules`: layers that slots are made for, by the end of their names. Default: every linear layer, which for a mixture of experts is many times what most adapters use. */
    readonly loraTargetModules?: ReadonlyArray<string>;
    /** Allows a folder of yours whose only weights are Python pickles (`.bin`, `.pt`). Pickles can carry code, and only torch's restricted loader keeps it from running. Better convert them to safetensors. Default: `false`. */
    readonly allowPickle?: boolean;
    /** Further folders of the machine that the server may read, always read-only. A folder that is `model.id` or an adapter's `path` needs none. Default: `[]`. */
    readonly mounts?: ReadonlyArray<{
      /** Folder on the machine. */
      readonly from: string;
      /** Where it appears inside the container. */
      readonly to: string;
    }>;
    /** `--allowed-origins`: web pages that may call the server from a browser, by origin. Always passed, since vLLM's own default changes with its version and lets any page call a server that checks no key. Programs other than browsers are not affected. Default: `[]`. */
    readonly allowedOrigins?: ReadonlyArray<string>;
    /** MAX_JOBS and NINJA_JOBS: compile processes at once. About 8 of them beside loaded weights end in exit 137 (killed). Default: `2`. */
    readonly compileJobs?: number;
    /** Further environment variables. No secrets: values are shown in the plan and kept in the state. A variable that has a setting of its own is refused here. */
    readonly environment?: { readonly [key: string]: string };
    /** NAME of the variable of your shell that holds a Hugging Face token, for a gated model. Its value reaches the container as a file of mode 0600, and is in no plan, preview, log or environment. */
    readonly huggingFaceTokenVariable?: string;
    /** Further arguments of `vllm serve`, as they are. A flag that has a setting of its own is refused here. Default: `[]`. */
    readonly extraArgs?: ReadonlyArray<string>;
    /** Figures measured after all servers of the machine had loaded and served a request; `serving verify --only memory` prints these lines. With them the KV plan is exact, and this combination of servers counts as proven. */
    readonly measured?: {
      /** Earlier name of `chargedGiB`; still read. */
      readonly nonKvGiB?: number;
      /** Memory in GiB that vLLM charged for all but its KV cache: utilization x total, minus the log's `Available KV cache memory`. It sizes the cache under a share, and grows with the page cache, compilers and other programs. */
      readonly chargedGiB?: number;
      /** Memory in GiB that the server held beside its KV cache, by vLLM's own lines: weights, peak activation, CUDA graphs and what is not torch's. `kvCacheMemoryBytes` is computed from it. */
      readonly takenGiB?: number;
      /** `GPU KV cache size` of the log, in tokens. Compare `maxConcurrency`, not this, across versions. */
      readonly kvTokens: number;
      /** `Maximum concurrency` of the log: requests of the whole window that the KV cache holds. */
      readonly maxConcurrency: number;
      /** Ranks that shared the model (`tensorParallelSize` x `pipelineParallelSize`); the figures are those of the rank with the least memory. If the model is divided differently, the record no longer counts. Default: 1. */
      readonly ranks?: number;
      /** `maxNumSeqs` that it was measured with. */
      readonly maxNumSeqs?: number;
      /** `maxNumBatchedTokens` that it was measured with. */
      readonly maxNumBatchedTokens?: number;
      /** `speculative.numSpeculativeTokens` that it was measured with; 0 without drafts. */
      readonly draftTokens?: number;
      /** `loadFormat` that it was measured with; `auto` without one. */
      readonly loadFormat?: string;
      /** Day of the measurement, year-month-day, in quotes (without them, some YAML readers turn it into a time). */
      readonly at: string;
      /** Image that was measured, by its digest. With another image the record no longer counts. */
      readonly image: string;
    };
    /** What `serving bench --record` measured. Plans and `serving models` use it instead of published rates. */
    readonly measuredSpeeds?: {
      /** Tokens of a cold prompt read in a second. */
      readonly prefill: number;
      /** Tokens in a second of one answer alone. */
      readonly decode: number;
      /** Day of the measurement, year-month-day, in quotes (without them, some YAML readers turn it into a time). */
      readonly at: string;
      /** Image that was measured, by its digest. With another image the record no longer counts. */
      readonly image: string;
    };
    /** Container health check on /health. */
    readonly healthcheck?: {
      /** Minutes during which a failing health check does not count. A first start compiles kernels for 10 to 15 minutes after loading. Default: `45`. */
      readonly startPeriodMinutes?: number;
      /** Seconds between two checks. Default: `15`. */
      readonly intervalSeconds?: number;
      /** Seconds that a check may take. Default: `5`. */
      readonly timeoutSeconds?: number;
      /** Failed checks in a row before the container is unhealthy. Default: `8`. */
      readonly retries?: number;
    };
    /** Limit on locked memory (ulimit memlock) in bytes; -1 is unlimited, as the published recipes for this machine have it. A daemon that may not raise its own limit needs a smaller one. Default: `-1`. */
    readonly lockedMemoryBytes?: number;
    /** Seconds that the server gets to stop before it is killed. Default: `60`. */
    readonly stopGraceSeconds?: number;
    /** `onRequest`: `up` creates the container but doesn't start it. `serving start NAME` starts it if it fits beside what runs, and else says what to stop. More such servers may be declared than fit at once: the plan says which run together (guide: models on demand). Default: `"always"`. */
    readonly start?: "always" | "onRequest";
    /** Minutes without a request after which the server is stopped. `never`: only when another server needs its memory. Needs `start: onRequest` and the machine's `onDemand`. Default: 30. */
    readonly idleMinutes?: "never" | number;
  } };
  /** Starts servers with `start: onRequest` when their model is asked for, after stopping servers that leave them no room (guide: models on demand). Left out: only `serving start` starts them. */
  readonly onDemand?: {
    /** TCP port at which llama-swap answers for every server with `start: onRequest`. Default: `8010`. */
    readonly port?: number;
    /** llama-swap, the program that starts and stops servers on request. */
    readonly program: {
      /** Release of llama-swap. v250 was tried. */
      readonly version: string;
      /** SHA-256 of the release's archive for this machine, or of the program if `from` is a path. A policy refuses a program without it; `serving pin` fills it in. */
      readonly sha256?: string;
      /** Where the program comes from: an address with a folder for each release and its archives in it, or the path of a program on the machine that you built yourself. Default: `"https://github.com/mostlygeek/llama-swap/releases/download"`. */
      readonly from?: string;
    };
    /** NAME of the variable of your shell that holds llama-swap's key; its value is passed as a file of mode 0600. Needed if the bridge or the chat UI uses such a server. */
    readonly keyVariable?: string;
    /** Docker network between llama-swap and the containers that ask it (bridge, chat UI): llama-swap listens on its first address. If no container asks it, it listens on 127.0.0.1 and there is no such network. Default: `"172.31.241.0/28"`. */
    readonly subnet?: string;
    /** Longest time in minutes from a request until its server is ready. After that the start counts as failed. Default: `60`. */
    readonly startWithinMinutes?: number;
    /** Minutes after a failed start during which the server isn't tried again and no other server is stopped for it. Default: `10`. */
    readonly retryAfterMinutes?: number;
  };
  /** The simple model server (Ollama): on the host, inside the chat UI's container, or none. Default: `{"mode":"none"}`. */
  readonly simpleServer?: {
    /** Where Ollama is. `host`: installed on the machine, with the keys listed here. `integrated`: inside the chat UI's container, with its models in a volume that the host does not see; accepts only `models`, `loadedGiB` and `residentModelsGiB`. `none`: there is no Ollama. */
    readonly mode: "host";
    /** Address that Ollama listens on (OLLAMA_HOST). `172.17.0.1`, Docker's own bridge, opens it to our containers alone, `0.0.0.0` to the network as well: Ollama never asks for a key. Default: `"127.0.0.1"`. */
    readonly listen?: string;
    /** TCP port that Ollama listens on (OLLAMA_HOST). Default: `11434`. */
    readonly port?: number;
    /** Directory of the models (OLLAMA_MODELS). It must be owned by the service's user, who must also be able to enter its parents. The default is the directory of Ollama's installer. Default: `"/usr/share/ollama/.ollama/models"`. */
    readonly modelsDirectory?: string;
    /** User that the service runs as; Ollama's installer creates `ollama`. Default: `"ollama"`. */
    readonly serviceUser?: string;
    /** systemd unit of the service. Default: `"ollama.service"`. */
    readonly unit?: string;
    /** Directory of systemd's local configuration. Default: `"/etc/systemd/system"`. */
    readonly systemdDirectory?: string;
    /** OLLAMA_MAX_LOADED_MODELS: models in memory at once. Ollama's own default is 3 per GPU, whatever else runs. Default: `1`. */
    readonly maxLoadedModels?: number;
    /** OLLAMA_CONTEXT_LENGTH: context window in tokens. Always set: by default Ollama uses 256k on a machine of this size. Default: `32768`. */
    readonly contextLength?: number;
    /** OLLAMA_KEEP_ALIVE: how long a model stays in memory after its last request. Default: `"5m"`. */
    readonly keepAlive?: string;
    /** Whether Ollama may use ollama.com. If false, OLLAMA_NO_CLOUD=1 is set, and no other host is asked. Default: `false`. */
    readonly cloud?: boolean;
    /** Models that must be present, by the names that `ollama pull` uses. Default: `[]`. */
    readonly models?: ReadonlyArray<string>;
    /** Whether `up` pulls missing models. Models are never removed. Default: `false`. */
    readonly pull?: boolean;
    /** Memory in GiB that each model of `models` takes once loaded, including its context: SIZE of `ollama ps` at this `contextLength`, as `serving verify --only ollama-memory` prints it. The ledger counts the largest figure once for each model that can be loaded at once; a model without a figure causes a warning. */
    readonly loadedGiB?: { readonly [key: string]: number };
    /** Models of `models` that made structured tool calls on each of Ollama's APIs, with the day; `serving verify --record` tests them and writes this. Coding clients may use only these models of Ollama. */
    readonly toolCalls?: { readonly [key: string]: string };
    /** Memory in GiB of all models that are loaded at once, for the memory ledger; replaces the figure from `loadedGiB`. */
    readonly residentModelsGiB?: number;
  } | {
    /** Ollama runs inside the chat UI's container; its models are in a volume that the host does not see. */
    readonly mode: "integrated";
    /** Models that must be present, by the names that `ollama pull` uses. Default: `[]`. */
    readonly models?: ReadonlyArray<string>;
    /** Memory in GiB that each model of `models` takes once loaded, including its context: SIZE of `ollama ps` at this `contextLength`, as `serving verify --only ollama-memory` prints it. The ledger counts the largest figure once for each model that can be loaded at once; a model without a figure causes a warning. */
    readonly loadedGiB?: { readonly [key: string]: number };
    /** Memory in GiB of all models that are loaded at once, for the memory ledger; replaces the figure from `loadedGiB`. */
    readonly residentModelsGiB?: number;
  } | {
    /** There is no simple server. */
    readonly mode: "none";
  };
  /** The protocol bridge: a LiteLLM proxy in a container. */
  readonly bridge?: {
    /** Image as `repository[:tag]@sha256:<64 hex digits>`. A policy requires the digest, since a tag can move. `serving pin IMAGE:TAG` prints it. */
    readonly image: string;
    /** TCP port, the same inside the container and on the machine. Default: `8787`. */
    readonly port?: number;
    /** Address that the port is published on. `0.0.0.0` serves the local network and requires `keyVariable`. Default: `"127.0.0.1"`. */
    readonly listen?: string;
    /** Servers behind the bridge; `dgx2.b` is server `b` of the machine `dgx2`. Servers with the same model name share its requests: a session stays on its machine, and continues on another if that machine is gone. The first server also answers to the model names that a messages-style client uses for its tiers. Default: every entry of `inferenceServers`. */
    readonly servers?: ReadonlyArray<string>;
    /** What happens to /v1/messages. `translate` forwards it as /v1/chat/completions, which works with every server. `passThrough` forwards it unchanged: for a server that passed the native-path test (`serving verify`). Default: `"translate"`. */
    readonly messagesPath?: "translate" | "passThrough";
    /** NAME of the variable of your shell that holds the bridge's key; its value is passed as a file of mode 0600. Without it the key is a placeholder, which is only enough on loopback. LiteLLM reads the key when it starts. */
    readonly keyVariable?: string;
    /** Memory in GiB that the bridge takes on this machine, as measured. Default: 0.42, measured on another machine. */
    readonly memoryGiB?: number;
  };
  /** The browser chat UI: Open WebUI in a container. Sign-up is closed: its `administrator`, or else the first person to sign up, creates accounts for others. */
  readonly chatUi?: {
    /** Image as `repository[:tag]@sha256:<64 hex digits>`. A policy requires the digest, since a tag can move. `serving pin IMAGE:TAG` prints it. */
    readonly image: string;
    /** TCP port on the machine; 8080 inside the container. Default: `8080`. */
    readonly port?: number;
    /** Address that the port is published on. `0.0.0.0` serves the local network: the chat UI has its own accounts. Default: `"127.0.0.1"`. */
    readonly listen?: string;
    /** Servers whose models the chat UI offers. Default: every entry of `inferenceServers` whose model writes text, and the simple server if it listens beyond loopback. */
    readonly connections?: ReadonlyArray<string>;
    /** Server that turns documents into vectors for the chat UI's document search (`model.kind: embedding`). Default: the only one of that kind. Documents that were read with another model must be read again. */
    readonly embeddingServer?: string;
    /** Server that ranks the results of the document search (`model.kind: rerank`). Default: the only one of that kind. */
    readonly rerankServer?: string;
    /** Model that writes the titles, tags and follow-up questions of chats: a name that one of its servers answers to, or `none` for no titles, tags and follow-ups. Default: each chat's own model, or beside servers on request one that always runs. A model that thinks thinks for each of them, too. */
    readonly taskModel?: string;
    /** The first account, an administrator, made at the first start from variables of your shell; their values are passed as files of mode 0600. Without it, the first person to sign up is the administrator. If the data already has accounts, nothing changes. */
    readonly administrator?: {
      /** NAME of the variable of your shell that holds the address to log in with. */
      readonly emailVariable: string;
      /** NAME of the variable that holds the password. */
      readonly passwordVariable: string;
    };
    /** Memory in GiB that the chat UI takes on this machine, as measured. Default: 1.2, measured on another machine. */
    readonly memoryGiB?: number;
  };
  /** `scrape`: writes a file of scrape targets for a Prometheus of your own, and a dashboard for your Grafana. */
  readonly monitoring?: "scrape";
  /** Client programs that get a configuration and a launcher. */
  readonly clients?: {
    /** Where the clients' files and launchers are written: `here`, on the computer that runs `serving`, or on the `machine`. Default: `here` if the Docker engine is on this computer, else `machine`. Clients on another computer reach the machine by `host`. */
    readonly on?: "here" | "machine";
    /** Name or address by which the clients reach the machine. Default: the address that each port is published on; with `on: here` for a machine elsewhere, the name in `dockerHost`. On a network, use a DHCP reservation or an mDNS name: if the address changes, the clients lose the machine without any message. */
    readonly host?: string;
    /** Folder for the clients' files. These files are ours; your own are not touched. Default: `"~/.local/share/local-serving/clients"`. */
    readonly folder?: string;
    /** Folder for the launchers (`local-claude`, `local-codex`, ...). Default: `"~/.local/bin"`. */
    readonly launcherFolder?: string;
    /** NAME of the variable that clients take their key from. If it is unset, the launcher sets a placeholder: the servers ignore the value, but the clients insist on one. Default: `"LOCAL_SERVING_API_KEY"`. */
    readonly keyVariable?: string;
    /** Claude Code. Use the bridge until the server has passed the native-path test, then `via: native`. */
    readonly claudeCode?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"bridge"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
      /** Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window. Default: `32000`. */
      readonly maxOutputTokens?: number;
      /** Further variables for its `env` block, or other values for ours. No secrets. */
      readonly environment?: { readonly [key: string]: string };
    };
    /** Codex CLI, a Responses-style coding agent. */
    readonly codex?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"native"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
      /** Its CODEX_HOME. One file of ours is added there; your own files stay as they are. Default: `"~/.codex"`. */
      readonly home?: string;
      /** Name of the file (`NAME.config.toml`) and of the profile (`codex -p NAME`). Default: `"local-serving"`. */
      readonly profile?: string;
    };
    /** Any client that reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL from its environment. */
    readonly clientEnv?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"native"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
    };
    /** The coding agent opencode. */
    readonly opencode?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"native"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
      /** Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window. Default: `8192`. */
      readonly maxOutputTokens?: number;
    };
    /** The coding agent pi. */
    readonly pi?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"native"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
      /** Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window. Default: `8192`. */
      readonly maxOutputTokens?: number;
    };
    /** The coding agent Qwen Code. */
    readonly qwenCode?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"native"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
      /** Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window. Default: `8192`. */
      readonly maxOutputTokens?: number;
    };
    /** The coding agent Crush. */
    readonly crush?: {
      /** Server that the client uses. Default: the only entry of `inferenceServers`. */
      readonly server?: string;
      /** `native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server. Default: `"native"`. */
      readonly via?: "bridge" | "native";
      /** Model name to ask for. Default: the server's `servedModelName`. */
      readonly model?: string;
      /** Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window. Default: `8192`. */
      readonly maxOutputTokens?: number;
    };
  };
  /** Python environments on the machine whose versions `serving status --versions` reads, such as the one that instance A runs in. They are only ever read. Default: `[]`. */
  readonly venvs?: ReadonlyArray<string>;
  /** The automation harness's providers profile and session-analytics file, made from what runs here. They are written only when this block is there; `{}` takes every default. */
  readonly harness?: {
    /** The harness's per-user folder. `providers.toml` and `session-analytics.json` are written there. While `harness` is set, they replace your own files with these names, including reviewers of other vendors. The originals are kept (`.providers.toml.local-serving/original`) and put back by `down`, or when `harness` is removed. Default: `"~/.hx"`. */
    readonly home?: string;
    /** Folder of `session-analytics.json`, for a harness that keeps it apart. Default: `home`. */
    readonly analyticsHome?: string;
    /** What the harness's environment variables begin with, the underscore included. Default: `"HX_"`. */
    readonly prefix?: string;
    /** NAME of the variable with the key that the harness sends to an inference server (`api_key_env`). vLLM ignores the value, but the harness sends no request while the variable is empty: export any text where non-interactive shells see it. `none` sends no key. Default: `prefix` and `LOCAL_KEY`, so `HX_LOCAL_KEY`. */
    readonly apiKeyVariable?: "none" | string;
    /** Longest answer of an inference server (`max_tokens`). The harness's own default of 4096 is small for a review with many findings. Prompt and answer together must fit `maxModelLen`. Unit: tokens. Default: `8192`. */
    readonly maxTokens?: number;
    /** Longest time of one review (`timeout_sec`). The harness's own default of 300 is short for a long prompt here: at 853 tokens/s, 48k tokens of prompt alone take a minute. Stay below the review loop's 900, or one review can use up the whole loop. Unit: seconds. Default: `600`. */
    readonly timeoutSeconds?: number;
    /** Sets `disable_thinking` for models with a thinking mode; otherwise hidden reasoning uses up `maxTokens`. Other models never get the key. Default: `true`. */
    readonly disableThinking?: boolean;
    /** Subjects (whose work is reviewed) that get a peer and a fallback chain. Default: `["claude","codex","pi"]`. */
    readonly subjects?: ReadonlyArray<string>;
    /** `peer_for`: the provider that reviews each subject, if not the first one. Providers are `local-<key>` for each inference server with a chat model, by key, then `ollama` when Ollama on the host has a model. */
    readonly peerFor?: { readonly [key: string]: string };
    /** `fallback_chain`: further providers for each subject, if not all the others in order. */
    readonly fallbackChain?: { readonly [key: string]: ReadonlyArray<string> };
    /** Provider whose model judges sessions. Default: the first. */
    readonly judge?: string;
    /** Model that Ollama reviews or judges with. Default: the first of `simpleServer.models` that is not the `embeddingModel`. */
    readonly ollamaModel?: string;
    /** Model of Ollama that turns sessions into vectors. Without it the harness embeds nothing, since Ollama has no embedding model of its own. List it in `simpleServer.models` to have it pulled. */
    readonly embeddingModel?: string;
    /** Inference server that turns sessions into vectors (`model.kind: embedding`) instead of Ollama. The file then says `embedding.backend: openai`, and has its address where Ollama's would be. */
    readonly embeddingServer?: string;
    /** `conformance_command` of a provider, which makes it an evaluator for `verification.conformance`. A model alone can't try a running app, so name an agent of yours that can, such as a coding client's launcher. It gets the request's path in place of `{review_request}` and prints its verdict on stdout. */
    readonly conformanceCommands?: { readonly [key: string]: string };
    /** Company name that the harness stamps into generated sources (`[copyright]`). Default: `""`. */
    readonly company?: string;
  };
  /** How to run a step that needs root (only the simple server's systemd drop-in does). `none`: skip it, and print the commands in the plan. `[sudo, -n]`: use sudo, which must not ask for a password. Default: `"none"`. */
  readonly elevate?: "none" | ReadonlyArray<"sudo" | "-n">;
  /** Directory on the machine for the plan that was applied and for the files of secrets (mode 0600). Removed by `down`. Default: `"~/.local/share/local-serving"`. */
  readonly stateDirectory?: string;
}
