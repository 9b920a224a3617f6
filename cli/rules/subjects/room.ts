import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { downToHundredth, shareHolding, shareWithin } from "@local-serving/vllm/utilization";
import { adviseShare, neededBeforeKv, shareRoom } from "../../../components/memory";
import type { Hit } from "../../sees/log/scanLog";
import { STARTED_WITH_UTILIZATION, sign, startSign } from "../../sees/log/sign";
import { numberOf, type Picture, ranWith, type Server, type Sighting } from "../picture";
import type { Row, Words } from "../rule";
import { hasFixedCache, SHARE_IS_IDLE } from "./fixedCache";

/** vLLM `v1/worker/utils.py`, request_memory: free, total, utilization, requested. */
const REFUSED = startSign(
  "less than desired GPU memory utilization",
  /Free memory on device(?: \S+)? \((-?[\d.]+)\/([\d.]+) GiB\) on startup is less than desired GPU memory utilization \(([\d.]+), ([\d.]+) GiB\)/,
);

/** vLLM prints memory in hundredths of a GiB: the true figure may be this much off. */
const PRINTED_TO_GIB = 0.005;

const WHO_HOLDS_IT =
  "ps -eo pid,rss,args --sort=-rss | head -n 8; docker ps; grep -E 'MemTotal|MemAvailable' /proc/meminfo";

const FREE_IT =
  "Free the memory that something else holds, or serve a smaller model (`serving models` lists what fits).";

const wanted = (hit: Hit) => numberOf(hit, 3);

/** vLLM v1/core/kv_cache_utils.py. */
const NO_ROOM = startSign([
  "No available memory for the cache blocks",
  "Cannot auto-fit max_model_len",
]);
const AVAILABLE = sign("Available KV cache memory:", /Available KV cache memory: (-?[\d.]+) GiB/);

/** Room that is asked for where it isn't known what a request of the whole window takes, in GiB. */
const SOME_ROOM_GIB = 4;

/** What a server started with, and what its cache lacked then. */
interface Lack {
  readonly now: number | undefined;
  readonly missingGiB: number;
}

/**
 * A share that gives the cache what it lacked by its log, and with which the plan says that the
 * server starts; `undefined` where the plan's ledger doesn't leave so much beside everything else.
 */
function raised({ stack }: Picture, server: Server, { now, missingGiB }: Lack): number | undefined {
  const room = stack && shareRoom(stack.plan, server.container);
  const { totalGiB = 0 } = stack?.plan.ledger ?? {};
  if (room === undefined || now === undefined) return undefined;
  const wanted = shareHolding(now * totalGiB + missingGiB, totalGiB);
  const { value, fits } = adviseShare(atLeast(room, wanted), now);
  return value >= wanted && value <= fits ? value : undefined;
}

/** What bounds a share that its log says must be so large. */
function atLeast(room: ShareRoom, wanted: number): ShareRoom {
  const { leastUtilization = 0, sureUtilization = 0 } = room.needs;
  const larger = {
    leastUtilization: Math.max(leastUtilization, wanted),
    sureUtilization: Math.max(sureUtilization, wanted),
  };
  return { ...room, needs: { ...room.needs, ...larger } };
}

type ShareRoom = NonNullable<ReturnType<typeof shareRoom>>;

const utilizationOf = ({ log }: Sighting, { settings }: Server): number | undefined =>
  ranWith(log, STARTED_WITH_UTILIZATION, settings?.gpuMemoryUtilization);

/** A cache of a fixed size that holds what was asked for; `otherwise` where the plan has no room. */
function largerCache({ set }: Server, neededGiB: number, otherwise: string): Partial<Words> {
  const bytes = Math.ceil(neededGiB) * BYTES_PER_GIB;
  return {
    edits: [set(["kvCacheMemoryBytes"], bytes)],
    advice: `${SHARE_IS_IDLE} ${otherwise}`,
    otherwise: { advice: otherwise, command: "serving plan" },
  };
}

/** What a request of the whole window takes with a block beside it, in GiB; by the plan where it says. */
function roomForOneGiB({ stack }: Picture, { container }: Server): number {
  const kv = stack?.plan.kv[container];
  return kv ? (kv.bytesPerRequest + kv.bytesPerBlock) / BYTES_PER_GIB : SOME_ROOM_GIB;
}

/** Room for a server beside the others, and within its share for the KV cache. */
export const room: readonly Row[] = [
  {
    id: "admission-refused",
    when: REFUSED,
    say({ hit, server }) {
      const [free, total, utilization] = [numberOf(hit, 0), numberOf(hit, 1), numberOf(hit, 2)];
      const largest = shareWithin(free - PRINTED_TO_GIB, total + PRINTED_TO_GIB);
      const { weightsGiB: weights, neededGiB: needed } = neededBeforeKv(server.settings);
      const cause = `${free} of ${total} GiB were available when the server started, and utilization ${utilization} asks for ${wanted(hit)} GiB of the total: vLLM refuses to start`;
      if (largest * total < needed)
        return {
          cause: `${cause}; no utilization leaves enough for ${weights > 0 ? "weights and engine" : "an engine"}.`,
          advice: `No setting to change: ${largest.toFixed(2)} is the largest utilization that fits, and the server needs ${needed.toFixed(1)} GiB before there is any KV cache. ${FREE_IT}`,
          command: WHO_HOLDS_IT,
        };
      // What the model needs isn't known: so small a share would only move the refusal.
      if (weights === 0 && largest < utilization / 2)
        return {
          cause: `${cause}: something else holds ${(total - free).toFixed(2)} GiB.`,
          advice: `No setting to change: find what holds the memory, and stop it. ${FREE_IT}`,
          command: WHO_HOLDS_IT,
        };
      return {
        cause: `${cause}.`,
        edits: [server.set(["gpuMemoryUtilization"], largest)],
        otherwise: { advice: FREE_IT, command: WHO_HOLDS_IT },
        advice:
          server.settings?.kvCacheMemoryBytes === undefined
            ? undefined
            : "`kvCacheMemoryBytes` does not switch this check off: the two must fit together.",
      };
    },
  },
  {
    id: "memory-released-late",
    when: REFUSED,
    unless: ({ picture: { meminfo }, hit }) =>
      meminfo === undefined || meminfo.availableGiB < wanted(hit),
    say: ({ picture, hit, server }) => ({
      cause: `The server started while an earlier process still held its memory: ${numberOf(hit, 0)} GiB were free then, ${picture.meminfo?.availableGiB.toFixed(2)} GiB are free now, and it wants ${wanted(hit)}.`,
      advice: "No setting to change: the memory has come free since. Start it again.",
      command: `docker restart ${server.container}`,
    }),
  },
  {
    id: "no-kv-room",
    when: NO_ROOM,
    say({ picture, hit, server }) {
      if (hasFixedCache(hit.log, server))
        return {
          cause: "The KV cache has a fixed size, and that is too small for a single block.",
          ...largerCache(
            server,
            roomForOneGiB(picture, server),
            "Or take the setting out: vLLM then gives the cache what the share leaves.",
          ),
        };
      const available = hit.log.hits.get(AVAILABLE);
      const left = available === undefined ? 0 : numberOf(available, 0);
      const said = {
        cause: `Weights and engine take the server's whole share${available === undefined ? "" : ` (${left} GiB are left for the KV cache)`}: there is no room for a single block.`,
        evidence: available === undefined ? hit.line : `${available.line} | ${hit.line}`,
      };
      const missing = Math.max(0, -left) + roomForOneGiB(picture, server);
      const now = utilizationOf(hit, server);
      const utilization = raised(picture, server, { now, missingGiB: missing });
      if (utilization !== undefined)
        return { ...said, edits: [server.set(["gpuMemoryUtilization"], utilization)] };
      const { ledger } = picture.stack?.plan ?? {};
      const around = picture.stack && shareRoom(picture.stack.plan, server.container);
      const largest = around && adviseShare(around, now ?? 0).most;
      if (
        largest !== undefined &&
        now !== undefined &&
        (largest - now) * (ledger?.totalGiB ?? 0) > -left
      ) {
        // All that there is, and half the window: the cache is then compared with the half.
        const half = Math.max(1, Math.floor((server.settings?.maxModelLen ?? 2) / 2));
        const share = server.set(["gpuMemoryUtilization"], downToHundredth(largest));
        return { ...said, edits: [share, server.set(["maxModelLen"], half)] };
      }
      return {
        ...said,
        advice:
          largest === undefined
            ? `Raise \`gpuMemoryUtilization\` by ${missing.toFixed(2)} GiB's worth, if the machine has it${left < 0 ? ", or serve a model with smaller weights: a shorter window doesn't help" : ", and reduce `maxModelLen`"}.`
            : `No setting gives it more: ${largest.toFixed(2)} is the largest utilization beside the other servers. Lower instance A's share where it is started (and declared), or serve a smaller model (\`serving models\` lists what fits).`,
        command: "serving plan",
      };
    },
  },
  {
    id: "window-too-long",
    when: startSign(
      "To serve at least one request with the model",
      /max seq len \((\d+)\), \(?([\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory \((-?[\d.]+) GiB\)(?:.{0,80}estimated maximum model length is (\d+))?/,
    ),
    say({ picture, hit, server }) {
      const [needed, available, estimated] = [numberOf(hit, 1), numberOf(hit, 2), numberOf(hit, 3)];
      const cause = `One request of ${numberOf(hit, 0)} tokens needs ${needed} GiB of KV cache, but only ${available} GiB are there.`;
      const shorter = estimated > 0 ? ` ${estimated} tokens fit by vLLM's own estimate` : "";
      if (hasFixedCache(hit.log, server))
        return {
          cause: `${cause.slice(0, -1)}, the fixed size of the cache.`,
          ...largerCache(
            server,
            needed,
            `Or shorten the window (\`maxModelLen\`):${shorter || " less fits"}.`,
          ),
        };
      if (estimated > 0)
        return {
          cause,
          edits: [server.set(["maxModelLen"], estimated)],
          advice: `vLLM itself estimates ${estimated} as the longest window that fits.`,
        };
      const lack = { now: utilizationOf(hit, server), missingGiB: needed - available };
      const utilization = raised(picture, server, lack);
      return utilization === undefined
        ? {
            cause,
            advice: "Reduce `maxModelLen`, or raise `gpuMemoryUtilization` if the ledger has room.",
            command: "serving plan",
          }
        : { cause, edits: [server.set(["gpuMemoryUtilization"], utilization)] };
    },
  },
];
