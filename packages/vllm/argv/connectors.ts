import { isRecord, type JsonObject as Json, putAt } from "@local-serving/base/faults/json";
import { isOn, type ServerArguments } from "./serverArguments";
import { isText, type Word } from "./unknown";

/** GiB that a connector takes beside its server's share, or why that can't be told. */
type Taken = number | { readonly why: string };

/**
 * The connectors that move a cache and keep none of it in the host's memory (vLLM 0.23 to 0.33, and
 * older names that an image may still know), and the one whose pool its own configuration sizes.
 * Any other may keep as much as it likes, and is refused.
 */
const CONNECTORS: Readonly<Record<string, (connector: Json) => Taken>> = {
  ...Object.fromEntries(
    [
      "DecodeBenchConnector",
      "ECExampleConnector",
      "ExampleConnector",
      "ExampleHiddenStatesConnector",
      "MoRIIOConnector",
      "MooncakeConnector",
      "MultiConnector",
      "NixlConnector",
      "NixlPullConnector",
      "NixlPushConnector",
      "SharedStorageConnector",
    ].map((name) => [name, () => 0]),
  ),
  P2pNcclConnector: poolOfP2pNccl,
};

/** DEFAULT_MEM_POOL_SIZE_GB of vLLM's p2p_nccl_engine.py; the figure counts GiB. */
const P2P_NCCL_POOL_GIB = 32;

/** Options whose JSON names connectors, and the keys of it that tell what they keep. */
const TRANSFERS = [
  {
    option: "kv-transfer-config",
    connector: "kv_connector",
    device: "kv_buffer_device",
    keeps: "may keep KV cache in host memory, which is the same memory here",
    remedy: "use `--kv-offloading-size`",
  },
  {
    option: "ec-transfer-config",
    connector: "ec_connector",
    device: "ec_buffer_device",
    keeps: "may keep encoded images in host memory, which is the same memory here",
    remedy: "remove it",
  },
] as const;

type Transfer = (typeof TRANSFERS)[number];

/**
 * Whether a server moves its KV cache elsewhere, which vLLM 0.26 to 0.33 refuse together with
 * `expandable_segments:True` (config/vllm.py, `_verify_kv_transfer_compat`), unless the cache is in
 * a pool of its own.
 */
export const refusesExpandableSegments = (args: ServerArguments): boolean =>
  [...args.options.keys()].some((name) => /^kv-(?:transfer-config|offloading-size)/.test(name)) &&
  !["enable-cumem-allocator", "enable-sleep-mode"].some((name) => isOn(args, name));

/** GiB that the connectors of a server take beside its share, or why that can't be told. */
export function connectorsGiB({ options }: ServerArguments): Taken {
  let sum = 0;
  for (const transfer of TRANSFERS) {
    for (const config of configsOf(transfer.option, options)) {
      const taken =
        config === undefined ? refused(transfer, "can't be read") : takenBy(config, transfer);
      if (typeof taken !== "number") return taken;
      sum += taken;
    }
  }
  return sum;
}

const refused = ({ option, remedy }: Transfer, what: string) => ({
  why: `\`--${option}\` ${what}: ${remedy}`,
});

/** What the connectors inside a value take, at any depth. */
function takenBy(value: unknown, transfer: Transfer): Taken {
  const config = Array.isArray(value) ? { ...value } : value;
  if (!isRecord(config)) return 0;
  let sum = 0;
  for (const [key, inner] of Object.entries(config)) {
    // A connector with its own code may keep anything, and so may a buffer outside the GPU.
    const other = key.endsWith("_connector_module_path") && inner !== null;
    const buffer =
      key.endsWith("_buffer_device") && inner !== null && !/^cuda$/i.test(String(inner).trim());
    if (other || buffer) return refused(transfer, `with ${key} ${transfer.keeps}`);
    const taken =
      key === transfer.connector ? takenByNamed(inner, config, transfer) : takenBy(inner, transfer);
    if (typeof taken !== "number") return taken;
    sum += taken;
  }
  return sum;
}

function takenByNamed(name: unknown, config: Json, transfer: Transfer): Taken {
  if (name === null) return 0;
  const known =
    typeof name === "string" && Object.hasOwn(CONNECTORS, name) ? CONNECTORS[name] : undefined;
  return known === undefined
    ? refused(transfer, `with ${String(name)} ${transfer.keeps}`)
    : known(config);
}

/** Its pool, and a stated buffer of the GPU's, which lies outside the share as well. */
function poolOfP2pNccl(config: Json): Taken {
  const extra = config.kv_connector_extra_config;
  const pool = (isRecord(extra) ? extra.mem_pool_size_gb : undefined) ?? P2P_NCCL_POOL_GIB;
  const gib = [Number(pool), Number(config.kv_buffer_size ?? 0) / 1024 ** 3];
  const why =
    "the pool size of P2pNcclConnector can't be read: write `mem_pool_size_gb` in GiB, and `kv_buffer_size` in bytes";
  return gib.every((each) => each >= 0 && Number.isFinite(each))
    ? gib.reduce((sum, each) => sum + each, 0)
    : { why };
}

/**
 * The configurations that an option is given: its JSON, and its keys one by one (`--option.key
 * value`), which vLLM puts together. `undefined` stands for one that can't be read.
 */
function configsOf(
  option: string,
  options: ServerArguments["options"],
): readonly (Json | undefined)[] {
  const whole = options.get(option);
  const keys = [...options].filter(([name]) => name.startsWith(`${option}.`));
  return [
    ...(whole === undefined ? [] : [objectIn(whole[0])]),
    ...(keys.length === 0 ? [] : [fromKeys(option, keys)]),
  ];
}

function objectIn(word: Word | undefined): Json | undefined {
  const value = isText(word) ? jsonOrText(word) : undefined;
  return isRecord(value) ? value : undefined;
}

function fromKeys(
  option: string,
  keys: readonly (readonly [string, readonly Word[]])[],
): Json | undefined {
  const config: Record<string, unknown> = {};
  for (const [name, [word]] of keys) {
    // A name that ends with a plus adds to a list, in a form of its own.
    if (!isText(word) || name.endsWith("+")) return undefined;
    if (putAt(config, name.slice(option.length + 1).split("."), jsonOrText(word)) !== undefined)
      return undefined;
  }
  return config;
}

/** vLLM reads what is not JSON as text. */
function jsonOrText(word: string): unknown {
  try {
    return JSON.parse(word);
  } catch {
    return word;
  }
}
