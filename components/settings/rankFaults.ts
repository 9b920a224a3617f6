import { listOf } from "../../faults/quoting";
import { RANK_VARIABLES } from "../planned/rank";
import type { InferenceServerSettings } from "./inferenceServer";
import type { MachineSettings } from "./machine";
import type { MachineFault } from "./referenceFaults";
import type { StackSettings } from "./stackSettings";

type Machines = StackSettings["machines"];

/** Faults in how servers are divided among GPUs and machines, and in the links between these. */
export function rankFaults(own: string, machines: Machines): MachineFault[] {
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

const fault = (path: PropertyKey[], message: string, code = "impossible_value"): MachineFault => ({
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
): MachineFault[] {
  if (link === undefined) return [];
  const twin = Object.entries(machines).find(
    ([name, each]) => name !== own && each.link?.address === link.address,
  );
  const cable =
    "The ranks take orders from whoever reaches them: write the interface of a cable or switch between the machines alone.";
  const gid =
    "RDMA needs the index of the address's RoCE v2 GID, which differs between machines: write the one that `show_gids` prints there beside the address, such as `gidIndex: 3`.";
  const address = `${twin?.[0]} has this address, too: write this machine's own, as \`ip -4 address show ${link.interface}\` prints it there.`;
  const host =
    "That is the link's address, and on a network with other computers the ranks would take orders from any of them: write the name that the machine has on that network.";
  return [
    ...(NO_CABLE.test(link.interface) ? [fault(["link", "interface"], cable)] : []),
    ...(link.hcas.length > 0 && link.gidIndex === undefined
      ? [fault(["link", "gidIndex"], gid, "missing_key")]
      : []),
    ...(twin === undefined ? [] : [fault(["link", "address"], address)]),
    ...(clients.host === link.address ? [fault(["clients", "host"], host)] : []),
  ];
}

/** Faults of one server; the path starts below it. */
function serverFaults(
  own: string,
  { gpus, link }: MachineSettings,
  server: InferenceServerSettings,
  machines: Machines,
): MachineFault[] {
  const {
    nodes,
    listen,
    environment,
    extraArgs,
    tensorParallelSize: parts,
    pipelineParallelSize: stages,
  } = server;
  const processes = `\`tensorParallelSize: ${parts}\`${stages === 1 ? "" : ` x \`pipelineParallelSize: ${stages}\``}`;
  /** How to divide the model among so many GPUs: the stages of the pipeline stay where they can. */
  const divided = (all: number) =>
    all % stages === 0
      ? `\`tensorParallelSize: ${all / stages}\``
      : `\`tensorParallelSize: ${all}\` and \`pipelineParallelSize: 1\``;
  if (nodes === undefined) {
    const message = `${processes} needs as many GPUs, and ${own} has ${gpus} (\`gpus\`): write ${divided(gpus)}, or name the machines that share the model (\`nodes\`).`;
    return parts * stages <= gpus ? [] : [fault(["tensorParallelSize"], message)];
  }
  const whole = nodesFault(own, nodes, machines);
  if (whole !== undefined) return [whole];
  const known = nodes.flatMap((name) =>
    machines[name] === undefined ? [] : [{ name, ...machines[name] }],
  );
  const counts = known.map((each) => `${each.name} ${each.gpus}`).join(", ");
  const sum = known.reduce((all, each) => all + each.gpus, 0);
  const unlike = `vLLM divides a model among machines with the same number of GPUs, and these have others (${counts}; \`gpus\`): name machines that are alike.`;
  const division = `${processes} is to be the number of GPUs of all nodes, ${sum} (${counts}): write ${divided(sum)}.`;
  const bare = known.filter((each) => each.link?.hcas.length === 0).map(({ name }) => name);
  const byRdma = nodes.filter((name) => !bare.includes(name));
  const sockets = `${byRdma.join(" and ")} would use RDMA, and the rest of the nodes sockets: name the RDMA devices of all (${bare.map((name) => `\`machines.${name}.link.hcas\``).join(", ")}), or of none.`;
  const elsewhere = `A server over several machines listens on its machine's link address, ${link?.address}, and nowhere else: delete this line. For other computers publish the bridge.`;
  const ownVariable = "Each rank gets its own, from its machine's `link`: delete this line.";
  const extra = extraArgs.findIndex((each) =>
    /^(--(api-server-count|data-parallel)|-dp)/.test(each.replaceAll("_", "-")),
  );
  const alone =
    "A worker has no API, and its GPUs all take part in one model: with `nodes` delete this argument.";
  const alike = known.every((each) => each.gpus === gpus);
  return [
    ...(alike ? [] : [fault(["nodes"], unlike)]),
    ...(alike && parts * stages !== sum ? [fault(["tensorParallelSize"], division)] : []),
    ...(bare.length > 0 && byRdma.length > 0 ? [fault(["nodes"], sockets, "missing_key")] : []),
    ...(["127.0.0.1", link?.address].includes(listen) ? [] : [fault(["listen"], elsewhere)]),
    ...(extra < 0 ? [] : [fault(["extraArgs", extra], alone)]),
    ...RANK_VARIABLES.filter((name) => name in environment).map((name) =>
      fault(["environment", name], ownVariable),
    ),
  ];
}

/** Finds what is wrong with the list of a server's machines by itself. */
function nodesFault(
  own: string,
  nodes: readonly string[],
  machines: Machines,
): MachineFault | undefined {
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
      `Each machine is named once, and first the one below which the server is written, which has the API: write \`nodes: [${[own, ...others].join(", ")}]\`.`,
    );
  const unlinked = nodes.filter((name) => machines[name]?.link === undefined);
  const links = unlinked
    .map((name) => `\`machines.${name}.link: { interface: …, address: … }\``)
    .join(" and ");
  const missing = `Nothing says how these machines reach each other: write ${links}.`;
  return unlinked.length === 0 ? undefined : fault(["nodes"], missing, "missing_key");
}
