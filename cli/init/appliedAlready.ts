import { basename } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { parseStackFile } from "../../components/settings";
import { stateIsEmpty } from "../engine/backend";
import type { HostFacts } from "../sees/computer/facts";
import { stackNames, stackPath } from "../stack/stackFile";
import { machineName } from "./settings";

/** A stack file that is about to be written. */
interface Writing {
  /** Name of its stack. */
  readonly name: string;
  readonly folder: string;
  /** Stack files that `serving verify` was run for, by the name of a machine in them. */
  readonly verified: (machine: string) => readonly string[];
}

/**
 * What to mend first where the machine runs another stack than the one that is written: a sentence
 * for each machine name under which one is applied.
 */
export function appliedAlready(facts: HostFacts, { name, folder, verified }: Writing): string[] {
  const { docker, applied = [], host } = facts;
  const running = docker.reachable ? docker.ours.map(({ machine }) => machine) : [];
  const own = stateIsEmpty(folder, name, process.env) ? undefined : machineName({ name });
  const others = [...new Set([...running, ...applied])].filter((machine) => machine !== own);
  const file = `Pulumi.${name}.yaml`;
  return others.map((machine) => {
    const here = stacksOf(machine, folder).filter((stack) => stack !== name);
    const [stack] = here;
    if (stack !== undefined)
      return `Pulumi.${stack}.yaml is applied on ${host}, where it is the machine \`${machine}\`. Edit that file and remove ${file}, or run \`serving down --stack ${stack}\` before \`serving up\`.`;
    const [known] = verified(machine).filter((each) => each !== stackPath({ stack: name }, folder));
    const whose =
      known === undefined
        ? "Its stack file is in another folder"
        : `Its stack file is probably ${known}, for which \`serving verify\` was run`;
    return `A stack is applied on ${host} that calls it \`${machine}\`. ${whose}. Edit that file and remove ${file}, or run \`serving down\` in its folder before \`serving up\` here.`;
  });
}

/** The stacks of a project that declare a machine. */
const stacksOf = (machine: string, folder: string): string[] =>
  stackNames(folder).filter((stack) => {
    const path = stackPath({ stack }, folder);
    const settings = attempt(() => parseStackFile(basename(path), readTextFile(path)));
    return settings !== undefined && Object.hasOwn(settings.machines, machine);
  });
