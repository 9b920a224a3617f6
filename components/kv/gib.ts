import { BYTES_PER_GIB } from "../planned/utilization";

/** Bytes as the engine's messages show them: GiB, two places, no trailing zeros (`8.48 GiB`). */
export const gib = (bytes: number): string => `${Number((bytes / BYTES_PER_GIB).toFixed(2))} GiB`;

/** A whole number with its thousands set off, as the engine's log writes them. Locale data would take 10 ms to load. */
export const thousands = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
