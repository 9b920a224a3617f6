import { existsSync } from "node:fs";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { DEVICES } from "@local-serving/machines/devices/devices";
import { recognised } from "../init/choose";
import { type HostFacts, hostFacts } from "../sees/computer/facts";

/** Every size of a device by its name: machines on which nothing else runs. */
const SIZES = DEVICES.flatMap(({ id, sizes = [] }) => sizes.map((size) => ({ id, size })));

/** The names that a machine may be asked for by. */
export const MACHINE_NAMES = SIZES.map(({ size }) => size.name);

/**
 * What is known of a machine: one of a size that runs nothing else, or what `serving init --facts`
 * printed. Throws `WrongUse` for a name that is neither, and what reading a file throws.
 */
export function factsOfMachine(named: string): HostFacts {
  const known = SIZES.find(({ size }) => size.name === named);
  if (known !== undefined) return bare(known);
  if (existsSync(named)) return recognised(valueBy(hostFacts, named, readJsonFile(named)));
  throw new WrongUse(
    `--machine ${named}: there is no such machine and no such file. Write one of ${MACHINE_NAMES.join(", ")}, or a file with what \`serving init --facts\` prints.`,
  );
}

function bare({ id, size: { name, toGiB, date } }: (typeof SIZES)[number]): HostFacts {
  return {
    readAt: `${date}T00:00:00Z`,
    host: name,
    kernel: "not read",
    kernelArguments: [],
    gpus: [],
    device: id,
    memory: { totalGiB: toGiB, availableGiB: toGiB },
    docker: { reachable: false, reason: "not asked" },
    servers: [],
    ports: [],
    modelCache: { path: "~/.cache/huggingface", usual: true, models: [] },
    clients: [],
  };
}
