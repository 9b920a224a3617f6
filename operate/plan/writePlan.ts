import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { explainWriting } from "../../commandLine/exit";
import type { Plan } from "../../components/plan/types";
import { replaceFile } from "../../harness/files/replaceFile";
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

/** Mode of a new file: these are for reading and hold no secret. */
const MODE = 0o644;

function write(path: string, text: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, text, { newFileMode: MODE });
  } catch (error) {
    explainWriting(path, error);
  }
  return path;
}
