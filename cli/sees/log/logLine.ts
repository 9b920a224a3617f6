/** A line of a log, without what Docker, compose, journald and vLLM's logger put before it. */
export interface LogLine {
  /** Process that wrote it, such as `EngineCore pid=274`; "" where the line doesn't say. */
  readonly process: string;
  /** `ERROR` and the like, where a logger wrote it; "" for what a program prints by itself. */
  readonly level: string;
  /** Where its logger was called, such as `core.py:1366`: all lines of one message have the same. */
  readonly place: string;
  readonly text: string;
}

/** Docker's own file holds each line as JSON. */
const IN_JSON = /^\{"log":("(?:[^"\\]|\\.)*")/;

/** Letters that Kubernetes makes names of. */
const HASH = "[bcdf-hj-np-tv-xz2456789]";

/** What a line begins with where somebody else collected it, each of them once or behind another. */
const COLLECTED = new RegExp(
  `^(?:${[
    // Somebody quoted it.
    "> ?",
    // `docker compose logs`; loguru's level stands before such a stroke, too.
    "(?!(?:TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL) )\\[?[\\w.-]+\\]? +\\| ",
    // `docker logs --timestamps`, and Kubernetes' own file of a container.
    "\\d{4}-\\d\\d-\\d\\dT[\\d:.,]+(?:Z|[+-]\\d\\d:?\\d\\d) (?:std(?:out|err) [FP] )?",
    // `kubectl logs --prefix`, and stern.
    "\\[pod/[\\w./-]+\\] ",
    `[a-z][a-z0-9.-]*-(?:${HASH}{8,10}-${HASH}{5} [a-z0-9-]+ |\\d+ [a-z0-9-]+ (?=\\())`,
    // journald.
    "[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d \\S+ [\\w.@/-]+(?:\\[\\d+\\])?: ",
  ].join("|")}){1,4}`,
);

/**
 * How vLLM marks what its processes print, and torch what a rank raises: behind the mark of who
 * started it stands that of the process itself.
 */
const PROCESS =
  /^(?:(?:\([A-Z][\w ,=:-]{0,60}?pid=\d+\) ){0,3}\(([A-Z][\w ,=:-]{0,60}?pid=\d+)(?:, ip=[\w.:]+)?\) ?|\[(rank\d+)\]: ?)/;

/** What vLLM's logger, and uvicorn's, begin a line with. */
const LEVEL =
  /^(?:(DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[?([^\]\s]{1,80})\] ?|(DEBUG|INFO|WARNING|ERROR|CRITICAL): {1,6})/;

/** Takes a line apart. */
export function logLine(raw: string): LogLine {
  let text = unpacked(raw).replace(COLLECTED, "");
  const process = PROCESS.exec(text);
  if (process !== null) text = text.slice(process[0].length);
  const level = LEVEL.exec(text);
  if (level !== null) text = text.slice(level[0].length);
  return {
    process: process?.[1] ?? process?.[2] ?? "",
    level: level?.[1] ?? level?.[3] ?? "",
    place: level?.[2] ?? "",
    text: text.trimEnd(),
  };
}

/** The line inside of one of Docker's own file. */
export function unpacked(raw: string): string {
  const line = raw.replace(/^\ufeff/, "");
  const json = line.startsWith('{"log":') ? IN_JSON.exec(line)?.[1] : undefined;
  if (json === undefined) return line;
  try {
    return String(JSON.parse(json)).replace(/[\r\n]+$/, "");
  } catch {
    return line;
  }
}

/** When vLLM's logger, or torch's, wrote a line. */
const CLOCK =
  /(?:^|\s)(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\b|(?:^|\s)\[[WIEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\b/;
/** A leap year: the clock of a log has none. */
const ANY_YEAR = 2024;

/** The clock of a line, in seconds of its year; `undefined` where it has none. */
export function secondsIn(line: string): number | undefined {
  const match = CLOCK.exec(line.slice(0, CLOCK_WITHIN));
  if (match === null) return undefined;
  const [month = 1, day = 1, hour, minute, second] = match.slice(1).filter(Boolean).map(Number);
  return Date.UTC(ANY_YEAR, month - 1, day, hour, minute, second) / 1000;
}

/** Characters of a line in which its clock is. */
const CLOCK_WITHIN = 200;
