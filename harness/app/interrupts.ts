/** Why something ended early, in words. */
export function interruption(interrupt: AbortSignal): string {
  return `interrupted (${String(interrupt.reason)})`;
}

/** Waits, but not beyond an interrupt. */
export function pause(milliseconds: number, interrupt: AbortSignal): Promise<unknown> {
  return untilInterrupted(new Promise((resolve) => setTimeout(resolve, milliseconds)), interrupt);
}

/** What a promise comes to, or `undefined` when an interrupt comes first. */
export function untilInterrupted<Value>(
  promise: Promise<Value>,
  interrupt: AbortSignal,
): Promise<Value | undefined> {
  if (interrupt.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onInterrupt = () => resolve(undefined);
    interrupt.addEventListener("abort", onInterrupt, { once: true });
    promise.then(resolve, reject).finally(() => interrupt.removeEventListener("abort", onInterrupt));
  });
}
