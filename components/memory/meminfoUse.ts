import type { Meminfo } from "../planned/evidence";
import { type MemoryDemand, takenGiB } from "../planned/utilization";
import { DEFAULT_OPERATING_SYSTEM_GIB } from "../settings/machine";
import { hundredths, takenBy } from "./ledger";

/** Servers that the memory in use can only be explained with. */
type Running = "no server" | "instance A" | "instance A and ours" | "ours";

/** Whether a server would start: MemAvailable at least what it takes (vLLM's own rule: utilization x total). */
export type AdmissionOnPaper = Readonly<ReturnType<typeof admissionOnPaper>[number]>;

/** A server's name and what it asks of the memory. */
export type Share = MemoryDemand & { readonly name: string };

/**
 * What a copy of /proc/meminfo says of a machine. Which servers were running isn't written in it. The most of them that leave the operating system its smallest
 * plausible amount are taken to have been; the source says so.
 */
export function meminfoUse(meminfo: Meminfo, instanceA: Share | undefined, ours: readonly Share[]) {
  const { totalGiB, availableGiB } = meminfo;
  const used = totalGiB - availableGiB;
  const sum = (shares: readonly Share[]) => shares.reduce((total, share) => total + takenBy(share, totalGiB), 0);
  const a = instanceA === undefined ? [] : [instanceA];
  const held = (servers: Running) =>
    ({ "no server": 0, "instance A": sum(a), ours: sum(ours), "instance A and ours": sum([...a, ...ours]) })[servers];
  const candidates: Running[] = [
    ...(a.length > 0 && ours.length > 0 ? (["instance A and ours"] as const) : []),
    ...(a.length > 0 ? (["instance A"] as const) : ours.length > 0 ? (["ours"] as const) : []),
  ];
  const running = candidates.find((servers) => used - held(servers) >= DEFAULT_OPERATING_SYSTEM_GIB) ?? "no server";
  const servers = hundredths(held(running));
  const less =
    running === "no server" ? "no server running" : `less ${servers.toFixed(2)} of ${running}, taken to be running`;
  const source = `meminfo: ${totalGiB.toFixed(2)} - ${availableGiB.toFixed(2)} GiB in use, ${less}`;
  return {
    running,
    /** In use beside those servers, in GiB: the operating system and everything that nobody declared. */
    operatingSystemGiB: hundredths(used - held(running)),
    source,
  };
}

/** vLLM's admission rule for each of our servers, one after the other, with instance A up before them. */
export function admissionOnPaper(meminfo: Meminfo, instanceA: Share | undefined, ours: readonly Share[]) {
  const { totalGiB } = meminfo;
  let available = totalGiB - meminfoUse(meminfo, instanceA, ours).operatingSystemGiB;
  if (instanceA !== undefined) available -= takenBy(instanceA, totalGiB);
  return ours.map((share) => {
    const { name } = share;
    // vLLM itself checks the share alone, and runs out of memory later.
    const wantedGiB = hundredths(takenGiB(share, totalGiB));
    // At the server's start, once instance A and the servers before it have theirs.
    const availableGiB = hundredths(available);
    available -= takenBy(share, totalGiB);
    return { name, wantedGiB, availableGiB, admitted: availableGiB >= wantedGiB };
  });
}
