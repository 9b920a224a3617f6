import { basename } from "node:path";
import type { MachinePlan } from "../../components/plan";
import type { PlannedFile } from "../../components/planned";
import { asKey } from "../stack/named";
import { fileText } from "./planText";

/** What of a plan has files and no container: each client, the harness, monitoring. */
export const fileGroups = (machines: readonly MachinePlan[]): string[] => [
  ...new Set(
    machines.flatMap((machine) =>
      machine.files.flatMap((file) => (isOfServer(machine, file) ? [] : groupOf(machine, file))),
    ),
  ),
];

/**
 * The files that a person means by what they are of (`harness`, `clientEnv`), their role or their
 * own name, with or without `MACHINE.` before it; `undefined` where there are none.
 */
export function filesText(machines: readonly MachinePlan[], name: string): string | undefined {
  const lines = machines.flatMap((machine) =>
    machine.files
      .filter((file) => namesOf(machine, file).some((each) => isName(each, name, machine)))
      .flatMap((file) => fileText(machine, file)),
  );
  return lines.length === 0 ? undefined : lines.join("\n").trim();
}

function isName(each: string, name: string, machine: MachinePlan): boolean {
  const plain = name.startsWith(`${machine.name}.`) ? name.slice(machine.name.length + 1) : name;
  return each === plain || each === asKey(plain);
}

const namesOf = (machine: MachinePlan, file: PlannedFile): string[] => [
  ...(isOfServer(machine, file) ? [] : [groupOf(machine, file)]),
  file.role,
  basename(file.path),
];

const groupOf = ({ name }: MachinePlan, { partOf }: PlannedFile): string =>
  partOf.slice(name.length + 1).replace(/-files$/, "");

/** Whether a file belongs to what has a name of its own: a server, a service, or the machine. */
const isOfServer = (machine: MachinePlan, { partOf }: PlannedFile): boolean =>
  partOf === machine.name || machine.services.some(({ resource }) => resource === partOf);
