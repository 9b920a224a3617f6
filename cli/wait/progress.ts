import {
  CLEAR_LINE,
  forTerminal,
  type ProgressStream,
} from "@local-serving/base/commandLine/output";
import { duration } from "@local-serving/base/units/duration";
import type { Phase, StartProgress } from "../sees/phases";

/** What a person should know of a phase. */
const PHASE_ADVICE: Readonly<Partial<Record<Phase, string>>> = {
  "waiting for the image":
    "Docker shows a pull only to whoever started it: see the terminal of `serving up`",
  "loading weights": "some minutes from a warm disk; a first start downloads the model first",
  compiling:
    "10 to 15 minutes are normal at a first start, without a new line in the log: do not kill it",
};

const CREATES_IT = "Next: see what `serving up` says; it creates the container and starts it.";

const NEXT: Readonly<Partial<Record<Phase, string>>> = {
  "waiting for the image":
    "Next: see how far `serving up` is, or start it. Pulling an image of this size takes a while (--timeout).",
  "waiting for the container": CREATES_IT,
  "container not started": CREATES_IT,
};

/** What to do next after a wait that ended in this phase. */
export function afterTimeout(phase: Phase): string {
  const otherwise =
    "Next: see its log. A first start may take longer than this wait (--timeout) and is best left alone.";
  return NEXT[phase] ?? otherwise;
}

const BAR_CELLS = 20;

/** Seconds between two lines where no terminal shows that the wait goes on. */
const LINE_SECONDS = 60;

/** One line of progress. The bar appears only if the log gives a share: nothing is estimated. */
export function progressLine({ phase, share, note }: StartProgress, seconds: number): string {
  const filled = Math.round((share ?? 0) * BAR_CELLS);
  const bar =
    share === undefined
      ? ""
      : ` [${"#".repeat(filled)}${".".repeat(BAR_CELLS - filled)}] ${Math.round(share * 100)} %`;
  const advice = PHASE_ADVICE[phase];
  return `${duration(seconds)}: ${phase}${bar}${note === undefined ? "" : `, ${note}`}${advice === undefined ? "" : ` (${advice})`}`;
}

/**
 * On a terminal one line that changes, which those that are waited for together share; elsewhere a
 * line for each phase, each tenth of it, and each minute.
 */
export function waitProgress(
  stream: ProgressStream,
  container: string,
  lines = new Map([[container, ""]]),
) {
  let shown = { step: "", seconds: 0 };
  return (progress: StartProgress, seconds: number): void => {
    const line = forTerminal(`${container}: ${progressLine(progress, seconds)}`);
    if (stream.isTTY === true) {
      lines.set(container, line);
      const width = Math.floor((stream.columns ?? 80) / lines.size) - 1;
      stream.write(
        `${CLEAR_LINE}${[...lines.values()].map((each) => each.slice(0, width)).join("|")}`,
      );
      if (progress.phase === "ready") stream.write("\n");
      return;
    }
    // Figures that only grow are worth a line a minute.
    const said =
      progress.share === undefined ? (progress.note ?? "").replaceAll(/[\d.]+/g, "#") : "";
    const step = `${progress.phase} ${Math.floor((progress.share ?? 0) * 10)} ${said}`;
    if (step === shown.step && seconds - shown.seconds < LINE_SECONDS) return;
    shown = { step, seconds };
    stream.write(`${line}\n`);
  };
}
