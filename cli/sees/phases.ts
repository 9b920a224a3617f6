import { defined } from "@local-serving/base/faults/defined";
import { gibOrMib } from "@local-serving/base/units/memory";
import { GATE_OPENS, GATE_SAYS } from "./gateLines";

/** Where a start is, in order: first Docker's part, then vLLM's. */
const PHASES = [
  "waiting for the image",
  "waiting for the container",
  "container not started",
  "start gate",
  "gate closed",
  "starting",
  "loading weights",
  "compiling",
  "capturing graphs",
  "ready",
] as const;
export type Phase = (typeof PHASES)[number];

/** What the log says of a start so far. */
export interface StartProgress {
  readonly phase: Phase;
  /** Share of the phase that is done, 0 to 1, only where the log says it. */
  readonly share?: number;
  /** Figures of the phase for a person, e.g. `2 of 5 shards`. */
  readonly note?: string;
}

export const START: StartProgress = { phase: "starting" };

/**
 * Before there is a container. A pull by somebody else shows only if its layers can be seen
 * arriving.
 */
export function beforeContainer(imageIsThere: boolean, downloadedBytes: number): StartProgress {
  if (imageIsThere) {
    return {
      phase: "waiting for the container",
      note: "its image is here; `serving up` creates the container, after what it depends on",
    };
  }
  return {
    phase: "waiting for the image",
    note:
      downloadedBytes > 0
        ? `not here yet; Docker is downloading, ${gibOrMib(downloadedBytes)} of layers are not unpacked yet`
        : "not here yet: it is being pulled, or `serving up` has not begun",
  };
}

interface Rule {
  readonly phase: Phase;
  /** Its group `share` is the share that is done, in percent. */
  readonly pattern: RegExp;
  readonly note?: (groups: readonly string[]) => string;
}

/**
 * What a line of the log means for the start, in the words of vLLM 0.30.0's source; the first rule
 * that fits counts.
 */
const RULES: readonly Rule[] = [
  {
    phase: "loading weights",
    pattern: /[Ll]oading \S+ checkpoint shards: +(?<share>\d+)% Completed \| (\d+)\/(\d+)/,
    note: ([, , done, all]) => `${done} of ${all} shards`,
  },
  {
    phase: "loading weights",
    pattern: /Fetching (\d+) files: +(?<share>\d+)%/,
    note: ([, files]) => `${files} files of the model are fetched first`,
  },
  {
    phase: "compiling",
    pattern: /Model loading took ([\d.]+) GiB(?: memory)? and ([\d.]+) seconds/,
    note: ([, gib, seconds]) =>
      `${gib} GiB of weights were loaded in ${Math.round(Number(seconds))} s`,
  },
  { phase: "capturing graphs", pattern: /Capturing CUDA graphs?[^:]*: +(?<share>\d+)%/ },
  { phase: "capturing graphs", pattern: /Capturing CUDA graph/ },
  {
    // Kernels are still compiled behind this line; the capture says itself when it begins.
    phase: "compiling",
    pattern: /Available KV cache memory: (-?[\d.]+) GiB/,
    note: ([, gib]) => `${gib} GiB are left for the KV cache`,
  },
  { phase: "loading weights", pattern: /Starting to load model|Loading safetensors/ },
  {
    phase: "compiling",
    pattern:
      /(?<!disabling )torch\.compile|Dynamo bytecode|Compiling a graph|compiled graph|AOT compilation|ninja|nvcc|Autotun/,
  },
];

/** What the start gate says of it: a server that memory ran out for goes back there. */
function atTheGate(line: string): StartProgress | undefined {
  if (GATE_OPENS.test(line)) return START;
  const note = GATE_SAYS.exec(line)?.[1];
  return note === undefined
    ? undefined
    : { phase: note.startsWith("closed") ? "gate closed" : "start gate", note };
}

/**
 * The progress behind one more line of the log. Within a start late lines of an earlier phase are
 * ignored.
 */
export function afterLine(before: StartProgress, line: string): StartProgress {
  const gate = atTheGate(line);
  if (gate !== undefined) return gate;
  for (const { phase, pattern, note } of RULES) {
    const match = pattern.exec(line);
    if (match === null) continue;
    if (PHASES.indexOf(phase) < PHASES.indexOf(before.phase)) return before;
    const percent = match.groups?.share;
    const share = percent === undefined ? undefined : Math.min(1, Number(percent) / 100);
    const next = { phase, ...defined({ share, note: note?.(match) }) };
    // Figures stay until there are newer ones of the same phase.
    return next.phase === before.phase ? { ...before, ...next } : next;
  }
  return before;
}
