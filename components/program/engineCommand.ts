import { readFileSync } from "node:fs";
import { attempt } from "@local-serving/base/faults/defined";
import { baseName } from "@local-serving/vllm/argv/unknown";

/**
 * Words of the engine's command line by which it shows no preview before an update. Of short options
 * only those without a value may stand in front of another.
 */
export const SKIPS_PREVIEW = /^(?:--skip-preview(?:=.*)?|-[defjrvyQ]*f.*)$/;

/** Whether a command line is one of the engine's that shows a preview before it updates. */
export const showsPreview = ([program = "", ...words]: readonly string[]): boolean =>
  baseName(program) === "pulumi" &&
  words.some((word) => word === "up" || word === "update") &&
  !words.some((word) => SKIPS_PREVIEW.test(word));

/**
 * The command line of the engine that runs this program: it starts the language host, and that the
 * program. Empty where Linux doesn't tell, and for a program that starts the engine itself.
 */
export function engineCommand(host = process.ppid, proc = "/proc"): readonly string[] {
  const status = attempt(() => readFileSync(`${proc}/${host}/status`, "utf8")) ?? "";
  const [, engine = ""] = /^PPid:\s*(\d+)$/m.exec(status) ?? [];
  const words = attempt(() => readFileSync(`${proc}/${engine}/cmdline`, "utf8")) ?? "";
  return words.split("\0").slice(0, -1);
}
