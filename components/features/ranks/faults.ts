import { listOf } from "@local-serving/base/faults/quoting";
import { RANK_VARIABLES } from "../../planned";
import type { FeatureFault } from "../kind";
import type { MachineKeys, ServerKeys } from "./keys";

/** What is read of a server's settings. */
interface ServerSettings extends ServerKeys {
  readonly listen: string;
  readonly extraArgs: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** What is read of a machine's settings. */
interface MachineSettings extends MachineKeys {
  readonly gpus: number;
  readonly clients: { readonly host?: string | undefined };
  readonly inferenceServers: Readonly<Record<string, ServerSettings>>;
}

type Machines = Readonly<Record<string, MachineSettings>>;

/** Faults in how servers are divided among GPUs and machines, and in the links between these. */
export function rankFaults(own: string, machines: Machines): FeatureFault[] {
  const machine = machines[own];
  if (machine === undefined) return [];
  const servers = Object.entries(machine.inferenceServers).flatMap(([key, server]) =>
    serverFaults(own, machine, server, machines).map((each) => ({
      ...each,
      path: ["inferenceServers", key, ...each.path],
    })),
  );
  return [...linkFaults(own, machine, machines), ...servers];
}

const fault = (path: PropertyKey[], message: string, code = "impossible_value"): FeatureFault => ({
  path,
  code,
  message,
});

/** Interfaces that are no cable between machines. */
const NO_CABLE = /^(lo|wl|docker|br-|veth)/;

/** Faults of a machine's own end of the link. */
function linkFaults(
  own: string,
  { link, clients }: MachineSettings,
  machines: Machines,
): FeatureFault[] {
  if (link === undefined) return [];
  const twin = Object.entries(machines).find(
    ([name, each]) => name !== own && each.link?.address === link.address,
  );
  const faults: FeatureFault[] = [];
  if (NO_CABLE.test(link.interface))
    faults.push(
      fault(
        ["link", "interface"],
        "The ranks accept commands from anyone who can reach them: write the interface of a cable or switch that connects only these machines.",
      ),
    );
  if (link.hcas.length > 0 && link.gidIndex === undefined)
    faults.push(
      fault(
        ["link", "gidIndex"],
        "RDMA needs the index of the address's RoCE v2 GID, which differs between machines: write the one that `show_gids` prints beside the address on this machine, such as `gidIndex: 3`.",
        "missing_key",
      ),
    );
  if (twin !== undefined)
    faults.push(
      fault(
        ["link", "address"],
        `${twin[0]} also has this address: write this machine's own, as \`ip -4 address show ${link.interface}\` prints it there.`,
      ),
    );
  if (clients.host === link.address)
    faults.push(
      fault(
        ["clients", "host"],
        "This is the link's address, and no client may be on the link: the ranks accept commands from anyone who can reach them. Write the name that the machine has on the clients' network.",
      ),
    );
  return faults;
}

/** Faults of one server; the path starts below it. */
function serverFaults(
  own: string,
  machine: MachineSettings,
  server: ServerSettings,
  machines: Machines,
): FeatureFault[] {
  const { nodes, tensorParallelSize: parts, pipelineParallelSize: stages } = server;
  if (nodes === undefined) {
    const { gpus } = machine;
    if (parts * stages <= gpus) return [];
    const message = `${processesOf(server)} needs as many GPUs, but ${own} has ${gpus} (\`gpus\`): write ${divided(gpus, stages)}, or name the machines that share the model (\`nodes\`).`;
    return [fault(["tensorParallelSize"], message)];
  }
  const whole = nodesFault(own, nodes, machines);
  if (whole !== undefined) return [whole];
  const known = nodes.flatMap((name) =>
    machines[name] === undefined ? [] : [{ name, ...machines[name] }],
  );
  return [...sharingFaults(machine, server, known), ...rankSettingFaults(machine, server)];
}

/** A server's GPUs as its settings count them. */
const processesOf = ({ tensorParallelSize, pipelineParallelSize }: ServerSettings) =>
  `\`tensorParallelSize: ${tensorParallelSize}\`${pipelineParallelSize === 1 ? "" : ` x \`pipelineParallelSize: ${pipelineParallelSize}\``}`;

/** How to divide the model among so many GPUs: the stages of the pipeline stay if they can. */
const divided = (all: number, stages: number) =>
  all % stages === 0
    ? `\`tensorParallelSize: ${all / stages}\``
    : `\`tensorParallelSize: ${all}\` and \`pipelineParallelSize: 1\``;

/** Faults in how the machines of one server share its model. */
function sharingFaults(
  { gpus }: MachineSettings,
  server: ServerSettings,
  known: readonly (MachineSettings & { readonly name: string })[],
): FeatureFault[] {
  const { tensorParallelSize: parts, pipelineParallelSize: stages } = server;
  const counts = known.map((each) => `${each.name} ${each.gpus}`).join(", ");
  const sum = known.reduce((all, each) => all + each.gpus, 0);
  const faults: FeatureFault[] = [];
  if (known.some((each) => each.gpus !== gpus))
    faults.push(
      fault(
        ["nodes"],
        `vLLM can share a model only among machines with the same number of GPUs, and these differ (${counts}; \`gpus\`): name machines that are alike.`,
      ),
    );
  else if (parts * stages !== sum)
    faults.push(
      fault(
        ["tensorParallelSize"],
        `${processesOf(server)} must equal the number of GPUs of all nodes, ${sum} (${counts}): write ${divided(sum, stages)}.`,
      ),
    );
  const bare = known.filter((each) => each.link?.hcas.length === 0).map(({ name }) => name);
  const byRdma = known.map(({ name }) => name).filter((name) => !bare.includes(name));
  if (bare.length > 0 && byRdma.length > 0)
    faults.push(
      fault(
        ["nodes"],
        `${byRdma.join(" and ")} would use RDMA and the other nodes sockets: name the RDMA devices of all (those missing: ${bare.map((name) => `\`machines.${name}.link.hcas\``).join(", ")}), or of none.`,
        "missing_key",
      ),
    );
  return faults;
}

/** Settings of a server that its ranks get in another way, or can't have. */
function rankSettingFaults(
  { link }: MachineSettings,
  { listen, extraArgs, environment }: ServerSettings,
): FeatureFault[] {
  const faults: FeatureFault[] = [];
  if (!["127.0.0.1", link?.address].includes(listen))
    faults.push(
      fault(
        ["listen"],
        `A server over several machines listens only on its machine's link address, ${link?.address}: delete this line. For other computers, publish the bridge.`,
      ),
    );
  const extra = extraArgs.findIndex((each) =>
    /^(--(api-server-count|data-parallel)|-dp)/.test(each.replaceAll("_", "-")),
  );
  if (extra >= 0)
    faults.push(
      fault(
        ["extraArgs", extra],
        "A worker has no API, and its GPUs all take part in one model: with `nodes` delete this argument.",
      ),
    );
  for (const name of RANK_VARIABLES)
    if (name in environment)
      faults.push(
        fault(
          ["environment", name],
          "Each rank gets its own, from its machine's `link`: delete this line.",
        ),
      );
  return faults;
}

/** Finds what is wrong with the list of a server's machines by itself. */
function nodesFault(
  own: string,
  nodes: readonly string[],
  machines: Machines,
): FeatureFault | undefined {
  const unknown = nodes.findIndex((name) => machines[name] === undefined);
  if (unknown >= 0)
    return fault(
      ["nodes", unknown],
      `No machine \`${nodes[unknown]}\` in this stack. Known: ${listOf(Object.keys(machines))}.`,
      "unknown_reference",
    );
  const others = [...new Set(nodes)].filter((name) => name !== own);
  if (others.length === 0)
    return fault(["nodes"], "One machine alone needs no `nodes`: delete this line.");
  if (nodes[0] !== own || others.length !== nodes.length - 1)
    return fault(
      ["nodes"],
      `Name each machine once, first the one that declares the server, which has the API: write \`nodes: [${[own, ...others].join(", ")}]\`.`,
    );
  const unlinked = nodes.filter((name) => machines[name]?.link === undefined);
  if (unlinked.length === 0) return undefined;
  const links = unlinked
    .map((name) => `\`machines.${name}.link: { interface: …, address: … }\``)
    .join(" and ");
  const message = `The stack file doesn't say how these machines reach each other: write ${links}.`;
  return fault(["nodes"], message, "missing_key");
}
