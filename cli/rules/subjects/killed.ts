import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { LogReading } from "../../sees/log/scanLog";
import {
  BROKE_OFF,
  READY,
  type Sign,
  STARTED_WITH,
  STOPPED,
  sign,
  startSign,
} from "../../sees/log/sign";
import { EXIT_KILLED, wasKilled } from "../../sees/onRequest";
import {
  cameUpAfter,
  isOnRequest,
  isUp,
  type Picture,
  plannedStates,
  type Sighting,
  seen,
  serverOf,
  stateOf,
} from "../picture";
import type { Row, WeighingRule } from "../rule";
import { againText, endOf } from "./engineSaid";
import { lowerShare } from "./memory";
import { slowStart } from "./stalls";

/** The kernel's killer and earlyoom's. */
const KERNEL_KILL = sign("Killed process", /Killed process (\d+) \(([^)]*)\)/);
/**
 * The line before it names the container, or a control group of somebody else whose own limit was
 * reached.
 */
const KILLED_IN = sign(
  "oom-kill:",
  /oom-kill:(?=\S*?task_memcg=[^,\s]*?([0-9a-f]{64})|constraint=CONSTRAINT_MEMCG).*?,pid=(\d+)/,
);
const EARLYOOM = sign("sending SIG", /sending SIG(?:TERM|KILL) to process (\d+) [^"]*"([^"]*)"/);

const EXITED_137 = sign(
  ["137", "SIGKILL", "signal 9", "-9", "Killed"],
  /^(?:\S{1,80}: line \d+: +\d+ )?Killed(?: {2,}.*)?$|\bExited \(137\)|\bexit(?:ed)?(?: with)?(?: code| status)?:?\s*137\b|\bstatus=9\/KILL|signal 9 \(SIGKILL\)|exit ?code[=:] ?-9|core proc\(s\): \{[^}]*: -9\b/i,
);
/** What vLLM says of an engine that went away; one that fails by itself says why first. */
const ENGINE_GONE = startSign("engine core exited unexpectedly");
/** A worker that went away while its server served. */
const WORKER_GONE = startSign(
  "died unexpectedly",
  /Worker proc \S+ died unexpectedly \(exit code: None/,
);
/** The API server waited for an engine that had ended; what that said comes before. */
const NEVER_CAME = startSign(
  "Failed core proc(s): {",
  /Engine core initialization failed\..*Failed core proc\(s\): \{/,
);
const START_EXITED_137 = startSign(
  ["137", "SIGKILL", "signal 9", "-9"],
  /start gate: vLLM ended after \d+ s, by signal 9\b|\bExited \(137\)|\bexit(?:ed)?(?: with)?(?: code| status)?:?\s*137\b|exit ?code[=:] ?-9|core proc\(s\): \{[^}]*: -9\b/i,
);

/** Programs that the run-time compilation of kernels starts. */
const COMPILER_VICTIMS =
  /^(?:cicc|nvcc|ptxas|cc1plus|cudafe\+\+|c\+\+|g\+\+|gcc|ninja|nvlink|fatbinary)$/;

/** A compiler that was killed, in its own words or in ninja's. */
const COMPILER_KILLED = startSign(
  [
    "code=137",
    "died due to signal 9",
    "Killed signal terminated program",
    "ninja: build stopped",
    "exit code 137",
  ],
  /FAILED: \[code=137\]|died due to signal 9|Killed signal terminated program (?:cc1plus|cicc|ptxas)|ninja: build stopped: subcommand failed\b.*(?:137|SIGKILL)|(?:ninja|nvcc|cicc|ptxas).{0,200}exit (?:code|status) 137/,
);
const KERNEL_KILLED_COMPILER = sign(
  "Killed process",
  /Killed process (\d+) \((?:cicc|nvcc|ptxas|cc1plus|cudafe\+\+|ninja|nvlink|fatbinary)[^)]*\)/,
);
/** What vLLM and FlashInfer print while kernels are compiled. */
const COMPILING = sign(
  [
    "nvcc",
    "Dynamo bytecode transform",
    "Compiling a graph",
    "Building JIT",
    "Loading JIT",
    "torch.compile",
    "[1/",
    "Start compiling",
  ],
  /\[\d+\/\d+\] .{0,80}(?:nvcc|c\+\+)|Dynamo bytecode transform time|Compiling a graph for|(?:Building|Loading) JIT ops|Start(?:ing)? compiling|torch\.compile (?:takes|took|is)/,
);
const LOADING = sign([
  "Starting to load model",
  "Loading safetensors checkpoint shards",
  "Loading weights took",
  "Model loading took",
]);

/** The last that vLLM says of its start; uvicorn goes on, unless its log is off. */
const LISTENS = sign(["init engine (", "Starting vLLM API server", "Starting vLLM server"]);

/** As many compilers at once are safe beside resident weights. */
const SAFE_JOBS = 2;

/**
 * A kill of the kernel. One inside of a container counts for that container alone, and only since
 * it was last started.
 */
function killBy(picture: Picture, ...signs: readonly Sign[]): Sighting | undefined {
  const hit = seen(picture, ...signs);
  const [id, pid] = hit?.log.hits.get(KILLED_IN)?.groups ?? [];
  if (hit === undefined || pid !== hit.groups[0] || picture.containers === undefined) return hit;
  const container = plannedStates(picture).find((each) => each.id === id);
  const at = Date.parse(/^\d{4}-\S+/.exec(hit.line)?.[0].replace(",", ".") ?? "");
  return container === undefined || at < Date.parse(container.startedAt)
    ? undefined
    : { ...hit, log: { ...hit.log, container: container.name } };
}

/** The evidence that compilers were killed, whoever reports it. */
function compiling(picture: Picture): Sighting | undefined {
  const killed = seen(picture, COMPILER_KILLED) ?? killBy(picture, KERNEL_KILLED_COMPILER);
  if (killed !== undefined) return killed;
  const hit = seen(picture, COMPILING);
  if (hit === undefined || cameUpAfter(hit)) return undefined;
  return seen(picture, START_EXITED_137) !== undefined || killedContainer(picture) !== undefined
    ? hit
    : undefined;
}

const killedContainer = (picture: Picture): ContainerState | undefined =>
  plannedStates(picture).find(
    (each) =>
      each.status !== "running" &&
      each.exitCode === EXIT_KILLED &&
      // One that starts on request was perhaps stopped, and took too long to end.
      (each.oomKilled ||
        !isOnRequest(picture, each.name) ||
        picture.logs.some((log) => log.container === each.name && wasKilled(each, log))),
  );

/** What is raised in a process that waits for another one, which is gone. */
const WAITED = "cancelled";

const saysWhy = ({ raised }: LogReading): boolean =>
  raised?.isEnd === true && raised.said !== WAITED;

/** An engine that went away without a word, and that nobody had told to end. */
function wentAway(picture: Picture): Sighting | undefined {
  const worker = seen(picture, WORKER_GONE);
  const hadServed = worker?.afterServing === true || worker?.log.hits.has(READY) === true;
  const gone =
    (hadServed ? worker : undefined) ?? seen(picture, ENGINE_GONE) ?? seen(picture, NEVER_CAME);
  if (gone === undefined || saysWhy(gone.log)) return undefined;
  const stop = gone.log.hits.get(STOPPED);
  const wasStopped = stop !== undefined && stop.firstLineNumber < gone.lineNumber;
  // A log that was cut at its front may have lost the word.
  const isWhole = gone.log.hits.has(STARTED_WITH) || gone.afterServing === true;
  return wasStopped || (gone.line.includes("core proc") && !isWhole) ? undefined : gone;
}

export function stateLine(state: ContainerState): string {
  const oom = state.oomKilled ? ", OOMKilled" : "";
  return `container ${state.name}: ${state.status}, exit code ${state.exitCode}${oom}, ${state.restartCount} restarts`;
}

/** A log that ends in a failure is not a start that takes long. */
const failedAfter = ({ log, lineNumber }: Sighting): boolean =>
  [...log.hits].some(
    ([sign, at]) => at.lineNumber > lineNumber && sign.literals.includes("Traceback"),
  );

const OUTSIDE =
  "Something outside killed the process (signal 9): the kernel for lack of memory, somebody's `docker kill`, a stop that took too long, or a loss of power.";
const WITHOUT_A_WORD =
  "A process of vLLM ended without a word: something outside killed it (SIGKILL: the kernel for lack of memory, or somebody), or native code aborted (SIGABRT, SIGSEGV).";

export const killings: readonly (WeighingRule | Row)[] = [
  {
    id: "killed-for-memory",
    explain(picture) {
      const hit = killBy(picture, KERNEL_KILL, EARLYOOM);
      const victim = hit?.groups[1] || "a process";
      if (hit === undefined || COMPILER_VICTIMS.test(victim)) return undefined;
      return {
        cause: `The machine ran out of memory, so ${victim} was killed.`,
        evidence: hit.line,
        ...lowerShare(picture, serverOf(picture, hit.log)),
      };
    },
  },
  {
    id: "killed",
    explain(picture) {
      if (killBy(picture, KERNEL_KILL, EARLYOOM) !== undefined) return undefined;
      const state = killedContainer(picture);
      const cut = seen(picture, BROKE_OFF);
      const killed = seen(picture, EXITED_137, START_EXITED_137);
      const hit = killed ?? wentAway(picture) ?? cut;
      const line =
        hit &&
        (hit === cut ? `${hit.line}: the start before it broke off without a word` : hit.line);
      const evidence = state === undefined ? line : stateLine(state);
      if (evidence === undefined || (state === undefined && hit?.log.kind === "probes"))
        return undefined;
      const container = state?.name ?? serverOf(picture, hit?.log).container;
      return {
        cause: `${hit === undefined || hit === killed || hit === cut ? OUTSIDE : WITHOUT_A_WORD}${hit === undefined ? "" : againText(picture, hit.log, hit)}`,
        evidence,
        advice:
          "This alone doesn't show which. The kernel's log says whether it was memory: give it to doctor with `--dmesg`.",
        command: `sudo journalctl --dmesg --since -2h | grep -iE 'out of memory|oom|NVRM'; docker inspect --format '{{.State.OOMKilled}} {{.State.FinishedAt}}' ${container}`,
      };
    },
  },
  {
    id: "jit-killed",
    explain(picture) {
      const hit = compiling(picture);
      if (hit === undefined) return undefined;
      const { container, set, settings } = serverOf(picture, hit.log);
      const jobs = settings?.compileJobs ?? SAFE_JOBS + 1;
      const fewer = jobs > SAFE_JOBS ? SAFE_JOBS : 1;
      const running = stateOf(picture, container)?.compileJobs.MAX_JOBS;
      return {
        cause: `Kernel compilers were killed for lack of memory: several ran at once, each with 3 to 8 GiB, beside the resident weights${running === undefined ? "" : ` (MAX_JOBS is ${running})`}.`,
        evidence: hit.line,
        edits: [set(["compileJobs"], fewer)],
        advice: "The volume of kernels keeps what was compiled: start again, don't wipe it.",
      };
    },
  },
  {
    id: "first-boot",
    when: [COMPILING, LOADING],
    say({ picture, hit, server }) {
      const state = stateOf(picture, server.container);
      if (
        // Kernels of the first requests are compiled behind that.
        isUp(hit.log) ||
        hit.log.hits.has(LISTENS) ||
        failedAfter(hit) ||
        endOf(picture, hit.log)?.isEnd === true ||
        slowStart(picture, hit.log) !== undefined ||
        (state !== undefined && state.status !== "running")
      )
        return undefined;
      return {
        cause:
          "The server is loading weights or compiling kernels: a first start normally takes 10 to 15 minutes, and killing it loses them.",
        advice: "No setting to change: do not kill it, wait.",
        command: "serving status --wait",
      };
    },
  },
];
