/** Signals by which a person or a system ends a command. */
export const ENDING_SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Runs work that must end in order: on Ctrl-C or TERM `signal` aborts, the work stops what it has
 * started, and only then does this process end by that same signal, so that a shell sees what ended
 * it. A second signal changes nothing.
 */
export async function endingInOrder<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (name: NodeJS.Signals) => controller.abort(name);
  for (const name of ENDING_SIGNALS) process.on(name, abort);
  let result: Result;
  try {
    result = await work(controller.signal);
  } finally {
    for (const name of ENDING_SIGNALS) process.off(name, abort);
    if (controller.signal.aborted) process.kill(process.pid, String(controller.signal.reason));
  }
  return result;
}

/** Why something ended early, in words. */
export const interruption = (interrupt: AbortSignal): string =>
  `interrupted (${String(interrupt.reason)})`;

/** Waits, or returns early when interrupted. */
export const pause = (milliseconds: number, interrupt: AbortSignal): Promise<unknown> =>
  untilInterrupted(new Promise((resolve) => setTimeout(resolve, milliseconds)), interrupt);

/** A promise's value, or `undefined` when an interrupt comes first. */
export function untilInterrupted<Value>(
  promise: Promise<Value>,
  interrupt: AbortSignal,
): Promise<Value | undefined> {
  if (interrupt.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onInterrupt = () => resolve(undefined);
    interrupt.addEventListener("abort", onInterrupt, { once: true });
    promise
      .then(resolve, reject)
      .finally(() => interrupt.removeEventListener("abort", onInterrupt));
  });
}
