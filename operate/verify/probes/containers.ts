import { Failed } from "../../../commandLine/exit";
import { containersOf } from "../../containers/readContainers";
import type { Host } from "../host";
import { parseJson } from "../json";
import { fail, type Probe, pass, skip } from "../probe";
import { quote } from "../quote";
import type { MachineTarget } from "../targets";

/** Every planned container runs, from the planned image, healthy. */
export const containersProbe: Probe<MachineTarget> = {
  name: "containers",
  about: "every planned container runs from its planned image",
  fix: () => "npm run up brings the machine to the plan.",
  run: async ({ machine, host }) => {
    if (machine.containers.length === 0) return skip("the plan has no container");
    const faults: string[] = [];
    for (const { name, image } of machine.containers) {
      const text = await inspect(host, name);
      if (text instanceof Failed) {
        return fail(
          text.message,
          `Docker does not answer: start its engine, or see \`dockerHost\` of machines.${machine.name}.`,
        );
      }
      const [found] = containersOf(parseJson(text));
      if (found === undefined) {
        faults.push(`${name} is not there`);
        continue;
      }
      if (found.status !== "running") faults.push(`${name} is ${quote(found.status)}`);
      else if (found.health === "unhealthy") faults.push(`${name} is unhealthy`);
      if (found.image !== image) faults.push(`${name} runs from ${quote(found.image)}, planned is ${image}`);
    }
    return faults.length === 0
      ? pass(machine.containers.map(({ name }) => name).join(", "))
      : fail(
          faults.join("; "),
          "npm run up brings the machine to the plan; serving doctor says why one stopped.",
        );
  },
};

/** What docker says of a container, "" where there is none, and docker's failure where it can't tell. */
async function inspect({ docker }: Host, name: string): Promise<string | Failed> {
  try {
    return await docker(["inspect", "--type", "container", name]);
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return /No such (?:object|container)/i.test(error.message) ? "" : error;
  }
}
