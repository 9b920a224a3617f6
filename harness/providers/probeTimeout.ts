/** Longest time that one probe waits, in seconds; a provider's own `timeout_sec` is for whole reviews. */
export const PROBE_TIMEOUT_SEC = 30;
