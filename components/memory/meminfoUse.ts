import type { Meminfo } from "../planned/evidence";
import { DEFAULT_OPERATING_SYSTEM_GIB } from "../settings/machine";
import { hundredths, takenBy } from "./ledger";

/** What a copy of /proc/meminfo says of a machine, once it is told which servers were running when it was taken. */
export interface MeminfoUse {
  /** Servers that the memory in use can only be explained with. */
  readonly running: "no server" | "instance A" | "instance A and ours" | "ours";
  /** In use beside those servers, in GiB: the operating system and everything that nobody declared. */
  readonly operatingSystemGiB: number;
  readonly source: string;
}

/** Whether vLLM would start a server by its own rule: MemAvailable at least utilization x total. */
export interface AdmissionOnPaper {
  readonly name: string;
  readonly wantedGiB: number;
  /** MemAvailable at the server's start, once instance A and the servers before it have theirs. */
  readonly availableGiB: number;
  readonly admitted: boolean;
}

/** A server's name and share. */
export interface Share {
  readonly name: string;
  readonly utilization: number;
}

/**
 * Which servers were running isn't written in a meminfo. The most of them that leave the operating system its smallest
 * plausible amount are taken to have been; the source says so.
 */
export function meminfoUse(
  meminfo: Meminfo,
  instanceA: Share | undefined,
  ours: readonly Share[],
): MeminfoUse {
  const { totalGiB, availableGiB } = meminfo;
  const used = totalGiB - availableGiB;
  const sum = (shares: readonly Share[]) =>
    shares.reduce((total, share) => total + takenBy(share.utilization, totalGiB), 0);
  const a = instanceA === undefined ? [] : [instanceA];
  const held = (servers: MeminfoUse["running"]) =>
    ({ "no server": 0, "instance A": sum(a), ours: sum(ours), "instance A and ours": sum([...a, ...ours]) })[
      servers
    ];
  const candidates: MeminfoUse["running"][] = [
    ...(a.length > 0 && ours.length > 0 ? (["instance A and ours"] as const) : []),
    ...(a.length > 0 ? (["instance A"] as const) : ours.length > 0 ? (["ours"] as const) : []),
  ];
  const running =
    candidates.find((servers) => used - held(servers) >= DEFAULT_OPERATING_SYSTEM_GIB) ?? "no server";
  const servers = hundredths(held(running));
  const less =
    running === "no server"
      ? "no server running"
      : `less ${servers.toFixed(2)} of ${running}, taken to be running`;
  return {
    running,
    operatingSystemGiB: hundredths(used - held(running)),
    source: `meminfo: ${totalGiB.toFixed(2)} - ${availableGiB.toFixed(2)} GiB in use, ${less}`,
  };
}

/** vLLM's admission rule for each of our servers, one after the other, with instance A up before them. */
export function admissionOnPaper(
  meminfo: Meminfo,
  instanceA: Share | undefined,
  ours: readonly Share[],
): AdmissionOnPaper[] {
  const { totalGiB } = meminfo;
  let available = totalGiB - meminfoUse(meminfo, instanceA, ours).operatingSystemGiB;
  if (instanceA !== undefined) available -= takenBy(instanceA.utilization, totalGiB);
  return ours.map(({ name, utilization }) => {
    const wantedGiB = hundredths(utilization * totalGiB);
    const availableGiB = hundredths(available);
    available -= takenBy(utilization, totalGiB);
    return { name, wantedGiB, availableGiB, admitted: availableGiB >= wantedGiB };
  });
}
