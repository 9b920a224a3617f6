import type { StartVerdict } from "../program/machine";

/** What is said of a server of which it isn't sure that it starts. */
export function doubtText(
  start: StartVerdict | null | undefined,
): "may not start" | "can't start" | undefined {
  if (start === "cannot start") return "can't start";
  return start === "may start" ? "may not start" : undefined;
}
