/** Two lines of /proc/meminfo, in GiB. */
export interface Meminfo {
  readonly totalGiB: number;
  readonly availableGiB: number;
}

const KIB_PER_GIB = 1024 ** 2;

/**
 * Reads the text of /proc/meminfo; `undefined` when it lacks one of the two lines that count, or
 * they can't be true.
 */
export function parseMeminfo(text: string): Meminfo | undefined {
  const gib = (name: string) => {
    const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text);
    return match?.[1] === undefined ? undefined : Number(match[1]) / KIB_PER_GIB;
  };
  const totalGiB = gib("MemTotal");
  const availableGiB = gib("MemAvailable");
  if (totalGiB === undefined || availableGiB === undefined) return undefined;
  return totalGiB > 0 && availableGiB <= totalGiB ? { totalGiB, availableGiB } : undefined;
}
