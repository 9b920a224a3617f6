import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plan } from "../../components/plan/types";
import { dockerRun } from "./dockerRun";

/** Writes every rendered file to DIR/<machine>/<role>, and each container as `docker run`. Returns what was written. */
export function writePlan(plan: Plan, folder: string): string[] {
  return plan.machines.flatMap((machine) => [
    ...machine.files.map((file) => write(join(folder, machine.name, file.role), file.text)),
    ...machine.containers.map((container) =>
      write(join(folder, machine.name, `${container.name}.docker-run.sh`), `${dockerRun(container)}\n`),
    ),
  ]);
}

/** A reader never meets half a file: it is written beside its place and moved there. */
function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.tmp`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, path);
  return path;
}
