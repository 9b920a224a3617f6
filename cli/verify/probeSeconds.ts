/**
 * Seconds that one answer may take: 28,000 tokens of cold prefill were measured to take half a
 * minute, so four times that.
 */
export const PROBE_SECONDS = 120;
