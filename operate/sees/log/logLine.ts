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

/** What `docker compose logs`, `docker logs --timestamps` and journald begin a line with. */
const COLLECTED =
  /^(?:[\w.-]+-\d+ +\| |\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d) |[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w.@/-]+(?:\[\d+\])?: )/;

/** How vLLM marks what its processes print, and torch what a rank raises. */
const PROCESS = /^(?:\(([A-Z][\w ,=:-]{0,60}?pid=\d+)\) ?|\[(rank\d+)\]: ?)/;

/** What vLLM's logger, and uvicorn's, begin a line with. */
const LEVEL =
  /^(?:(DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[?([^\]\s]{1,80})\] ?|(DEBUG|INFO|WARNING|ERROR|CRITICAL): {1,6})/;

/** Takes a line apart. */
export function logLine(raw: string): LogLine {
  let text = unpacked(raw.replace(/^\ufeff/, "")).replace(COLLECTED, "");
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

function unpacked(raw: string): string {
  const json = IN_JSON.exec(raw)?.[1];
  if (json === undefined) return raw;
  try {
    return String(JSON.parse(json));
  } catch {
    return raw;
  }
}
