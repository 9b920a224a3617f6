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
  return [
    ...linkFaults(own, machine, machines),
    ...Object.entries(machine.inferenceServers).flatMap(([key, server]) => {
      const faults = server.nodes === undefined ? oneMachineFaults(own, machine, server) : [];
      const over = server.nodes === undefined ? [] : nodesFaults(own, { ...server, nodes: server.nodes }, machines);
      return [...faults, ...over].map((fault) => ({ ...fault, path: ["inferenceServers", key, ...fault.path] }));
    }),
  ];
}

const impossible = (path: PropertyKey[], message: string): MachineFault => ({
  path,
  code: "impossible_value",
  message,
});
const missing = (path: PropertyKey[], message: string): MachineFault => ({ path, code: "missing_key", message });

const processes = ({ tensorParallelSize: tensor, pipelineParallelSize: pipeline }: InferenceServerSettings) =>
  `\`tensorParallelSize: ${tensor}\`${pipeline === 1 ? "" : ` x \`pipelineParallelSize: ${pipeline}\``}`;

/** How to divide a model among so many GPUs: the stages of the pipeline stay where they can. */
function division({ pipelineParallelSize: pipeline }: InferenceServerSettings, gpus: number): string {
  if (gpus % pipeline === 0) return `\`tensorParallelSize: ${gpus / pipeline}\``;
  return `\`tensorParallelSize: ${gpus}\` and \`pipelineParallelSize: 1\``;
}

function oneMachineFaults(own: string, { gpus }: MachineSettings, server: InferenceServerSettings): MachineFault[] {
  if (server.tensorParallelSize * server.pipelineParallelSize <= gpus) return [];
  const message = `${processes(server)} needs as many GPUs, and ${own} has ${gpus} (\`gpus\`): write ${division(server, gpus)}, or name the machines that share the model (\`nodes\`).`;
  return [impossible(["tensorParallelSize"], message)];
}

/** Faults of a server over several machines; the path starts below the server. */
function nodesFaults(
  own: string,
  server: InferenceServerSettings & { readonly nodes: readonly string[] },
  machines: Machines,
): MachineFault[] {
  const { nodes } = server;
  const write = (names: readonly string[]) => `write \`nodes: [${names.join(", ")}]\``;
  const others = [...new Set(nodes)].filter((name) => name !== own);
  const unknown = nodes.findIndex((name) => machines[name] === undefined);
  if (unknown >= 0) {
    const known = Object.keys(machines).join(", ");
    const message = `No machine \`${nodes[unknown]}\` in this stack. Known: ${known}.`;
    return [{ path: ["nodes", unknown], code: "unknown_reference", message }];
  }
  if (nodes[0] !== own || others.length !== nodes.length - 1) {
    if (others.length === 0) return [impossible(["nodes"], "One machine alone needs no `nodes`: delete this line.")];
    const message = `Each machine is named once, and first the one below which the server is written, which has the API: ${write([own, ...others])}.`;
    return [impossible(["nodes"], message)];
  }
  const known = nodes.map((name) => [name, machines[name] as MachineSettings] as const);
  const unlinked = known.filter(([, { link }]) => link === undefined).map(([name]) => name);
  if (unlinked.length > 0) {
    const links = unlinked.map((name) => `\`machines.${name}.link: { interface: …, address: … }\``).join(" and ");
    return [missing(["nodes"], `Nothing says how these machines reach each other: write ${links}.`)];
  }
  const faults: MachineFault[] = [];
  const gpus = known.map(([name, { gpus }]) => `${name} ${gpus}`).join(", ");
  const sum = known.reduce((all, [, each]) => all + each.gpus, 0);
  const counts = new Set(known.map(([, each]) => each.gpus));
  if (counts.size > 1) {
    const message = `vLLM divides a model among machines with the same number of GPUs, and these have others (${gpus}; \`gpus\`): name machines that are alike.`;
    faults.push(impossible(["nodes"], message));
  } else if (server.tensorParallelSize * server.pipelineParallelSize !== sum) {
    const message = `${processes(server)} is to be the number of GPUs of all nodes, ${sum} (${gpus}): write ${division(server, sum)}.`;
    faults.push(impossible(["tensorParallelSize"], message));
  }
  const byRdma = known.filter(([, { link }]) => link?.hcas.length !== 0).map(([name]) => name);
  if (byRdma.length > 0 && byRdma.length < nodes.length) {
    const bare = nodes.filter((name) => !byRdma.includes(name)).map((name) => `\`machines.${name}.link.hcas\``);
    const message = `${byRdma.join(" and ")} would use RDMA, and the rest of the nodes sockets: name the RDMA devices of all (${bare.join(", ")}), or of none.`;
    faults.push(missing(["nodes"], message));
  }
  const { listen } = server;
  const address = machines[own]?.link?.address;
  if (listen !== "127.0.0.1" && listen !== address) {
    const message = `A server over several machines listens on its machine's link address, ${address}, and nowhere else: delete this line. For other computers publish the bridge.`;
    faults.push(impossible(["listen"], message));
  }
  for (const variable of RANK_VARIABLES.filter((name) => name in server.environment))
    faults.push(
      impossible(["environment", variable], `Each rank gets its own, from its machine's \`link\`: delete this line.`),
    );
  return faults;
}

/** Interfaces that are no cable between machines. */
const NO_CABLE = /^(lo|wl|docker|br-|veth)/;

/** Faults of a machine's own link. */
function linkFaults(own: string, { link, clients }: MachineSettings, machines: Machines): MachineFault[] {
  if (link === undefined) return [];
  const twin = Object.entries(machines).find(([name, each]) => name !== own && each.link?.address === link.address);
  const faults: MachineFault[] = [];
  if (NO_CABLE.test(link.interface)) {
    const message =
      "The ranks take orders from whoever reaches them: write the interface of a cable or switch between the machines alone.";
    faults.push(impossible(["link", "interface"], message));
  }
  if (link.hcas.length > 0 && link.gidIndex === undefined) {
    const message =
      "RDMA needs the index of the address's RoCE v2 GID, which differs between machines: write the one that `show_gids` prints there beside the address, such as `gidIndex: 3`.";
    faults.push(missing(["link", "gidIndex"], message));
  }
  if (twin !== undefined) {
    const message = `${twin[0]} has this address, too: write this machine's own, as \`ip -4 address show ${link.interface}\` prints it there.`;
    faults.push(impossible(["link", "address"], message));
  }
  if (clients.host === link.address) {
    const message =
      "That is the link's address, and on a network with other computers the ranks would take orders from any of them: write the name that the machine has on that network.";
    faults.push(impossible(["clients", "host"], message));
  }
  return faults;
}
