import { relative } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { orInputFault } from "@local-serving/base/faults/fault";
import { counted } from "@local-serving/base/faults/quoting";
import type { MachinePlan } from "../../components/plan";
import { sayCopiesLeft } from "../copies/copiesLeft";
import { checkpointOf, ownStateFolder } from "../engine/backend";
import { type Leftover, leftovers } from "../inventory/leftovers";
import { readStack } from "../stack/readStack";
import {
  pageFromProject,
  projectFolder,
  type StackFileOptions,
  stackFile,
  stackName,
} from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { keepRecord } from "./keepRecord";

/** Says what `down` leaves, and removes the record of updates: nothing is applied that it speaks of. */
export async function afterDown(options: StackFileOptions): Promise<void> {
  const folder = ownStateFolder(projectFolder(), process.env);
  const isKept = checkpointOf(projectFolder(), stackName(options)) !== "";
  if (folder !== undefined && isKept) say(stateText(relative(process.cwd(), folder)));
  // `down` works without a stack file that can be planned.
  const planned = orInputFault(() => readStack(stackFile(options)).plan);
  if (planned instanceof Error) return;
  const { machines } = planned;
  await sayCopiesLeft(machines);
  const [keeper] = machines;
  if (keeper === undefined) return;
  await keepRecord(keeper, {}).catch((error: unknown) => {
    if (error instanceof Failed) return say(error.message);
    throw error;
  });
  for (const line of await keptLines(machines)) say(forStack(line, options));
}

/** Contradicts the engine, whose last words after `down` are to run `pulumi stack rm`. */
export const stateText = (folder: string): string =>
  `Don't run \`pulumi stack rm\`: a bare \`pulumi\` looks for the stack in another place. Its state stays in ${folder} for the next \`serving up\`.`;

/** What is kept on each machine, and the command that lists it. */
async function keptLines(machines: readonly MachinePlan[]): Promise<string[]> {
  const all: string[] = [];
  for (const [index, machine] of machines.entries()) {
    const found = await leftovers(machine).catch((error: unknown) => {
      if (error instanceof Failed) return undefined;
      throw error;
    });
    // A machine that can't be asked may have anything.
    all.push(...(found === undefined ? [] : [leftoversText(machine.name, found)]));
    if (found?.length !== 0) all.push(listText(index === 0 ? "" : ` --machine ${machine.name}`));
  }
  return [...all, `To remove the program too: ${pageFromProject("docs/guide/uninstall.md")}.`];
}

const listText = (machine: string): string =>
  `\`serving status --leftovers${machine}\` lists what is left, each with the command that removes it.`;

/** How what is left of a kind is said. */
const KINDS: readonly (readonly [kind: string, said: (found: readonly Leftover[]) => string])[] = [
  ["container", (found) => counted(found.length, "container")],
  ["volume", (found) => found.map(({ name, what }) => `the volume ${name} (${what})`).join(", ")],
  ["network", (found) => counted(found.length, "network")],
  ["image", (found) => counted(found.length, "image")],
  ["model", (found) => `${counted(found.length, "model")} in the cache`],
  ["file", (found) => counted(found.length, "file")],
  ["state", () => "our state"],
  ["copies", (found) => found.map(({ what }) => what).join(", ")],
];

/** What is kept on a machine after `down`, in a sentence. */
export function leftoversText(machine: string, found: readonly Leftover[]): string {
  const said = KINDS.flatMap(([kind, text]) => {
    const ofKind = found.filter((each) => each.kind === kind);
    return ofKind.length === 0 ? [] : [text(ofKind)];
  });
  return said.length === 0
    ? `Nothing is left on ${machine} that isn't in use.`
    : `Kept on ${machine}: ${said.join(", ")}.`;
}
