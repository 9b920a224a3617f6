import { parseMeminfo } from "../../../components/plan/evidence";
import { containersOf } from "../../containers/readContainers";
import { parseJson } from "../json";
import { fail, type Probe, pass, skip } from "../probe";
import { quote } from "../quote";
import type { MachineTarget } from "../targets";

type MachineProbe = Probe<MachineTarget>;

/** Less than this in GiB and the next allocation of any process makes a unified-memory machine swap and hang. */
const LEAST_AVAILABLE_GIB = 2;

/** Every planned container runs, from the planned image, healthy. */
const containers: MachineProbe = {
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

/** The aggregate rule, measured: it counts only after every server has served a request, so this runs last. */
const memory: MachineProbe = {
  name: "memory",
  about: "MemAvailable after the servers have served, and what each process holds",
  fix: ({ machine }) => `Lower gpuMemoryUtilization of a server of machines.${machine.name}.`,
  run: async ({ machine, host }) => {
    const meminfo = parseMeminfo(await host.meminfo());
    if (meminfo === undefined) return skip("this system has no /proc/meminfo");
    const { availableGiB, totalGiB } = meminfo;
    const held = await residents(machine, host);
    const seen = `${availableGiB.toFixed(1)} of ${totalGiB.toFixed(1)} GiB available${held.length === 0 ? "" : `; resident: ${held.join(", ")}`}`;
    if (availableGiB < LEAST_AVAILABLE_GIB) {
      return fail(
        seen,
        `Too little is left: lower gpuMemoryUtilization of a server of machines.${machine.name}, or of instance A where it is started.`,
      );
    }
    return pass(seen);
  },
};

/** Resident memory of each process of our servers and of instance A, largest first in each. */
async function residents(machine: MachineTarget["machine"], host: MachineTarget["host"]): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of machine.containers) {
    const table = await host.docker(["top", name, "-eo", "pid,rss,comm"]).catch(() => "");
    const kib = table
      .split("\n")
      .slice(1)
      .reduce((sum, line) => sum + (Number(line.trim().split(/\s+/)[1]) || 0), 0);
    if (kib > 0) found.push(`${name} ${(kib / 1024 ** 2).toFixed(1)} GiB`);
  }
  if (machine.hostInstance !== "none") {
    const pid = (await host.listener(machine.hostInstance.port))?.pid;
    const gib = pid === undefined ? undefined : await host.residentGiB(pid);
    if (gib !== undefined) found.push(`instance A ${gib.toFixed(1)} GiB (its listening process)`);
  }
  return found;
}

export const containersProbe = containers;
export const memoryProbe = memory;
