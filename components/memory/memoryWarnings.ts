import { objectOr } from "@local-serving/base/faults/json";
import { counted, listOf } from "@local-serving/base/faults/quoting";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { gibRange, timesRange } from "@local-serving/base/units/ranges";
import { thousands } from "@local-serving/base/units/thousands";
import { reservedBlocks, reuseText } from "@local-serving/kv";
import { isOn, readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { AGGREGATE_LIMIT, upToHundredth, utilizationText } from "@local-serving/vllm/utilization";
import { instanceAFromContainer } from "../inference-server";
import type { Warning } from "../planned";
import type { InferenceServerSettings, MachineSettings } from "../settings";
import { adapterSlots } from "./adapterSlots";
import { shareAroundCache, sureShare } from "./advice";
import { roomText } from "./kvFacts";
import { changedSince, isMeasured } from "./kvRoom";
import { fitsMachine } from "./ledger";
import type { KnownServer, MachineMemory } from "./machineMemory";
import { type ServerKv, type ServerKvResult, startVerdictOf, windowGiBOf } from "./serverKv";
import { type Advised, advisedFor, offeredWindow } from "./startNeeds";
import { togetherNotes } from "./together";

/**
 * What was available at most after a boot of somebody's DGX Spark, in GiB, where 0.87 needed caches to be dropped
 * (MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks #47, which names no driver). Others saw 104.9.
 */
const AFTER_A_BOOT = { available: 102, total: 121.69 };
const HIGHEST_THAT_STARTED = AFTER_A_BOOT.available / AFTER_A_BOOT.total;

/** Share of its last prompt that every turn of an agent should find again. */
const LEAST_REUSE = 0.9;

/**
 * A window that was measured is known from rounded figures: tokens by concurrency of two places.
 */
const WINDOW_ROUNDING = 1.01;

/** A machine's memory with the servers that share it. */
interface MemoryWithServers extends MachineMemory {
  readonly servers: readonly (KnownServer & { readonly kv: ServerKvResult })[];
  /** Windows of the servers that were applied, in tokens by their keys, if that is known. */
  readonly appliedWindows?: Readonly<Record<string, number>> | undefined;
}

/**
 * What an operator should know of a machine's memory before it runs: room of the KV cache, starts,
 * compiling.
 */
export function memoryWarnings(
  name: string,
  machine: MachineSettings,
  { ledger, admission, together, servers, appliedWindows = {} }: MemoryWithServers,
): Warning[] {
  const warnings: Warning[] = [];
  const warn: Warn = (code, message) => warnings.push({ machine: name, code, message });
  for (const server of servers) {
    const { settings, model, plan, kv: result } = server;
    const { key, container } = plan;
    const ofServer: Warn = (code, message) => warn(code, `${key}: ${message}`);
    const { gpuMemoryUtilization: share, measured } = settings;
    if (share > HIGHEST_THAT_STARTED && fitsMachine(ledger))
      ofServer(
        "utilization-high",
        `its start needs ${(share * machine.totalGiB).toFixed(1)} GiB available at once. The plan has room for it. But after a boot a DGX Spark was reported to have only ${AFTER_A_BOOT.available} of ${AFTER_A_BOOT.total} GiB available. That is too little for more than ${Math.floor(HIGHEST_THAT_STARTED * 100) / 100} unless caches are dropped (MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks #47; its driver is not known). If it fails here, free the page cache first (\`echo 3 | sudo tee /proc/sys/vm/drop_caches\`).`,
      );
    if (measured !== undefined && !isMeasured(settings))
      ofServer(
        "measurement-stale",
        `its measurement of ${measured?.at} is of another image. It no longer counts: measure again (\`serving verify --only memory\`) and record it.`,
      );
    const stale = staleBytes(settings);
    if (stale !== undefined) ofServer("cache-bytes-stale", stale);
    const raised = windowRaised(settings, appliedWindows[key]);
    if (raised !== undefined) ofServer("window-raised", raised);
    const images = takesImages(model?.config) ? imageCache(container.command) : undefined;
    if (images !== undefined) ofServer("image-cache", images);
    const slots = adapterSlots(settings, model);
    if (slots !== undefined && "why" in slots)
      ofServer(
        "adapters-uncounted",
        `the slots for its adapters aren't counted: ${slots.why}. The KV cache has less room than the plan says. Put the model's config.json into the model cache or models/, or measure (\`serving verify --only memory\`).`,
      );
    for (const note of result.notes) ofServer(result.kv === null ? "kv-unknown" : "kv-note", note);
    if (result.kv === null) continue;
    const { totalGiB } = machine;
    const advised = () => advisedFor(server, result, ledger);
    roomWarnings(settings, result.kv, { totalGiB, advised }, ofServer);
  }
  const { instanceA } = machine;
  if (
    instanceA !== "none" &&
    servers.length > 0 &&
    instanceAFromContainer(instanceA) === undefined
  ) {
    const message = `No container can check whether A is up: it listens on ${instanceA.listen}. After a boot our servers start at once if there is room for all, otherwise ${instanceA.readyWithinMinutes} minutes later (\`instanceA.readyWithinMinutes\`).`;
    warn("gate-cannot-ask", message);
  }
  for (const each of admission.filter((start) => !start.admitted)) {
    const message = `${each.name} would not start: ${each.wantedGiB.toFixed(2)} GiB wanted, ${each.availableGiB.toFixed(2)} available. So much is left by this meminfo after the servers before it.`;
    warn("not-admitted", message);
  }
  return [...warnings, ...togetherNotes(name, together)];
}

/**
 * A meminfo doesn't say with which shares our servers ran when it was read: the plan takes the
 * declared ones. Where other ones were applied, the difference lands in the operating system's line,
 * and lowering a share further doesn't help.
 */
export function otherShares(
  name: string,
  { totalGiB }: MachineSettings,
  servers: readonly KnownServer[],
  applied: Readonly<Record<string, number>> = {},
): Warning[] {
  return servers.flatMap(({ settings, plan: { key, container } }) => {
    const { gpuMemoryUtilization: share, kvCacheMemoryBytes } = settings;
    const ran = applied[key] ?? share;
    if (container.start === "onRequest" || kvCacheMemoryBytes !== undefined || ran === share)
      return [];
    const gib = (Math.abs(ran - share) * totalGiB).toFixed(2);
    const message = `${key}: ${utilizationText(ran)} was applied when the meminfo was read, not ${utilizationText(share)}. The plan takes it that ${key} ran with the declared share. If it ran with the other, the operating system's line is wrong by the difference, ${gib} GiB: stop it (\`serving stop ${key}\`), and read the meminfo again.`;
    return [{ machine: name, code: "meminfo-other-shares", message }];
  });
}

/** Why a recorded size of the cache no longer counts; `undefined` where it does, or none is recorded. */
function staleBytes(server: InferenceServerSettings): string | undefined {
  const { kvCacheMemoryBytes, measured } = server;
  const changed = changedSince(server).map((key) => `\`${key}\``);
  if (kvCacheMemoryBytes === undefined || measured?.takenGiB === undefined || changed.length === 0)
    return undefined;
  return `\`kvCacheMemoryBytes\` is stale: ${listOf(changed)} changed since. It was computed from what the server took on ${measured.at}. vLLM checks nothing but its share then, and a larger peak takes the machine's memory: delete \`kvCacheMemoryBytes\` (\`serving models use\` does), start it, and measure again (\`serving verify --only memory --record\`).`;
}

/** Whether a model reads images or sound beside text, by its class. */
const takesImages = (config: unknown): boolean =>
  [objectOr(config).architectures]
    .flat()
    .some((each) => /ForConditionalGeneration$/.test(String(each)));

/** GiB of vLLM's cache of processed images in each of its processes, where nothing else is said. */
const IMAGE_CACHE_GIB = 4;

/**
 * What vLLM may keep of images beside a server's share; `undefined` where the size is stated, and
 * then counted.
 */
function imageCache(command: readonly string[]): string | undefined {
  const args = readServerArguments(command);
  if (
    args.options.has("mm-processor-cache-gb") ||
    isOn(args, "language-model-only") ||
    isOn(args, "headless")
  )
    return undefined;
  return `images that clients send may take ${2 * IMAGE_CACHE_GIB} GiB beside its share. Each of two vLLM processes keeps up to ${IMAGE_CACHE_GIB} GiB of processed images. The plan doesn't count them, since text requests never fill that cache. \`extraArgs: [--mm-processor-cache-gb, "0"]\` turns it off; any other size given there is counted.`;
}

export type Warn = (code: string, message: string) => void;

/** Warns of a larger window than the applied one or, if that is unknown, than the measured one. */
function windowRaised(
  { maxModelLen, measured }: InferenceServerSettings,
  applied: number | undefined,
) {
  const then =
    "Kernels are compiled again for the new tile sizes, so the next start takes 10 to 15 minutes longer.";
  if (applied !== undefined)
    return maxModelLen > applied
      ? `\`maxModelLen\` is raised from ${applied} to ${maxModelLen}. ${then}`
      : undefined;
  if (measured === undefined) return undefined;
  const before = measured.kvTokens / measured.maxConcurrency;
  return maxModelLen > before * WINDOW_ROUNDING
    ? `\`maxModelLen\` ${maxModelLen} is above the measured ${Math.round(before)}. ${then}`
    : undefined;
}

/** The machine's memory, and the share of it to advise for a server. */
interface Shares {
  readonly totalGiB: number;
  readonly advised: () => Advised;
}

function roomWarnings(
  server: InferenceServerSettings,
  kv: ServerKv,
  { totalGiB, advised }: Shares,
  warn: Warn,
): void {
  const { room, atBest, maxModelLen, maxConcurrency, agents, start } = kv;
  const window = thousands(maxModelLen);
  const needed = neededRoom(kv);
  const remedy = () => cure(server, kv, { totalGiB, advised });
  const asked = `One request of ${window} tokens needs ${needed} of KV cache. The room for it is ${roomText(room)}`;
  const verdict = startVerdictOf(kv);
  const budget = server.gpuMemoryUtilization * totalGiB;
  const beyond = server.kvCacheMemoryBytes === undefined ? 0 : room.lowGiB + room.outsideGiB.low;
  const isBeyond = beyond > budget;
  const takes = `it takes at least ${beyond.toFixed(2)} GiB, and its share is ${budget.toFixed(2)}`;
  const lacks = `its window needs ${upToHundredth(windowGiBOf(kv)).toFixed(2)} GiB, ${gibRange(room).replace(" GiB", "")} is left`;
  // Where a window fits by the plan's own figures, one log contradicts them.
  const why = kv.fits && start !== undefined ? start.why : lacks;
  if (verdict === "may start")
    warn(
      "kv-room",
      `may not start: ${isBeyond ? takes : why}. ${remedy()} Or start it and record what it measures (\`serving verify --only memory --record\`). ${asked}.`,
    );
  else if (verdict === "starts" && maxConcurrency < server.maxNumSeqs) {
    const each = agents.map(({ atOnce, promptTokens, maxTokens }) => {
      return `${counted(atOnce, "agent")} of ${promptTokens / 1000}K + ${maxTokens / 1000}K tokens`;
    });
    const message = `${timesRange(maxConcurrency, atBest.maxConcurrency)} full windows run at once, other requests wait. ${gibRange(room)} for the KV cache holds no more of ${window} tokens, but \`maxNumSeqs\` is ${server.maxNumSeqs}.${each.length === 0 ? "" : ` ${each.join(" or ")} can work at once.`}`;
    warn("kv-queue", message);
  }
  const reuse = reuseTooLow(kv);
  if (reuse !== undefined) warn("kv-reuse", reuse);
  // Where it may not start, that is said already.
  if (isBeyond && verdict !== "may start")
    warn(
      "kv-memory-beyond-budget",
      `${takes}. ${aroundCache(kv, { totalGiB, advised })} That is \`kvCacheMemoryBytes\` and the memory outside the KV cache, beside a \`gpuMemoryUtilization\` of ${server.gpuMemoryUtilization}. The plan counts the real amount, but vLLM's check at the start only asks for the share.`,
    );
}

/**
 * What the room is compared with. It is rounded up, since the room is in hundredths of a GiB: one
 * that is too small never reads as large enough.
 */
function neededRoom(kv: ServerKv): string {
  const gib = upToHundredth(windowGiBOf(kv)).toFixed(2);
  return reservedBlocks(kv.vllmVersion) === 0
    ? `${gib} GiB`
    : `${gib} GiB with the block that vLLM keeps free`;
}

/** Warns if too little of an agent's last prompt is found again, and says what would find more. */
function reuseTooLow({ agentReuse, vllmVersion }: ServerKv): string | undefined {
  if (agentReuse === null || agentReuse.least >= LEAST_REUSE) return undefined;
  const { inFineSteps } = agentReuse;
  const better =
    inFineSteps.least >= LEAST_REUSE
      ? `With \`extraArgs: [--prefix-match-unit, "16"]\`: ${reuseText(inFineSteps)}.`
      : `vLLM 0.30 and newer reuse nearly all of it with --prefix-match-unit 16; ${vllmVersion} does not.`;
  return `an agent's turn reuses ${reuseText(agentReuse)} of its last prompt. ${better} It reuses only whole blocks, and one block less with draft tokens.`;
}

/**
 * Says what gives one whole window its room even in the worst known case, and whether the machine
 * has that much.
 */
function cure(server: InferenceServerSettings, kv: ServerKv, shares: Shares): string {
  const longest = offeredWindow(kv.largestMaxModelLen);
  const shorter =
    longest !== undefined && longest < kv.maxModelLen
      ? ` A \`maxModelLen\` of at most ${longest} fits without that change.`
      : "";
  const { kvCacheMemoryBytes: bytes } = server;
  if (bytes !== undefined && windowGiBOf(kv) <= bytes / BYTES_PER_GIB)
    return aroundCache(kv, shares);
  if (bytes !== undefined) {
    const { cacheBytes } = shares.advised();
    return cacheBytes === undefined
      ? `No \`kvCacheMemoryBytes\` that holds one request fits into its share and this machine.${shorter}`
      : `Set \`kvCacheMemoryBytes\` to ${cacheBytes} or more.${shorter}`;
  }
  return `${largerShare(server.gpuMemoryUtilization, kv, shares)}${shorter}`;
}

/** The share that covers a cache of fixed size with what lies beside it, where it is left. */
function aroundCache(kv: ServerKv, { totalGiB, advised }: Shares): string {
  const share = shareAroundCache(kv, totalGiB);
  const { most } = advised();
  return share <= most
    ? `Set \`gpuMemoryUtilization\` to ${share.toFixed(2)}.`
    : `A \`gpuMemoryUtilization\` of ${share.toFixed(2)} would cover both, but at most ${most.toFixed(2)} fits on this machine: lower \`kvCacheMemoryBytes\`.`;
}

/** The share that surely holds one window; where so much isn't left, the one that may hold it. */
function largerShare(now: number, kv: ServerKv, { totalGiB, advised }: Shares): string {
  const { value, least, most, fits } = advised();
  const sure = Math.max(least, sureShare(kv, totalGiB));
  const inAnyCase =
    kv.room.basis === "estimated"
      ? "holds one request even with the most that any start is known to have taken"
      : "holds one request for certain";
  const wanted =
    sure > AGGREGATE_LIMIT
      ? `No \`gpuMemoryUtilization\` up to ${AGGREGATE_LIMIT} ${inAnyCase}`
      : `A \`gpuMemoryUtilization\` of ${sure.toFixed(2)} ${inAnyCase}`;
  if (sure <= most) return `${wanted}.`;
  // Where none does, the most that fits adds nothing.
  if (sure > AGGREGATE_LIMIT && most >= AGGREGATE_LIMIT)
    return `${wanted}.${value > now ? ` From ${value.toFixed(2)} on it may start.` : ""}`;
  const floor = most < fits ? " and leaves the memory floor (`memoryFloorGiB`)" : "";
  const less = value > now ? ` From ${value.toFixed(2)} on it may start.` : "";
  return `${wanted}, but at most ${most.toFixed(2)} fits on this machine${floor}.${less}`;
}
