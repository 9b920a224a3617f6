import { APPLY, type Diagnosis } from "../diagnosis";
import { type Evidence, plannedStates, type Sighting, seen, seenAny, serverOf } from "../evidence";
import { READY, sign, startSign } from "../sign";

/** Programs that the run-time compilation of kernels starts. */
export const COMPILER_VICTIMS =
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
  /Killed process \d+ \(((?:cicc|nvcc|ptxas|cc1plus|cudafe\+\+|ninja|nvlink|fatbinary)[^)]*)\)/,
);
/** A process that the container ended with. */
const EXITED_137 = startSign(
  ["137", "SIGKILL", "signal 9", "-9"],
  /\bExited \(137\)|\bexit(?:ed)?(?: with)?(?: code| status)?:?\s*137\b|exitcode[=:] ?-9/i,
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
const READY_TIMEOUT = startSign(
  ["Timed out waiting for engine"],
  /Timed out waiting for engine(?:s| core processes) to (?:start|send initial message)/,
);

/** What is compiled at once unless it is bounded, and what is safe beside resident weights. */
const SAFE_JOBS = 2;

/** The evidence that compilers were killed, whoever says it. */
export function compiling(evidence: Evidence): Sighting | undefined {
  const killed = seenAny(evidence, COMPILER_KILLED, KERNEL_KILLED_COMPILER);
  if (killed !== undefined) return killed;
  const hit = seen(evidence, COMPILING);
  if (hit === undefined || comesThrough(hit)) return undefined;
  const died = seen(evidence, EXITED_137) !== undefined || deadContainer(evidence) !== undefined;
  return died ? hit : undefined;
}

/** `true` when the server was up after this line. */
function comesThrough(hit: Sighting): boolean {
  const ready = hit.log.hits.get(READY);
  return ready !== undefined && ready.lineNumber > hit.lineNumber;
}

function deadContainer(evidence: Evidence) {
  return plannedStates(evidence).find((each) => each.status !== "running" && each.exitCode === 137);
}

const jitKilled: Diagnosis = {
  id: "jit-killed",
  source:
    'specification, Errors: "Process exit 137 during kernel JIT compile"; flashinfer-ai/flashinfer #3634',
  caughtBy: "the ledger's line `compiling`, where `model.weightsGB` is declared",
  signs: [COMPILER_KILLED, KERNEL_KILLED_COMPILER, EXITED_137, COMPILING],
  judge(evidence) {
    const hit = compiling(evidence);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const overridden = ["MAX_JOBS", "NINJA_JOBS"].filter(
      (name) => server.settings?.environment[name] !== undefined,
    );
    const jobs = server.settings?.compileJobs ?? SAFE_JOBS + 1;
    const fewer = overridden.length > 0 ? jobs : jobs > SAFE_JOBS ? SAFE_JOBS : 1;
    const running = evidence.containers?.find((each) => each.name === server.container)?.compileJobs.MAX_JOBS;
    return {
      cause: `Compilers of kernels were killed for lack of memory: several at once, each with 3 to 8 GiB, beside the resident weights${running === undefined ? "" : ` (MAX_JOBS is ${running})`}.`,
      evidence: hit.line,
      edits: [
        server.set(["compileJobs"], fewer),
        ...overridden.map((name) => server.set(["environment", name], undefined)),
      ],
      advice: "What was compiled survives in the volume of kernels: resume, don't wipe it.",
      command: APPLY,
    };
  },
};

const firstBoot: Diagnosis = {
  id: "first-boot",
  source: 'specification, Errors: "First boot looks hung 10-15 minutes at weight loading, then compiling"',
  caughtBy: false,
  signs: [COMPILING, LOADING, COMPILER_KILLED, EXITED_137, READY_TIMEOUT],
  judge(evidence) {
    const hit = seenAny(evidence, COMPILING, LOADING);
    if (
      hit === undefined ||
      comesThrough(hit) ||
      seenAny(evidence, COMPILER_KILLED, EXITED_137, READY_TIMEOUT)
    )
      return undefined;
    const { container } = serverOf(evidence, hit.log);
    const state = evidence.containers?.find((each) => each.name === container);
    // A log that ends in a failure is not a start that takes long.
    if (failed(hit) || (state !== undefined && state.status !== "running")) return undefined;
    return {
      cause:
        "The server is loading weights or compiling kernels: 10 to 15 minutes at a first start are normal, and killing it loses them.",
      evidence: hit.line,
      advice: "Nothing in the stack file: do not kill it, wait.",
      command: "serving wait",
    };
  },
};

function failed({ log, lineNumber }: Sighting): boolean {
  return [...log.hits.entries()].some(
    ([each, { lineNumber: at }]) => at > lineNumber && each.literals.includes("Traceback"),
  );
}

const readyTimeout: Diagnosis = {
  id: "engine-ready-timeout",
  source: "vllm-project/vllm #48031, PR #35616: VLLM_ENGINE_READY_TIMEOUT_S",
  caughtBy: "the plan, which sets it to an hour unless `environment` says otherwise",
  signs: [READY_TIMEOUT],
  judge(evidence) {
    const hit = seen(evidence, READY_TIMEOUT);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause: "vLLM gave its own engine up while that was still loading or compiling.",
      evidence: hit.line,
      edits: [server.set(["environment", "VLLM_ENGINE_READY_TIMEOUT_S"], undefined)],
      advice: "The plan gives the engine an hour; what was compiled is kept, so the next start is shorter.",
      command: APPLY,
    };
  },
};

export const jit: readonly Diagnosis[] = [jitKilled, firstBoot, readyTimeout];
