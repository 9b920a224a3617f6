/** A GiB is 1024^3 bytes. */
export const BYTES_PER_GIB = 1024 ** 3;
export const MIB_PER_GIB = 1024;
export const BYTES_PER_MIB = BYTES_PER_GIB / MIB_PER_GIB;

/** A GB is 10^9 bytes. */
export const BYTES_PER_GB = 1e9;
export const GIB_PER_GB = BYTES_PER_GB / BYTES_PER_GIB;

/** Rounds an amount of memory to 0.01 GiB, the precision of every figure shown. */
export const hundredths = (gib: number): number => Math.round(gib * 100) / 100;

/** Bytes as the engine's messages show them: GiB, two places, no trailing zeros (`8.48 GiB`). */
export const gib = (bytes: number): string => `${Number((bytes / BYTES_PER_GIB).toFixed(2))} GiB`;

/** `36.0 GB`, `87 MB`. */
export function gb(bytes: number): string {
  return bytes >= BYTES_PER_GB
    ? `${(bytes / BYTES_PER_GB).toFixed(1)} GB`
    : `${Math.ceil(bytes / 1e6)} MB`;
}

/** `1.2 GiB`, `87 MiB`. */
export function gibOrMib(bytes: number): string {
  const gib = bytes / BYTES_PER_GIB;
  return gib >= 1 ? `${gib.toFixed(1)} GiB` : `${Math.round(gib * MIB_PER_GIB)} MiB`;
}
