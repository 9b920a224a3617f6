import { join } from "node:path";
import { homeFolder } from "@local-serving/base/faults/home";

/** The harness that reads our files, under the specification's neutral names. */
export interface Harness {
  /** What the harness's environment variables begin with, the underscore included. */
  readonly prefix: string;
  /** The harness's per-user folder; a leading `~` is the user's home. */
  readonly home: string;
}

/** The specification's names; a real harness has its own prefix and home. */
export const DEFAULT_HARNESS: Harness = { prefix: "HX_", home: "~/.hx" };

export const HARNESS_FILES = {
  providers: "providers.toml",
  analytics: "session-analytics.json",
} as const;

/** A prefix is the start of a variable's name. */
export const PREFIX_FORM = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The path of one of the harness's files, with `~` made the user's home. */
export function harnessFile(home: string, name: keyof typeof HARNESS_FILES): string {
  const folder = home === "~" || home.startsWith("~/") ? join(homeFolder(), home.slice(1)) : home;
  return join(folder, HARNESS_FILES[name]);
}
