import { containersOf } from "../../containers/readContainers";
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
      const text = await host.docker(["inspect", "--type", "container", name]).catch(() => "");
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
