import type { LogReading } from "../sees/log/logReading";
import { COUNTS, READY, STARTED_WITH, sign } from "../sees/log/sign";
import type { Sighting } from "./picture";

/** Refused requests that make a client out of somebody who tries. */
export const AGAIN_AND_AGAIN = 3;

/** What a server logs of its start and of what it answered, and no client of it does. */
const SERVES = sign(
  ['" ', "[GIN] ", "Avg generation throughput", "Listening on ", "server config"],
  /HTTP\/1\.[01]" 2\d\d\b|\[GIN\] .{0,40}\| 2\d\d \||Avg generation throughput|Listening on \S+ \(version|server config\\?"? env=/,
);

/** A client says that it asks again. */
const ASKS_AGAIN = /\b(?:[Rr]etrying|[Rr]econnecting)\b|\battempt \d+ ?(?:\/|of) ?\d+/;

/** Lines behind such a line in which a client may still be waiting. */
const LAST_LINES = 3;

/** Whether a log is a server's. */
const isOfServer = ({ hits }: LogReading): boolean => hits.has(READY) || hits.has(SERVES);

/**
 * Whether a line tells of one request that somebody tried: a server that serves may be asked for
 * anything, and a client that asked again and went on was answered.
 */
export function isOneTry({ hit }: { readonly hit: Sighting }): boolean {
  return isOfServer(hit.log) ? hit.count < AGAIN_AND_AGAIN : wasAskedAgain(hit);
}

/** Whether a client says with a line that it asks again, and went on. */
export const wasAskedAgain = ({ log, line, lineNumber }: Sighting): boolean =>
  ASKS_AGAIN.test(line) && log.lines - lineNumber > LAST_LINES;

/** Whether vLLM wrote a log: what it refuses says less of its client than the client does. */
export const isOfVllm = ({ hits }: LogReading): boolean =>
  hits.has(STARTED_WITH) || hits.has(COUNTS);
