import { defined } from "@local-serving/base/faults/defined";
import { BYTES_PER_GB, BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { ownWindow } from "@local-serving/kv";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { AGGREGATE_LIMIT, shareHolding } from "@local-serving/vllm/utilization";
import {
  type AdvisedShare,
  adviseCache,
  adviseShare,
  leastCacheBytes,
  leastToStart,
  type StartNeeds,
  shareRoom,
  sureShare,
  unwarnedShare,
  windowsGiB,
} from "./advice";
import { certainWeights, loadsAtMost, weightsByName } from "./certainWeights";
import { leastBeforeKv, measuredHere, residentGiB } from "./kvRoom";
import { fitsMachine, type MemoryLedger } from "./ledger";
import type { KnownServer } from "./machineMemory";
import type { NamedWeights } from "./model-name";
import { isFollowed, type ServerKvResult, startVerdictOf } from "./serverKv";

/** vLLM then takes a window longer than the model's own. */
const LONG_WINDOW = "VLLM_ALLOW_LONG_MAX_MODEL_LEN";
const ROPE_OPTIONS = ["hf-overrides", "rope-scaling", "rope-theta", "rope-parameters"];

/** The window of the smallest models that are served, in tokens: a shorter one is no use to anybody. */
const LEAST_WINDOW = 512;

/** A shorter window to offer in place of one that doesn't fit; `undefined` where it is no use. */
export const offeredWindow = (tokens: number | null | undefined): number | undefined =>
  tokens && tokens >= LEAST_WINDOW ? tokens : undefined;

/**
 * A server's needs, and, where it would not start or its machine's plan doesn't fit, what to advise:
 * a share with which it starts by all that was seen of its model, and not by its weights alone.
 */
export function neededAndAdvised(
  server: KnownServer,
  result: ServerKvResult,
  ledger: MemoryLedger,
): StartNeeds {
  const { totalGiB } = ledger;
  const needs = startNeeds(server, totalGiB, result);
  const { kv, withRoom } = result;
  // A cache of fixed size counts by its bytes, not by the share.
  if (kv === null || server.settings.kvCacheMemoryBytes !== undefined) return needs;
  if (fitsMachine(ledger) && kv.atBest.fits && startVerdictOf(kv) !== "cannot start") return needs;
  const { longestWindow: longest } = needs;
  const fits = ledger.largestUtilization[server.plan.container.name];
  const [sure, seen] = [sureShare(kv, totalGiB), withRoom?.(kv.room.highGiB).largestMaxModelLen];
  return {
    ...needs,
    ...defined({
      leastUtilization: leastToStart(needs, kv, totalGiB),
      sureUtilization: sure > AGGREGATE_LIMIT ? undefined : sure,
      longestWindow: longest && (offeredWindow(Math.min(longest, seen ?? longest)) ?? 0),
      unwarnedUtilization:
        fits === undefined || fitsMachine(ledger) ? undefined : unwarnedShare(fits, sure),
    }),
  };
}

/** What to write for a server in place of what it has. */
export interface Advised extends AdvisedShare {
  /** The size of a fixed cache that holds one window, where its share and the machine have room. */
  readonly cacheBytes: number | undefined;
}

/** The share and the size of a fixed cache to advise for a server, by the same figures. */
export function advisedFor(
  server: KnownServer,
  result: ServerKvResult,
  ledger: MemoryLedger,
): Advised {
  const { settings, plan } = server;
  const { name } = plan.container;
  const { totalGiB } = ledger;
  const needs = startNeeds(server, totalGiB, result);
  const plans = { ledger, starts: { [name]: needs }, kv: { [name]: result.kv } };
  const { gpuMemoryUtilization: now } = settings;
  const share = adviseShare(shareRoom(plans, name) ?? NOT_COUNTED, now);
  const place = { totalGiB, budgetGiB: now * totalGiB, fits: share.fits };
  // Where the plan ignores some flag, its cache is the best guess.
  const bytes =
    needs.leastCacheBytes ?? (result.kv === null ? undefined : leastCacheBytes(result.kv));
  const cache = defined({ outsideGiB: needs.outsideGiB, leastCacheBytes: bytes });
  return { ...share, cacheBytes: adviseCache(cache, place) };
}

const NOT_COUNTED = { bySum: 0, byAggregate: 0, needs: {} };

/** Whether neither a declaration, the catalogue, a snapshot nor its name tells a model's weights. */
const isUnweighed = (
  settings: KnownServer["settings"],
  model: KnownServer["model"],
  named: NamedWeights | undefined,
): boolean =>
  named === undefined &&
  residentGiB(settings, model) === undefined &&
  measuredHere(settings)?.charged === undefined;

/** Whether a server starts even if vLLM loads all of its files, of which an option takes a part away. */
const startsAtMost = (settings: KnownServer["settings"], kv: ServerKvResult["kv"]): boolean =>
  kv !== null && loadsAtMost(settings) && startVerdictOf(kv) === "starts";

/** What is known of a server's needs at its start; `kv` is its KV plan. */
function startNeeds(
  { settings, model, plan: { container, memory } }: KnownServer,
  totalGiB: number,
  { kv, withRoom }: ServerKvResult,
): StartNeeds {
  const args = readServerArguments(container.command);
  const has = (names: readonly string[]) => names.some((name) => args.options.has(name));
  const named = weightsByName(settings, model);
  const resident = certainWeights(settings, model) ?? named?.gib;
  const weightsGiB = resident && Math.max(0, resident - (memory.hostGiB ?? 0));
  const { kvCacheMemoryBytes } = settings;
  const outsideGiB = measuredHere(settings)?.charged ?? weightsGiB;
  const followed = isFollowed(settings);
  const windowGiB = kv !== null && followed ? kv.bytesPerRequest / BYTES_PER_GIB : undefined;
  const room =
    kvCacheMemoryBytes === undefined
      ? outsideGiB && settings.gpuMemoryUtilization * totalGiB - outsideGiB
      : kvCacheMemoryBytes / BYTES_PER_GIB;
  const longestWindow = room && followed ? withRoom?.(room).largestMaxModelLen : undefined;
  const least = windowGiB === undefined || kv === null ? 0 : windowsGiB(kv, 1);
  // A name tells nothing of a window: its weights, what vLLM takes beside them, and a first block.
  const beforeKv =
    named === undefined || kv !== null || outsideGiB === undefined
      ? outsideGiB
      : leastBeforeKv((outsideGiB * BYTES_PER_GIB) / BYTES_PER_GB) +
        windowsGiB({ bytesPerRequest: 0 }, 1);
  const lifted = /^(1|true)$/i.test(container.env[LONG_WINDOW] ?? "") || has(ROPE_OPTIONS);
  return defined({
    weightsGiB,
    byName: named?.source,
    atMost: (outsideGiB === undefined && startsAtMost(settings, kv)) || undefined,
    unweighed: (kv === null && isUnweighed(settings, model, named)) || undefined,
    outsideGiB,
    windowGiB,
    longestWindow: offeredWindow(longestWindow),
    modelWindow: lifted ? undefined : ownWindow(model?.config),
    leastUtilization:
      beforeKv === undefined || kvCacheMemoryBytes !== undefined
        ? undefined
        : shareHolding(beforeKv + least, totalGiB),
    leastCacheBytes: windowGiB === undefined || kv === null ? undefined : leastCacheBytes(kv),
    cannotStart: kv?.start?.verdict === "cannot start" ? kv.start.why : undefined,
    startAnyway: settings.startAnyway,
  });
}
