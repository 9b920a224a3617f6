import { homedir } from "node:os";
import { log, runtime } from "@pulumi/pulumi";
import { declaredResources } from "./components/machine/declaredResources";
import { Machine } from "./components/machine/machine";
import { stackOutputs } from "./components/machine/stackOutputs";
import { plan } from "./components/plan/plan";
import { gate } from "./components/preflight/gate";
import { plainError } from "./components/preflight/plainError";
import { preflight } from "./components/preflight/preflight";
import { previewHost } from "./components/preflight/previewHost";
import { parseEngineConfig } from "./components/settings/load";
import { FaultyInput } from "./faults/fault";
import { judge } from "./policies/judge";
import { utilizationOf } from "./policies/lib/argvUtilization";

export = async () => {
  const planned = plan(readSettings(), { home: homedir() });
  for (const warning of planned.warnings) log.warn(`${warning.machine}: ${warning.message}`);

  const onMachine = runtime.isDryRun() ? [] : await preflight(planned, utilizationOf);
  gate([...judge(declaredResources(planned)), ...onMachine]);

  for (const machine of planned.machines) {
    const { host, reason } = runtime.isDryRun() ? await previewHost(machine) : { host: machine.dockerHost };
    if (reason !== undefined) log.warn(`${machine.name}: previewed without a Docker engine (${reason}).`);
    new Machine({ machine, dockerHost: host });
  }
  return stackOutputs(planned);
};

function readSettings() {
  try {
    return parseEngineConfig(runtime.allConfig());
  } catch (error) {
    // A fault in the stack file is the writer's to mend: all of them, without a stack trace.
    throw error instanceof FaultyInput ? plainError(error.message) : error;
  }
}
