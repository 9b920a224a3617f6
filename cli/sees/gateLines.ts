/**
 * A line of the gate, as docker, compose, journald or Docker's own file give it. A request that a
 * server logs may hold the same words: it stands in quotes.
 */
export const gateLine = (words: string): RegExp =>
  new RegExp(`^(?:\\{"log":"|[^"']*\\s)?start gate: ${words}`);

/**
 * What the gate says as it starts vLLM: a log holds every start of a container, and what came
 * before is an earlier one's.
 */
export const GATE_OPENS = gateLine(
  String.raw`open after \d+ s(?:, [\d.]+ GiB are available)?(?:\\n|\s*$)`,
);

/** How vLLM ended; the group is the signal that ended it, if any did. */
export const GATE_ENDED = gateLine(
  String.raw`vLLM ended after \d+ s, (?:with code \d+|by signal (\d+))`,
);

/** Whatever else it says; the group is its words. */
export const GATE_SAYS = gateLine(String.raw`((?:stopped|closed|[^:]*waiting)\b.*)`);
