import { dotted, type Fault } from "../../faults/fault";
import type { SourceDocument } from "../../faults/yamlDocument";
import { engineOf } from "../planned/reach";
import { BYTES_PER_GIB } from "../planned/serverMemory";
import { extraArgumentFault } from "./extraArguments";
import { harnessFaults } from "./harnessFaults";
import { poolingFaults } from "./poolingFaults";
import { referenceFaults } from "./referenceFaults";
import type { StackSettings } from "./stackSettings";

/** Faults that need more than one value to be seen: what can't be understood, not what is merely unwise. */
export function crossFaults(settings: StackSettings, document?: SourceDocument): Fault[] {
  const faults: Fault[] = [];
  const fault = (path: PropertyKey[], code: string, message: string) =>
    faults.push({ path: dotted(path), code, message, severity: "error", ...document?.locate(path) });
  const engines = new Map<string, string>();
  for (const [machineName, machine] of Object.entries(settings.machines)) {
    const engine = engineOf(machine);
    const first = engines.get(engine);
    if (first === undefined) engines.set(engine, machineName);
    else
      fault(
        ["machines", machineName, "dockerHost"],
        "repeated_engine",
        `${machineName} and ${first} are on one Docker engine (${machine.dockerHost}), so they are one machine with one memory: put their servers below one of them, or give each its own \`dockerHost\`.`,
      );
    for (const { path, code, message } of [...referenceFaults(machine), ...poolingFaults(machine)])
      fault(["machines", machineName, ...path], code, message);
    for (const { path, message } of harnessFaults(machine))
      fault(["machines", machineName, ...path], "impossible_value", message);
    for (const [name, server] of Object.entries(machine.inferenceServers)) {
      const at = ["machines", machineName, "inferenceServers", name];
      for (const [index, argument] of server.extraArgs.entries()) {
        const reason = extraArgumentFault(argument);
        if (reason !== undefined) fault([...at, "extraArgs", index], "repeated_flag", reason);
      }
      const doubled = server.aliases?.indexOf(server.servedModelName) ?? -1;
      if (doubled >= 0) {
        fault(
          [...at, "aliases", doubled],
          "impossible_value",
          "This is the served model name itself, not an alias.",
        );
      }
      if (server.tensorParallelSize > machine.gpus) {
        fault(
          [...at, "tensorParallelSize"],
          "impossible_value",
          `\`tensorParallelSize: ${server.tensorParallelSize}\` needs as many GPUs, and ${machineName} has ${machine.gpus} (\`gpus\`): write \`tensorParallelSize: ${machine.gpus}\`.`,
        );
      }
      if (server.kvCacheMemoryBytes !== undefined) {
        const budget = server.gpuMemoryUtilization * machine.totalGiB * BYTES_PER_GIB;
        if (server.kvCacheMemoryBytes >= budget) {
          fault(
            [...at, "kvCacheMemoryBytes"],
            "impossible_value",
            `The KV cache alone would take the whole budget of ${(budget / BYTES_PER_GIB).toFixed(2)} GiB (utilization ${server.gpuMemoryUtilization} of ${machine.totalGiB} GiB).`,
          );
        }
      }
    }
  }
  return faults;
}
