import { isRecord, type JsonObject, objectOr } from "@local-serving/base/faults/json";
import { EVERY_ADDRESS, HERE, isClosed } from "@local-serving/machines/address";
import { DEVICE_IDS } from "@local-serving/machines/devices/devices";
import * as z from "zod";
import { optional, strictObject } from "zod";
import { clients } from "../clients";
import { machineKeys } from "../features";
import {
  count,
  gibibytes,
  gigabytes,
  hostPath,
  listenAddress,
  port,
  required,
  servedName,
  shortName,
  textMatching,
  usual,
  utilization,
  variableName,
  word,
} from "../planned/fields";
import { SERVICES, serviceBlocks } from "../services";
import { onDemand } from "../services/on-demand";
import { harness } from "./harness";
import { inferenceServer } from "./inferenceServer";

/**
 * The least that an operating system without a desktop needs, in GiB. It was not measured on the
 * machine.
 */
export const DEFAULT_OPERATING_SYSTEM_GIB = 4;

/** A user, a host as a name or in brackets, and a port. */
const SSH = /^ssh:\/\/(?:[\w.+-]+@)?(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?\/?$/i;

/** Whether ssh would take the user or the host of an address for an option of its own. */
const isOption = (address: string) => /^ssh:\/\/(?:-|[^@]*@-)/i.test(address);

/** Whether an address can lead to a Docker engine. */
function isEngine(address: string): boolean {
  if (!/^[!-~]+$/.test(address) || !URL.canParse(address)) return false;
  const { protocol, hostname, port, pathname, search, hash, password } = new URL(address);
  // Neither ssh nor Docker accepts more in such an address, and only a name or a number means the
  // same to both.
  if (protocol === "ssh:" && !SSH.test(address)) return false;
  if (protocol === "ssh:" && (pathname.length > 1 || `${search}${hash}${password}` !== ""))
    return false;
  return protocol === "unix:" ? address.startsWith("unix:///") : hostname !== "" && port !== "0";
}

/** An address at which Docker listens on the network, with the host. */
const TCP = /^tcp:\/\/([^:/]*).*$/s;

/**
 * Says what to write instead of a machine's own `listen`, which existed before each service got
 * one.
 */
function listenBelow(given: unknown): string {
  const { listen, inferenceServers, ...blocks } = objectOr(given);
  const address = z.ipv4().safeParse(listen).data ?? EVERY_ADDRESS;
  const services = [
    ...SERVICES.map(({ key }) => key).filter(
      (key) => isRecord(blocks[key]) && isListening(blocks[key]),
    ),
    ...Object.keys(objectOr(inferenceServers)).map((key) => `inferenceServers.${key}`),
  ].filter((key) => isClosed({ address, port: 0 }) || ASKS_WHO.includes(key));
  const [first = "bridge"] = services;
  const hasKey = first !== "bridge" || objectOr(blocks.bridge).keyVariable !== undefined;
  const key = hasKey ? "" : ", with a key (`bridge.keyVariable`)";
  return `A machine has no \`listen\`: each service has its own. Write it below the service that other computers should reach${services.length > 1 ? ` (${services.join(", ")})` : ""}, as \`${first}.listen: ${address}\`${key}.`;
}

/** Services that ask who is calling: only these are named for an address on the network. */
const ASKS_WHO: readonly string[] = ["bridge", "chatUi"];

/** A service that runs in none of its own has no port. */
const isListening = ({ mode = "host" }: JsonObject): boolean => mode === "host";

/**
 * Instance A: a server on the host that is not ours. It is data for the memory ledger and the
 * policies, nothing else.
 */
const hostInstance = strictObject({
  port: usual(8000, port()).describe("TCP port that instance A listens on."),
  listen: listenAddress("0.0.0.0").describe(
    "Address that instance A listens on (its `--host`; vLLM's default is every address). On 127.0.0.1 no container can reach it; on 172.17.0.1, Docker's own bridge, the network can't.",
  ),
  servedModelName: optional(servedName()).describe(
    "Served model name of instance A. Needed only if a client, the bridge or the chat UI uses instance A.",
  ),
  toolParser: optional(word())
    .describe(
      "Tool-call parser of instance A (its `--tool-call-parser`). Write `none` if it was started without that flag or without `--enable-auto-tool-choice`: coding clients are then not pointed at it. Declared, never set. Left out: not known.",
    )
    .meta({ examples: ["qwen3_coder", "none"] }),
  keyVariable: optional(z.union([z.literal("none"), variableName()]))
    .describe(
      "NAME of the variable of your shell that holds the key of instance A (its `--api-key` or VLLM_API_KEY); `none` if it asks for none. Left out: not known. Clients with `via: native` then take their key from this variable; the bridge sends it none.",
    )
    .meta({ examples: ["LOCAL_SERVING_INSTANCE_A_KEY", "none"] }),
  readyWithinMinutes: usual(30, count(1, 240)).describe(
    "Minutes that instance A may take to come up after a boot: loading (4 to 7 were seen) and, the first time, compiling (10 to 15). Until then our servers leave its share free; after that they start if their own share fits.",
  ),
  gpuMemoryUtilization: required(
    utilization().describe(
      "Share of the machine's TOTAL memory that instance A was started with (its `--gpu-memory-utilization`). Declared, never set: only the operator can lower it, on instance A itself.",
    ),
    "Write the `--gpu-memory-utilization` that instance A was started with: `ps -ef` shows its command.",
  ),
  maxModelLen: optional(count()).describe(
    "Context window of instance A in tokens (its `--max-model-len`).",
  ),
  model: optional(z.string()).describe("What instance A serves, for people who read the plan."),
  weightsGB: optional(gigabytes()).describe("Size of instance A's weights in GB (10^9 bytes)."),
}).describe(
  "Instance A, the server on the host that must never be disturbed. Write `none` if there is no such server. Leaving the block out is refused, since it decides how much memory is left.",
);

/** One machine with everything that runs on it. */
export const machine = strictObject(
  {
    totalGiB: required(
      gibibytes().describe(
        "Total unified memory in GiB: MemTotal of /proc/meminfo in kB, divided by 1048576. 121.63 or 121.69 on a DGX Spark.",
      ),
      "Write MemTotal of the machine in GiB: `awk '/MemTotal/ {print $2 / 1048576}' /proc/meminfo` prints it, and a DGX Spark has 121.63 or 121.69.",
    ),
    device: optional(z.enum(DEVICE_IDS)).describe(
      "What the machine is, as `serving init` recognises it: `gb10` is a DGX Spark or a sibling from another maker. The preflight refuses a device that isn't the machine's. On `gb10`, a `totalGiB` more than 3 % off the figures known of it is a fault: 121.63 to 121.69, or 60.7 of the one with 64 GB. On that one, `jetson-thor`, `n1x` and `nvidia-unified`, figures published for a DGX Spark are marked. On `other`, a machine without an NVIDIA GPU that shares its memory, no server can be declared. Left out: planned as a DGX Spark.",
    ),
    dockerHost: textMatching(/^(unix|ssh):\/\//, {
      error: ({ input }) =>
        /^tcp:/.test(String(input))
          ? `Every machine gets files, which Docker over TCP can't write: write \`${String(input).replace(TCP, "ssh://user@$1")}\`, which also reaches Docker`
          : "Expected unix:///path or ssh://user@host",
      abort: true,
    })
      .refine(
        isEngine,
        "Expected a host or path in ASCII characters after `://`, a port from 1 to 65535, and nothing after ssh://user@host:port",
      )
      .refine(
        (address) => !isOption(address),
        "Expected a user and a host that do not begin with `-`: ssh would take them for options",
      )
      .default(HERE)
      .describe(
        "Docker engine of the machine: a socket here (`unix://`), or `ssh://user@host` for another computer, whose files are written over the same ssh (guide: a machine that is elsewhere).",
      ),
    home: optional(hostPath(/^\//, "Expected an absolute path")).describe(
      "Home directory on the machine, which `~/` in a path means. Left out: the home of whoever runs this; over ssh `/root` for root and `/home/USER` for any other user that `dockerHost` names.",
    ),
    network: usual(
      "local-serving",
      textMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, "Expected a Docker network name"),
    ).describe("Docker network that our containers share, so that they reach each other by name."),
    modelCache: usual("~/.cache/huggingface", hostPath()).describe(
      "Hugging Face cache on the machine, mounted into the servers. Made when missing, never removed.",
    ),
    operatingSystemGiB: usual(DEFAULT_OPERATING_SYSTEM_GIB, gibibytes()).describe(
      "Memory in GiB that the operating system and the page cache need: MemTotal - MemAvailable while no server runs. The default is unmeasured; 17 to 20 GiB have been seen. Any other value counts as declared: a plan that then exceeds the machine is refused.",
    ),
    otherGpuMemoryGiB: optional(gibibytes()).describe(
      "Memory in GiB of your own containers with GPUs that are not inference servers, such as an image generator. It counts in the sum, but not in the servers' 0.90. Without it a policy refuses such a container.",
    ),
    gpus: usual(1, count()).describe(
      "GPUs of the machine: 1 on a DGX Spark. A server on this machine alone can't use more.",
    ),
    ...machineKeys,
    memoryFloorGiB: z
      .number()
      .min(0)
      .max(64)
      .default(2)
      .describe(
        "MemAvailable in GiB below which a server of ours is stopped, so that instance A and SSH survive. It waits for memory before it starts again. 0 turns this off. A change restarts nothing.",
      ),
    startsPerHour: usual(3, count(1, 60)).describe(
      "How many starts of a server may fail within an hour, including stops at the memory floor. After that it stays stopped until you change it or run the command that its log names: restart loops have leaked memory until the machine hung. A change restarts nothing.",
    ),
    waitForRequestsMinutes: z
      .number()
      .min(0)
      .max(1440)
      .default(10)
      .describe(
        "Longest time in minutes that `serving up`, after your yes, waits for running requests before it replaces or removes their server, and `serving stop` before it stops it. The default is enough for an answer of 12,000 tokens at 20 tokens a second. 0: it doesn't wait. Plain `pulumi up` never waits. A change restarts nothing.",
      ),
    startWithinMinutes: optional(z.number().gt(0).max(1440)).describe(
      "Longest time in minutes that `serving up --verified` gives each server and service that it starts. If one isn't ready by then, it is put back. Left out: twice the longest time in the plan, or 60 if the plan gives none. A change restarts nothing.",
    ),
    instanceA: required(
      z.union([z.literal("none"), hostInstance]),
      "Write `instanceA: none` if no vLLM of your own runs on the machine. Otherwise declare its share: `instanceA: { gpuMemoryUtilization: SHARE }`.",
    ),
    inferenceServers: usual({}, z.record(shortName(), inferenceServer)).describe(
      "The vLLM servers that we run in containers, by short name.",
    ),
    onDemand: onDemand.optional(),
    ...serviceBlocks,
    monitoring: optional(z.literal("scrape")).describe(
      "`scrape`: writes a file of scrape targets for a Prometheus of your own, and a dashboard for your Grafana.",
    ),
    clients,
    venvs: usual([], z.array(hostPath()))
      .describe(
        "Python environments on the machine whose versions `serving status --versions` reads, such as the one that instance A runs in. They are only ever read.",
      )
      .meta({ examples: [["~/vllm-venv"]] }),
    harness: harness.optional(),
    elevate: usual(
      "none",
      z.union([z.literal("none"), z.tuple([z.literal("sudo"), z.literal("-n")])]),
    ).describe(
      "How to run a step that needs root (only the simple server's systemd drop-in does). `none`: skip it, and print the commands in the plan. `[sudo, -n]`: use sudo, which must not ask for a password.",
    ),
    stateDirectory: usual("~/.local/share/local-serving", hostPath()).describe(
      "Directory on the machine for the plan that was applied and for the files of secrets (mode 0600). Removed by `down`.",
    ),
  },
  {
    error: ({ code, keys, input }) =>
      code === "unrecognized_keys" && keys?.includes("listen") ? listenBelow(input) : undefined,
  },
).describe("One machine with unified memory and everything that runs on it.");

/** The settings of one machine, parsed. */
export type MachineSettings = z.output<typeof machine>;
