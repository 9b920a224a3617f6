import {
  CLEAR_LINE,
  forTerminal,
  type ProgressStream,
} from "@local-serving/base/commandLine/output";
import { duration } from "@local-serving/base/units/duration";
import { gb } from "@local-serving/base/units/memory";
import type { Needs } from "../../components/preflight/fetch";

/** What a machine lacks of its plan: an image, a model or a program. */
export type ToFetch = Omit<Needs["images"][number], "layers">;

const LINE_SECONDS = 10;

/** The tool writes 10 MB at a time: before, nothing can be said of the rate. */
const LEAST_BYTES = 10e6;

/** How far something is: what came, how fast, and how long the rest takes at that rate. */
export function downloadLine(
  { name, bytes: total }: ToFetch,
  came: number,
  seconds: number,
): string {
  const rate = came / Math.max(seconds, 1);
  const of = total === undefined ? "" : ` of ${gb(total)}`;
  const left =
    total === undefined || came < LEAST_BYTES
      ? ""
      : `, ${duration(Math.max(0, total - came) / rate)} left`;
  return `${name}: ${gb(came)}${of}, ${gb(rate)}/s${left}`;
}

/**
 * On a terminal one line that changes; elsewhere a line every few seconds. The function that it
 * returns ends it.
 */
export function showProgress(stream: ProgressStream, of: ToFetch, came: () => Promise<number>) {
  const started = performance.now();
  const terminal = stream.isTTY === true;
  let shown = Promise.resolve();
  const show = async (end = "") => {
    const line = forTerminal(downloadLine(of, await came(), (performance.now() - started) / 1000));
    stream.write(
      terminal ? `${CLEAR_LINE}${line.slice(0, (stream.columns ?? 80) - 1)}${end}` : `${line}\n`,
    );
  };
  // The next look begins once the last one has its answer.
  let timer: NodeJS.Timeout | undefined;
  const go = () => {
    shown = show().then(() => {
      timer = setTimeout(go, terminal ? 1000 : LINE_SECONDS * 1000);
    });
  };
  go();
  return async (isWhole: boolean) => {
    await shown;
    clearTimeout(timer);
    await show("\n");
    if (isWhole) stream.write(`${forTerminal(`${of.name}: is here`)}\n`);
  };
}
