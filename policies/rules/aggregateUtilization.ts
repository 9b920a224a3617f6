import { isDeepStrictEqual } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import { listOf } from "@local-serving/base/faults/quoting";
import {
  type ClaimedShare,
  demandOf,
  gpusNeeded,
  shareFrom,
} from "@local-serving/vllm/argv/memoryDemand";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { figure, knownMap, list, map, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import {
  AGGREGATE_LIMIT,
  cacheWithin,
  largestThatFits,
  type MemoryDemand,
  shareText,
  TEN_THOUSAND,
  takenGiB,
  takesItsShare,
  tenThousandths,
  utilizationText,
} from "@local-serving/vllm/utilization";
import { adviseShare } from "../../components/memory";
import { largestSet } from "../../components/memory/together";
import { TYPE } from "../../components/planned";
import { shareToStart, warnedText } from "../lib/advisedShare";
import { nameOf, serverName } from "../lib/block";
import { containerName, type DeclaredResource, displayName, knownText } from "../lib/container";
import { eitherOf } from "../lib/eitherOf";
import { readContainer, readDeclared, type ServerReading } from "../lib/inferenceServer";
import {
  cacheTooSmall,
  countedAdapters,
  type LargestShare,
  largestShares,
} from "../lib/largestShares";
import type { MachineGroup } from "../lib/machines";
import { machinesIn, onComputers } from "../lib/oneComputer";
import type { Engine } from "../lib/otherEngines";
import { atOnce, declaredOnRequest, startsOnRequest } from "../lib/together";
import { advice, type Change, type Finding, type Found, note, type Rule, violation } from "./rule";

/** One instance's claim. */
type Claim = ClaimedShare & {
  readonly who: string;
  /** Set if it is a server of ours; a host-installed one is only declared. */
  readonly ours?: true;
  /** Name of its container, and whether that starts on request. */
  readonly container?: string;
  readonly onRequest?: boolean;
  /** The option that sets its share, where that is not vLLM's own. */
  readonly option?: string;
  /** Where the server takes more than its share by other flags: what it asks, of how much. */
  readonly beyond?: { readonly demand: MemoryDemand; readonly totalGiB: number };
  /**
   * What to do about an unknown claim. Without it, the finding asks to write the claim as plain
   * text.
   */
  readonly remedy?: string;
};

type KnownClaim = Extract<Claim, { known: true }>;

/**
 * All `--gpu-memory-utilization` shares of one machine stay at or under 0.90, instance A included.
 */
export const aggregateUtilization: Rule = {
  name: "aggregate-utilization",
  description:
    "The memory shares of all inference servers of a machine, including the host-installed one, sum to at most 0.90. A fixed KV cache counts with the memory outside it, if that is more than the share. Offloading and other host buffers count too. If servers start on request, each set that runs together is summed on its own.",
  level: "mandatory",
  fixed: true,
  advises: true,
  of: TYPE.machine,
  judgeResource: (machine) => judgedTogether(machine, claimsOf(machine), machine),
  judgeStack(resources) {
    const groups = onComputers(resources);
    return [...groups.flatMap((group) => judgedGroup(group) ?? []), ...countedApart(groups)];
  },
};

/** The sum of what shares a computer. */
function judgedGroup(group: MachineGroup): Found {
  const { component } = group;
  const claims = groupClaims(group);
  const [subject] = serversOf(group);
  if (subject === undefined) return undefined;
  // The machine component was judged before anything was touched. The same sum is not reported
  // twice.
  const wasJudged = component !== undefined && machinesIn(component) === undefined;
  if (wasJudged && sameSum(claims, claimsOf(component))) return undefined;
  return judgedTogether(subject, claims, component) ?? undeclaredHost(subject, group);
}

const serversOf = ({ containers }: MachineGroup): DeclaredResource[] =>
  containers.filter((container) => {
    const reading = readContainer(container);
    return reading.kind !== "no" || reading.engines !== undefined;
  });

function groupClaims(group: MachineGroup): Claim[] {
  const size = sizeOf(group.component);
  // Two machines of one computer may have a server of one name each.
  const called = machinesIn(group.component) === undefined ? nameOf : displayName;
  const ofContainers = group.containers.flatMap((each) =>
    readingClaims(
      { who: called(each), container: containerName(each) },
      readContainer(each),
      size,
    ).map((claim) => ({
      ...claim,
      container: containerName(each),
      onRequest: startsOnRequest(each.props),
    })),
  );
  return [...hostClaims(group), ...ofContainers];
}

/** Says which computers were told apart by the hosts of Docker's providers alone. */
function countedApart(groups: readonly MachineGroup[]): Finding[] {
  const servers = new Map<string, ReadonlySet<string>>();
  for (const group of groups) {
    const place = `${group.computer ?? group.machine}`;
    const names = serversOf(group).map(displayName);
    if (names.length > 0) servers.set(place, new Set([...(servers.get(place) ?? []), ...names]));
  }
  const [subject] = groups.flatMap((group) =>
    group.computer === undefined ? [] : serversOf(group),
  );
  if (subject === undefined || servers.size < 2) return [];
  const places = [...servers].map(([place, names]) => `${place} (${[...names].join(", ")})`);
  const message = `Memory is summed apart for ${places.length} computers. These are ${listOf(places)}, as the hosts of their Docker providers differ. A name and an address of one computer differ too: if two of these are one, give their providers the same \`host\`.`;
  return [note(subject, message)];
}

/** Judges everything that may run at once; of several such sums the largest is reported. */
function judgedTogether(
  subject: DeclaredResource,
  claims: readonly Claim[],
  component?: DeclaredResource,
): Found {
  const sums = atOnce(claims, component);
  const size = (some: readonly Claim[]) => (areKnown(some) ? total(some) : Infinity);
  return judged(subject, largestSet(sums, size), component);
}

function judged(
  subject: DeclaredResource,
  claims: readonly Claim[],
  component?: DeclaredResource,
): Found {
  const limit = tenThousandths(AGGREGATE_LIMIT);
  if (!areKnown(claims))
    return claims
      .filter((claim) => !claim.known)
      .map(({ who, why, remedy: cure }) => {
        const plain = `Until this is fixed, the sum can't be compared with the limit of ${shareText(limit)}.`;
        return violation(
          subject,
          `The memory share of ${who} can't be judged: ${why}. ${cure ?? plain}`,
        );
      });
  const sum = total(claims);
  if (sum <= limit) return undefined;
  const { totalGiB: size } = sizeOf(component);
  const gib = size ? `, ${((sum / TEN_THOUSAND) * size).toFixed(1)} of ${size} GiB` : "";
  const shares = largestShares(component);
  const shareOf = ({ container }: Claim) => shares.find(({ name }) => name === container);
  const remedies = claims
    .filter(({ ours }) => ours)
    .map((claim) => remedy(claim, limit, sum, shareOf(claim)));
  const host = claims.flatMap(({ ours, tenThousandths: its }) => {
    // The share that its owner may lower it to, if that alone is enough.
    const fits = largestThatFits(limit, sum - its);
    const to = fits === 0 ? "" : `, to ${shareText(fits)} or less`;
    return ours ? [] : ` Instance A is not ours to lower: only its owner can${to}.`;
  });
  const ways = eitherOf(remedies.map(({ text, change }) => ({ text, isEnough: !!change })));
  const isHopeless = remedies.length > 1 && remedies.every(({ change }) => change === undefined);
  const ours = [...ways, ...(isHopeless ? [ON_REQUEST] : [])].map((text) => ` ${text}`).join("");
  // Where none of ours can give way, only A's owner can.
  const cure = remedies.some(({ change }) => change) ? [ours, ...host] : [...host, ours];
  const message = `The servers of ${machineText(component)} claim ${shareText(sum)} of its memory, and ${shareText(limit)} is the limit.${cure.join("")} Claimed: ${claims.map(claimText).join(" + ")}${gib}.`;
  return violation(subject, message, remedies.find(({ change }) => change)?.change);
}

function machineText(component: DeclaredResource | undefined): string {
  const together = machinesIn(component);
  if (together !== undefined) return `${together} (one computer)`;
  return knownText(component?.props.machine) ?? "this machine";
}

const ON_REQUEST =
  "Write `start: onRequest` at those that needn't run at once: `serving start` starts one where it fits.";

type Remedy = { readonly text: string; readonly change?: Change };

/**
 * The answer is the smaller share: what this limit leaves, or what the sum of the machine's memory
 * leaves.
 */
function remedy(claim: KnownClaim, limit: number, sum: number, share?: LargestShare): Remedy {
  const { who, container: server = who, beyond, option = "--gpu-memory-utilization" } = claim;
  if (beyond !== undefined) return beyondRemedy(claim, beyond, (sum - limit) / TEN_THOUSAND, share);
  const byLimit = largestThatFits(limit, sum - claim.tenThousandths) / TEN_THOUSAND;
  const bySum = share && Number.isFinite(share.bySum) ? share.bySum : byLimit;
  const own = { name: server, needs: {}, ...share, bySum, byAggregate: byLimit };
  const advised = adviseShare(own, claim.tenThousandths / TEN_THOUSAND);
  const { value, fits } = advised;
  if (fits <= 0) return { text: `No share is left for ${who} beside the others.` };
  if (value === 0)
    return {
      text: `Only ${utilizationText(fits)} is left for ${who} beside the others, but it needs ${shareToStart(own.needs)}: lower another server, or leave this one out.`,
    };
  const set = `Set ${option} of ${who} to ${utilizationText(value)} or less.${warnedText(advised)}`;
  return { text: set, change: { server, setting: "gpuMemoryUtilization", value } };
}

/**
 * No lower share helps a server that takes more than its share: what it takes beside it must
 * shrink.
 */
function beyondRemedy(
  { who, container: server = who }: KnownClaim,
  { demand, totalGiB }: NonNullable<Claim["beyond"]>,
  tooMuch: number,
  share?: LargestShare,
): Remedy {
  const { kvCacheGiB = 0, hostGiB = 0, outsideGiB } = demand;
  if (hostGiB > 0)
    return { text: `Lower the memory that ${who} takes outside its share, or remove those flags.` };
  const lessGiB = Math.ceil(tooMuch * totalGiB * 100) / 100;
  const setting = "kvCacheMemoryBytes";
  const tooSmall =
    share === undefined || outsideGiB === undefined
      ? ""
      : cacheTooSmall({ ...share, name: who }, kvCacheGiB - lessGiB);
  if (tooSmall !== "") return { text: `${tooSmall} Lower another server, or leave this one out.` };
  const value = cacheWithin(kvCacheGiB - lessGiB);
  if (value === undefined) return { text: `Remove --kv-cache-memory-bytes from ${who}.` };
  const lower = `Lower --kv-cache-memory-bytes of ${who} by ${lessGiB.toFixed(2)} GiB or more.`;
  return { text: lower, change: { server, setting, value } };
}

function claimText({ who, tenThousandths: share, byDefault, beyond }: KnownClaim): string {
  if (beyond !== undefined) return `${who} ${shareText(share)} (${beyondText(beyond)})`;
  const why = byDefault ? " (vLLM's default, as --gpu-memory-utilization is missing)" : "";
  return `${who} ${shareText(share)}${why}`;
}

function beyondText({ demand, totalGiB }: NonNullable<Claim["beyond"]>): string {
  const { utilization, kvCacheGiB = 0, outsideGiB, hostGiB = 0 } = demand;
  const host = `${hostGiB.toFixed(2)} GiB of buffers outside it`;
  if (kvCacheGiB === 0) return `${utilizationText(utilization)} and ${host}`;
  const rest = outsideGiB ?? utilization * totalGiB;
  const outside =
    outsideGiB === undefined ? "its share, as its weights are not known" : "outside its KV cache";
  return `${kvCacheGiB.toFixed(2)} GiB of --kv-cache-memory-bytes + ${rest.toFixed(2)} ${outside}${hostGiB > 0 ? ` + ${host}` : ""}`;
}

const areKnown = (claims: readonly Claim[]): claims is readonly KnownClaim[] =>
  claims.every(({ known }) => known);

const total = (claims: readonly KnownClaim[]): number =>
  claims.reduce((sum, claim) => sum + claim.tenThousandths, 0);

const sameSum = (a: readonly Claim[], b: readonly Claim[]): boolean =>
  areKnown(a) &&
  areKnown(b) &&
  a.length === b.length &&
  total(a) === total(b) &&
  isDeepStrictEqual(onRequestIn(a), onRequestIn(b));

const onRequestIn = (claims: readonly Claim[]) =>
  claims.flatMap(({ container, onRequest }) => (onRequest ? container : [])).sort();

/** Claims that a machine component declares in its inputs. */
function claimsOf(machine: DeclaredResource): Claim[] {
  const size = sizeOf(machine);
  const { hostInstance } = machine.props;
  const host = map(hostInstance);
  const claims: Claim[] = typeof host === "object" ? [hostClaim(host)] : [];
  if (host === UNKNOWN) claims.push(unknownClaim("instance A", "`hostInstance` is not known"));
  else if (host === undefined && hostInstance !== "none")
    claims.push(
      unknownClaim(
        "instance A",
        "it is not declared; declare its share, or `none` if there is no instance A",
      ),
    );
  const servers = list(machine.props.servers);
  if (servers === UNKNOWN)
    return [...claims, unknownClaim("a server of ours", "`servers` is not known")];
  const ofServers = servers.flatMap((entry, index) => {
    const server = map(entry);
    if (typeof server !== "object")
      return unknownClaim(`Server ${index + 1}`, "its arguments are not known");
    const container = knownText(server.name) ?? `server ${index + 1}`;
    const who = serverName(machine, container);
    return readingClaims({ who, container }, readDeclared(server), size).map((claim) => ({
      ...claim,
      container,
      onRequest: declaredOnRequest(server),
    }));
  });
  return [...claims, ...ofServers];
}

function hostClaims({ hostInstances, component }: MachineGroup): Claim[] {
  if (hostInstances.length > 0) return hostInstances.map((instance) => hostClaim(instance.props));
  const host = map(component?.props.hostInstance);
  return typeof host === "object" ? [hostClaim(host)] : [];
}

function hostClaim({
  port,
  gpuMemoryUtilization: value,
}: Readonly<Record<string, unknown>>): Claim {
  const known = knownText(port);
  const who = known === undefined ? "instance A (host)" : `instance A (host, port ${known})`;
  if (value === UNKNOWN || value === undefined)
    return unknownClaim(who, "its gpuMemoryUtilization is not known");
  return { who, ...shareFrom(value, "its gpuMemoryUtilization") };
}

/**
 * What the machine component says: its total, its GPUs, and what servers take outside their KV
 * cache.
 */
type MachineSize = {
  readonly totalGiB: number | undefined;
  readonly gpus: number;
  readonly outsideGiB: ReadonlyMap<string, number>;
  readonly adapters: ReadonlySet<string>;
};

function sizeOf(component: DeclaredResource | undefined): MachineSize {
  const total = figure(component?.props.totalGiB);
  const servers = knownMap(knownMap(component?.props.memory).fixedKvCache);
  return {
    adapters: countedAdapters(component),
    totalGiB: total > 0 && Number.isFinite(total) ? total : undefined,
    // A machine whose memory is its GPU's has one, unless its component says more.
    gpus: Math.max(1, figure(component?.props.gpus) || 1),
    outsideGiB: new Map(
      Object.entries(servers).flatMap(([name, entry]) => {
        const gib = figure(knownMap(entry).outsideGiB);
        return gib > 0 ? [[name, gib] as const] : [];
      }),
    ),
  };
}

/** A server's name for people, and that of its container. */
type Named = Pick<Claim, "who"> & { readonly container: string };

function serverClaim({ who, container }: Named, args: ServerArguments, size: MachineSize): Claim {
  const { totalGiB, gpus, outsideGiB, adapters } = size;
  const needed = gpusNeeded(args);
  if (typeof needed === "string") return unknownClaim(who, needed);
  if (needed > gpus) {
    const why = `its processes need ${needed} GPUs, one each, but the machine has ${gpus} (\`gpus\`)`;
    return { ...unknownClaim(who, why), remedy: FEWER_PROCESSES };
  }
  const read = demandOf(args, { adaptersCounted: adapters.has(container) });
  if (!read.known) return unknownClaim(who, read.why);
  const { memory, byDefault } = read;
  const ours = { who, ours: true, known: true, byDefault } as const;
  if (takesItsShare(memory)) return { ...ours, tenThousandths: tenThousandths(memory.utilization) };
  if (totalGiB === undefined)
    return unknownClaim(
      who,
      "`--kv-cache-memory-bytes`, offloading and buffers take memory outside the share, and the machine's total is not known",
    );
  const demand = { ...memory, ...defined({ outsideGiB: outsideGiB.get(container) }) };
  const taken = takenGiB(demand, totalGiB);
  const claim = { ...ours, tenThousandths: tenThousandths(taken / totalGiB) };
  return taken > memory.utilization * totalGiB ? { ...claim, beyond: { demand, totalGiB } } : claim;
}

function readingClaims(named: Named, reading: ServerReading, size: MachineSize): Claim[] {
  const { who } = named;
  if (reading.kind === "no")
    return (reading.engines ?? []).map((engine) => engineClaim(named, engine, size));
  if (reading.unreadable.length > 0) {
    const may = reading.kind === "possible" ? "it may be an inference server: " : "";
    return [unknownClaim(who, may + reading.unreadable.join("; "))];
  }
  if (reading.kind === "possible") return [];
  return [
    ...reading.servers.map((server) => serverClaim(named, server, size)),
    ...(reading.engines ?? []).map((engine) => engineClaim(named, engine, size)),
  ];
}

/** The claim of an engine that serves nobody: it takes memory as a server does. */
function engineClaim(named: Named, { args, option }: Engine, size: MachineSize): Claim {
  const [why] = args.unreadable;
  if (why !== undefined) return unknownClaim(named.who, why);
  return { ...serverClaim(named, args, size), option };
}

const FEWER_PROCESSES =
  "Lower `--tensor-parallel-size` and `--pipeline-parallel-size`, or remove `--data-parallel-size`: each process takes the whole share on its own GPU.";

const unknownClaim = (who: string, why: string): Claim => ({ who, known: false, why });

/** A program of plain containers may run on a machine without an A; but nothing says so. */
function undeclaredHost(subject: DeclaredResource, group: MachineGroup): Found {
  if (group.hostInstances.length > 0 || group.component !== undefined) return undefined;
  const message = `No instance A is declared beside ${nameOf(subject)}, so none is counted. If there is one, declare ${TYPE.hostInstance} with its machine, port and gpuMemoryUtilization.`;
  return advice(subject, message);
}
