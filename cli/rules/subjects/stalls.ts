import { duration } from "@local-serving/base/units/duration";
import type { LogReading } from "../../sees/log/scanLog";
import { COUNTS, READY, STARTED_WITH, STARTED_WITH_BATCH, sign } from "../../sees/log/sign";
import { isHealthy, type Picture, ranWith, serverOf } from "../picture";
import { type Explanation, ofSomeLog, type WeighingRule } from "../rule";
import { endOf } from "./engineSaid";

/** The window, as vLLM says it at its start. */
const WINDOW = sign("Using max model len ", /Using max model len (\d+)/);
/** The engine waits for a step of its workers. */
const WAITS_FOR_WORKERS = sign([
  "No available shared memory broadcast block",
  "RPC call to",
  "Engine core did not respond",
]);
const NO_BLOCK = sign("No available shared memory broadcast block");
const GAVE_UP = sign("TimeoutError", /\bTimeoutError\b/);
/** A rank without an API of its own says next to nothing once it runs. */
const HEADLESS = sign(["'headless': True", "headless multiproc executor"]);
/** How far the weights are, and for how long they have been read: hours stand in front. */
const SHARDS = sign(
  "checkpoint shards:",
  /checkpoint shards: +(\d+)% Completed \| (\d+)\/(\d+) \[(?:(\d+):)?(\d+):(\d\d)</,
);

const MINUTE = 60;
/** Seconds without a token that may be read as one: below it nothing is said. */
const NOTICED = 30;
/** Seconds in which nothing moved that are no step of a prompt. */
const NO_STEP = 60;
/** Tokens a second at which a prompt is read, where the log shows no rate. */
const SLOW_RATE = 100;
const USUAL_BATCH = 8192;
const USUAL_WINDOW = 131_072;

/** A start without a new word for as long is none that only takes long: 10 to 15 minutes are usual. */
const SILENT = 30 * MINUTE;
/** One that goes on saying something is given as long as the plan gives vLLM. */
const LONGEST_START = 60 * MINUTE;

const READS_A_PROMPT =
  "vLLM counts a prompt when its first token comes, so this may be a long prompt that is still read, or an engine that hangs";

/** What shows that it hangs, beside the figures. */
function secondSigns({ probes = [] }: Picture, log: LogReading): string[] {
  const { noTokens } = log.pulse ?? {};
  const asked = probes.some(
    ({ status, cause, detail }) =>
      status === "fail" && (cause === "late" || /no answer within|timed out/i.test(detail)),
  );
  const waits = log.hits.get(WAITS_FOR_WORKERS);
  const ready = log.hits.get(READY);
  return [
    ...(asked ? ["a question of `serving verify` got no answer"] : []),
    ...(waits !== undefined && waits.lineNumber > (ready?.lineNumber ?? 0)
      ? ["the engine waits for a step of its workers"]
      : []),
    ...(noTokens?.grows === true ? ["more and more requests wait"] : []),
    ...(noTokens?.isHealthy === true ? ["/health answers meanwhile"] : []),
  ];
}

/** Whether an engine hangs, and by what; `undefined` where it makes tokens. */
function stallOf(picture: Picture, log: LogReading) {
  const { noTokens, promptRate = SLOW_RATE } = log.pulse ?? {};
  if (noTokens === undefined || noTokens.seconds < NOTICED) return undefined;
  if (endOf(picture, log) !== undefined) return undefined;
  const { settings } = serverOf(picture, log);
  const window = ranWith(log, WINDOW, settings?.maxModelLen) ?? USUAL_WINDOW;
  const batch =
    ranWith(log, STARTED_WITH_BATCH, settings?.maxNumBatchedTokens) ??
    Math.min(USUAL_BATCH, window);
  const signs = secondSigns(picture, log);
  const isAsked = signs.some((each) => !/wait\b|meanwhile/.test(each));
  const { seconds, standsStill } = noTokens;
  const hangs =
    (isAsked && seconds >= NO_STEP) ||
    (standsStill && seconds >= Math.max(NO_STEP, batch / SLOW_RATE)) ||
    (signs.length > 0 && seconds >= window / promptRate);
  return { noTokens, hangs, signs };
}

const requests = (count: number) => `${count} request${count === 1 ? "" : "s"}`;

function toldStall(picture: Picture, log: LogReading): Explanation | undefined {
  const stall = stallOf(picture, log);
  if (stall === undefined) return undefined;
  const { noTokens, hangs, signs } = stall;
  const { seconds, since, running, waiting, standsStill, line } = noTokens;
  const { container } = serverOf(picture, log);
  const what = `${requests(running)} run${running === 1 ? "s" : ""}, ${waiting} wait, and no token was made for ${duration(seconds)} (since ${since})`;
  const shown = { evidence: line, target: log.container };
  if (!hangs)
    return {
      cause: `${what}: ${READS_A_PROMPT}.`,
      ...shown,
      advice:
        "Ask it: a short question that gets no answer within a minute or two shows that it hangs.",
      command: "serving verify --only chat",
      harmless: true,
    };
  const why = [
    ...(standsStill ? ["its cache doesn't fill either, so no prompt is read"] : []),
    ...signs,
  ];
  return {
    cause: `The engine hangs: ${what}${why.length === 0 ? "" : `; ${why.join(", ")}`}.`,
    ...shown,
    advice: RESTART_IT,
    command: `docker restart ${container} && serving status --wait`,
  };
}

/** Minutes for which an engine waits for its workers that are no step of a prompt. */
const WAITED = 3;

/** An engine that only says that it waits, where its start and its figures aren't in the log. */
function waitsAlone(picture: Picture, log: LogReading): Explanation | undefined {
  const { hits } = log;
  const waits = hits.get(NO_BLOCK);
  const isStart = [STARTED_WITH, WINDOW, SHARDS, HEADLESS].some((sign) => hits.has(sign));
  if (waits === undefined || waits.count < WAITED || isStart || log.pulse?.noTokens !== undefined)
    return undefined;
  const figures = hits.get(COUNTS);
  if (figures !== undefined && figures.lineNumber > waits.firstLineNumber) return undefined;
  const { container } = serverOf(picture, log);
  return {
    cause: `The engine hangs: ${waits.count} times it has waited a minute for a step of its workers${hits.has(GAVE_UP) ? ", and then gave up" : ""}.`,
    evidence: waits.line,
    target: log.container,
    advice: RESTART_IT,
    command: `docker restart ${container} && serving status --wait`,
  };
}

const RESTART_IT =
  "Restart it: what runs in it is lost already, and /health says nothing of it. If it happens again, take another release, or try `--no-async-scheduling` in `extraArgs`; of ranks on two machines look at the link first.";

/** Seconds for which the weights have been read, by the bar itself. */
function loadingFor({ hits }: LogReading): number {
  const [, , , hours, minutes, seconds] = hits.get(SHARDS)?.groups ?? [];
  return Number(hours || 0) * 60 * MINUTE + Number(minutes || 0) * MINUTE + Number(seconds || 0);
}

/** Whether a log shows a start that isn't over. */
function isStarting(picture: Picture, log: LogReading): boolean {
  const { hits } = log;
  const isStart = [STARTED_WITH, WINDOW, SHARDS].some((sign) => hits.has(sign));
  if (!isStart || hits.has(READY) || hits.has(HEADLESS)) return false;
  return !isHealthy(picture, log) && endOf(picture, log) === undefined;
}

/** GPUs try whether they reach each other's memory, or add up for the first time. */
const OF_ALL_REDUCE =
  /all.?reduce|is using nccl|Registering \d+ cuda graph addresses|P2P access|symm_?mem/i;
const WITHOUT_ALL_REDUCE =
  "It stands still where its GPUs first write into each other's memory: restart it with `--disable-custom-all-reduce` in `extraArgs`, then with NCCL_P2P_DISABLE=1 in `environment`. Of ranks on several machines look at the link and at the other rank's log.";
const SEE_ITS_PROCESSES =
  "See what its processes do: compilers (nvcc, cicc, ptxas) still work; if nothing but vLLM itself is there, restart it. If it stands still at the same place again: of several ranks look at the link and at the other rank's log; for a hybrid model try `prefixCaching: false`; else another release.";

/** Nothing new was said for so long. */
function saysNothing({ pulse }: LogReading, look: string): Explanation | undefined {
  const { start } = pulse ?? {};
  if (start === undefined || start.silentSeconds < SILENT) return undefined;
  const isSplit = OF_ALL_REDUCE.test(`${start.newest} ${start.last}`);
  return {
    cause: `The start stands still: nothing new was said for ${duration(start.silentSeconds)}, since ${start.silentSince}, and a first start takes 10 to 15 minutes. It is stuck, and not compiling any more.`,
    evidence: start.last === start.newest ? start.newest : `${start.newest} | ${start.last}`,
    advice: isSplit ? WITHOUT_ALL_REDUCE : SEE_ITS_PROCESSES,
    command: look,
  };
}

/** The weights are still read. */
function readsSlowly(log: LogReading): Explanation | undefined {
  const [, done, all] = log.hits.get(SHARDS)?.groups ?? [];
  const seconds = loadingFor(log);
  if (seconds < SILENT || Number(done) >= Number(all)) return undefined;
  return {
    cause: `The weights have been read for ${duration(seconds)}, and ${done} of ${all} files are done: that is far longer than a start takes (10 to 15 minutes).`,
    evidence: log.hits.get(SHARDS)?.line ?? "",
    advice:
      "It still goes on, so it isn't stuck: the disk or the network that the model comes from is slow, or the machine swaps. Put `modelCache` on the machine's own disk.",
    command: "free -h; df -h ~/.cache/huggingface; iostat -x 1 3",
  };
}

/** It goes on saying something, for longer than any start. */
function takesLong({ pulse }: LogReading, look: string): Explanation | undefined {
  const { start } = pulse ?? {};
  if (start === undefined || start.seconds < LONGEST_START) return undefined;
  return {
    cause: `The start has taken ${duration(start.seconds)} (since ${start.since}), and it still isn't up: a first start takes 10 to 15 minutes.`,
    evidence: start.newest,
    advice:
      "It still says something, so look at what: compilers that run one after another for so long have too little memory or too few jobs (`compileJobs`); else restart it.",
    command: look,
  };
}

/** A start that isn't up after far longer than a start takes; what it does is in its last new line. */
export function slowStart(picture: Picture, log: LogReading): Explanation | undefined {
  if (!isStarting(picture, log)) return undefined;
  const { container } = serverOf(picture, log);
  const look = `docker exec ${container} ps -eo pid,pcpu,etime,args --sort=-pcpu | head`;
  const words = saysNothing(log, look) ?? readsSlowly(log) ?? takesLong(log, look);
  return words && { ...words, target: log.container };
}

/** What a log's own clock shows: an engine without a token, and a start that doesn't end. */
export const stalls: readonly WeighingRule[] = [
  {
    id: "engine-hangs",
    explain: ofSomeLog((picture, log) => toldStall(picture, log) ?? waitsAlone(picture, log)),
  },
  { id: "start-stands-still", explain: ofSomeLog(slowStart) },
];
