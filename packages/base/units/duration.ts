/** `3 min 10 s`. */
export function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** One part of a duration, as Docker, compose and systemd write units. */
const PART = /(\d+(?:\.\d+)?)\s*(ms|msec|s|sec|seconds?|m|min|minutes?|h|hr|hours?)(?![a-z])\s*/gi;

/** The whole seconds of a written duration (`90`, `2m`, `1min 30s`), rounded up; `undefined` for any other text. */
export function durationSeconds(text: string): number | undefined {
  const seconds = /^\s*\d+\s*$/.test(text) ? Number(text) : secondsWithUnits(text);
  return seconds === undefined ? undefined : Math.ceil(seconds);
}

/** The seconds of a duration whose every number has its unit; `undefined` for any other text. */
export function secondsWithUnits(text: string): number | undefined {
  const plain = text.trim();
  let [seconds, read] = [0, 0];
  for (const [whole, number = "", unit = ""] of plain.matchAll(PART)) {
    const name = unit.toLowerCase();
    seconds += Number(number) * (SECONDS[name.startsWith("ms") ? "ms" : name.charAt(0)] ?? 0);
    read += whole.length;
  }
  return read > 0 && read === plain.length ? seconds : undefined;
}
