import { Failed } from "../../../commandLine/exit";
import { type ContainerState, containersOf } from "../../containers/readContainers";
import type { Host } from "../host";
import { jsonIn } from "../json";
import { fail, pass, skip } from "../probe";
import { quote } from "../quote";
import type { ProbesOf } from "../target";

/** A container by Docker; `undefined` if there is none. Throws `Failed` if Docker can't tell. */
export async function inspect({ docker }: Host, name: string): Promise<ContainerState | undefined> {
  try {
    return containersOf(jsonIn(await docker(["inspect", "--type", "container", name])))[0];
  } catch (error) {
    if (error instanceof Failed && /No such (?:object|container)/i.test(error.message)) return undefined;
    throw error;
  }
}

/** Every planned container runs, from the planned image, healthy. */
export const containerProbes: ProbesOf<"machine"> = [
  {
    name: "containers",
    about: "every planned container runs from its planned image",
    fix: ({ machine }) =>
      `Docker does not answer: start its engine, or see \`dockerHost\` of machines.${machine.name}.`,
    run: async ({ machine, host }) => {
      if (machine.containers.length === 0) return skip("the plan has no container");
      const faults: string[] = [];
      for (const { name, image } of machine.containers) {
        const found = await inspect(host, name);
        if (found === undefined) {
          faults.push(`${name} is not there`);
          continue;
        }
        if (found.status !== "running") faults.push(`${name} is ${quote(found.status)}`);
        else if (found.health === "unhealthy") faults.push(`${name} is unhealthy`);
        if (found.image !== image)
          faults.push(`${name} runs from ${quote(found.image)}, planned is ${image}`);
      }
      if (faults.length === 0) return pass(machine.containers.map(({ name }) => name).join(", "));
      return fail(
        faults.join("; "),
        "npm run up brings the machine to the plan; serving doctor says why one stopped.",
      );
    },
  },
];
