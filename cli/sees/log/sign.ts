import { GATE_ENDED, GATE_OPENS } from "../gateLines";

/** A text in a log that means something to a diagnosis. */
export interface Sign {
  /**
   * Every line that matches has at least one of these. Searching for them first keeps a log of 100
   * MB quick.
   */
  readonly literals: readonly string[];
  readonly pattern: RegExp;
  /**
   * `start`: a start failed, which is over once the same log shows a later start that succeeded.
   * `any`: it always counts. Once another start is up or has failed, all that was seen before it is
   * over, but for what ended a server that had served.
   */
  readonly when: "start" | "any";
  /**
   * Which line of several is kept: the newest, or the one whose first group is the largest number.
   */
  readonly keep: "newest" | "largest";
  /** A line that is only a warning doesn't count: what it tells of was survived. */
  readonly notWarned?: true;
}

/** Text as a pattern that matches just that text. */
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const made: Sign[] = [];

/** Every sign that was made: a log is searched for all of them, so none can be forgotten. */
export const SIGNS: readonly Sign[] = made;

/** A sign that counts wherever it is. Without a pattern the literals themselves are the sign. */
export function sign(
  texts: string | readonly string[],
  pattern?: RegExp,
  { when = "any", keep = "newest", ...more }: Partial<Omit<Sign, "literals" | "pattern">> = {},
): Sign {
  const literals = [texts].flat();
  const sign = {
    literals,
    pattern: pattern ?? new RegExp(literals.map(escaped).join("|")),
    when,
    keep,
    ...more,
  };
  made.push(sign);
  return sign;
}

export const startSign = (literals: string | readonly string[], pattern?: RegExp): Sign =>
  sign(literals, pattern, { when: "start" });

/** The start gate starts vLLM. */
export const OPENS = sign("start gate: open after", GATE_OPENS);

/** The start gate says how vLLM ended: no start broke off without a word. */
export const ENDED = sign("start gate: vLLM ended after", GATE_ENDED);

/**
 * The line that opens the next start where nothing says how the one before ended: found by what is
 * missing.
 */
export const BROKE_OFF = startSign([], /(?!)/);

/**
 * uvicorn says that a server is up: vLLM, LiteLLM and Open WebUI all print it. A rank without an
 * API has its gate say so.
 */
export const READY = sign(["Application startup complete", "start gate: the head answers"]);

/** A request was answered: whatever wrote it serves, also where its start isn't in the log. */
export const ANSWERED = sign(' - "', /INFO: {4,}\S{1,80} - "[A-Z]{3,7} \S+ HTTP\/[\d.]+" \d{3}\b/);

/** vLLM counts what it makes every ten seconds, and nothing else does. */
export const COUNTS = sign("Avg generation throughput");

/** Everything that vLLM was started with, as it prints that. */
export const STARTED_WITH = sign("non-default args: {", /non-default args: (\{.*\})/);

/** The model, in the picture that vLLM draws at its start and where its engine begins. */
export const STARTED_MODEL = sign(
  ["  model ", "with config: model='"],
  /[█▀▄] {2}model {1,6}(\S+)|with config: model='([^']+)'/,
);

/** How vLLM was started: its port shows which server of the stack file a log belongs to. */
export const STARTED_WITH_PORT = sign("'port':", /'port': (\d+)/);

/** What vLLM was started with, from the same line: the stack file may have changed since. */
export const STARTED_WITH_UTILIZATION = sign(
  "'gpu_memory_utilization':",
  /'gpu_memory_utilization': ([\d.]+)/,
);
export const STARTED_WITH_BATCH = sign(
  "'max_num_batched_tokens':",
  /'max_num_batched_tokens': (\d+)/,
);

/**
 * Points to a cause that is elsewhere: `EngineDeadError`, a start that gives up, the heading over
 * several faults.
 */
const POINTER =
  "(?!Engine core initialization failed|EngineCore encountered an issue|\\d+ validation errors? for)";

/**
 * A server that was asked to stop, or that its start gate stopped or killed: while it loads, vLLM
 * heeds no SIGTERM.
 */
export const STOPPED = sign([
  "Shutting down",
  "SIGTERM",
  "SIGINT",
  "KeyboardInterrupt",
  "start gate: stopped",
  "start gate: vLLM did not end in time",
]);

/** The API is to end: by whom, the log doesn't say. After a crash its own ruin says more before. */
export const ASKED_TO_STOP = sign(
  [
    "API server: shutdown triggered",
    "start gate: stopped",
    "start gate: vLLM did not end in time",
    "Shutting down",
  ],
  /API server: shutdown triggered|start gate: (?:stopped|vLLM did not end in time)|INFO: +Shutting down/,
);

/** An engine heeds the same signal; while it loads, a program that fails sends it. */
export const TOLD_TO_STOP = sign("received signal=SIG");

/** What Python raises; in backticks it only names what might be. */
const NAMED = "(?<!`)\\b[A-Z]\\w*(?:Error|Exception)";
/** The same without words, alone in its line. */
const BARE = "(?:^|\\) |\\] )(?:\\w+\\.)*[A-Z]\\w*(?:Error|Exception)$";

/** Anything that reads like an error: where no diagnosis explains it, the trouble is unknown. */
export const TROUBLE = sign(
  ["ERROR", "Error", "error:", "FATAL", "CRITICAL", "Traceback", "panic:", "Exception"],
  new RegExp(
    `\\b(?:ERROR|FATAL|CRITICAL)\\b|Traceback \\(most recent call last\\)|\\bpanic:|${NAMED}\\b: ${POINTER}|^\\S*\\s?error: |\\bvllm(?: \\w+)?: error: `,
  ),
);

/** The end of an uncaught failure: better evidence than the first line that has ERROR in it. */
export const RAISED = sign(
  ["Error", "Exception", "panic:", "Value error,", "Input should be"],
  new RegExp(
    `${NAMED}: ${POINTER}\\S|${BARE}|panic: |^.{0,60}  (?:Value error, |Input should be )\\S`,
  ),
);
