import { posix } from "node:path";
import { errorAt, type Fault } from "../../faults/fault";
import { engineOf, isHere } from "../planned/reach";
import type { MachinePlan } from "./types";

/** Files that have one path on one computer: the later would replace the earlier without a word. */
export function writtenTwice(machines: readonly MachinePlan[]): Fault[] {
  const first = new Map<string, string>();
  const faults: Fault[] = [];
  for (const machine of machines) {
    const computer = isHere(machine) ? "" : engineOf(machine);
    for (const { path, role } of [...machine.files, ...machine.secretFiles]) {
      const place = `${computer}:${posix.normalize(path)}`;
      const writer = `${role} of ${machine.name}`;
      const earlier = first.get(place);
      const message = `${writer} and ${earlier} would both be written to ${path}: leave one out, or change its folder.`;
      if (earlier === undefined) first.set(place, writer);
      else faults.push(errorAt(`machines.${machine.name}`, "repeated_path", message));
    }
  }
  return faults;
}
