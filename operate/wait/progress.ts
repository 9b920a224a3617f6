import { PHASE_ADVICE, type StartProgress } from "./phases";

const CLEAR_LINE = "\r\u001b[2K";
const BAR_CELLS = 20;

/** Seconds between two lines where no terminal shows that the wait goes on. */
const LINE_SECONDS = 60;

export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** `3 min 10 s`. */
export function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

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

/** On a terminal one line that changes; elsewhere a line for each phase, each tenth of it, and each minute. */
export function waitProgress(stream: ProgressStream, container: string) {
  let shown = { step: "", seconds: 0 };
  return (progress: StartProgress, seconds: number): void => {
    const line = `${container}: ${progressLine(progress, seconds)}`;
    if (stream.isTTY === true) {
      stream.write(`${CLEAR_LINE}${line.slice(0, (stream.columns ?? 80) - 1)}`);
      if (progress.phase === "ready") stream.write("\n");
      return;
    }
    // Figures that only grow are worth a line a minute.
    const said = progress.share === undefined ? (progress.note ?? "").replaceAll(/[\d.]+/g, "#") : "";
    const step = `${progress.phase} ${Math.floor((progress.share ?? 0) * 10)} ${said}`;
    if (step === shown.step && seconds - shown.seconds < LINE_SECONDS) return;
    shown = { step, seconds };
    stream.write(`${line}\n`);
  };
}
