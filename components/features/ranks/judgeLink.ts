import { BlockList } from "node:net";
import type { Link, PlannedMachine, Rank } from "../../planned";
import { type PreflightFinding, refused, warned } from "../kind";
import { type Hca, type LinkFacts, linkedRanks } from "./readLink";

const BROKEN_CMA =
  "CmaFree is above CmaTotal: the kernel set memory aside for kexec handover, and RDMA devices can't pin it. Add `kho=off` to GRUB_CMDLINE_LINUX in /etc/default/grub, run `sudo update-grub` and reboot.";

/**
 * Judges a machine's end of the link. A difference is refused with what to write: nothing is
 * silently accepted. Pure.
 */
export function judgeLink(
  machine: PlannedMachine,
  facts: LinkFacts | undefined,
): PreflightFinding[] {
  const [rank] = linkedRanks(machine).map((each) => each.rank);
  if (rank === undefined || facts === undefined) return [];
  const fault = interfaceFault(rank, machine.name, facts) ?? hcaFault(rank.link, facts.hcas);
  return [
    ...(fault === undefined ? [] : [fault]),
    ...(facts.brokenCma ? [warned(BROKEN_CMA)] : []),
  ];
}

function interfaceFault(
  { link, nodes }: Rank,
  machine: string,
  facts: LinkFacts,
): PreflightFinding | undefined {
  const { interface: name, address } = link;
  const { interface: there, addresses } = facts;
  const setting = "link.interface";
  const holder = addresses.find((each) => each.address === address);
  if (there === undefined) {
    const all = addresses.map((each) => `${each.name} (${each.address})`).join(", ");
    const message = `There is no network interface ${name}. Interfaces with an IPv4 address: ${all || "none"}.`;
    return refused(message, setting, holder?.name);
  }
  if (!["up", "unknown"].includes(there.state))
    return refused(
      `The link is down: ${name} is ${there.state}. Check its cable, and its network settings on all machines.`,
    );
  if (there.wireless || there.defaultRoute) {
    const why = there.wireless ? "is wireless" : "has the machine's default route";
    const message = `${name} ${why}, so other computers can use it, and vLLM's ranks accept commands from anyone who can reach them: declare the interface of a cable between the machines.`;
    return refused(message, setting);
  }
  const own = addresses.filter((each) => each.name === name).map((each) => each.address);
  if (holder?.name !== name) {
    const message = `${name} doesn't have the address ${address}; it has ${own.join(", ") || "none"}.`;
    return holder === undefined
      ? refused(message, "link.address", own.length === 1 ? own[0] : undefined)
      : refused(message, setting, holder.name);
  }
  const network = new BlockList();
  network.addSubnet(address, holder.prefix);
  const outside = nodes.find((node) => node.machine !== machine && !network.check(node.address));
  if (outside === undefined) return undefined;
  const apart = `${outside.machine} has ${outside.address} on the link, which isn't in the network of ${name}, ${address}/${holder.prefix}: give both an address in the same network.`;
  return refused(apart, "link.address");
}

function hcaFault(
  { hcas: declared, gidIndex, address }: Link,
  found: readonly Hca[],
): PreflightFinding | undefined {
  const hcas = found.filter(({ name, state }) => declared.includes(name) && state === "ACTIVE");
  if (declared.length === 0) return undefined;
  if (hcas.length < declared.length) {
    const bad = declared.filter((name) => !hcas.some((each) => each.name === name));
    const all = found.map(({ name, state }) => `${name} (${state})`).join(", ");
    const message = `RDMA devices that are missing or have no link: ${bad.join(", ")}. This machine has ${all || "none"}.`;
    return refused(message, "link.hcas");
  }
  // Each device has the address of its own interface; one of them is the link's.
  const at = (index: number) =>
    hcas.map(({ gids }) => gids.find((gid) => gid.index === index)?.address);
  const fits = (index: number) => at(index).includes(address) && !at(index).includes(undefined);
  if (gidIndex !== undefined && fits(gidIndex)) return undefined;
  const right = hcas[0]?.gids.find(({ index }) => fits(index))?.index;
  const all = hcas.map(
    ({ name, gids }) => `${name} ${gids.map((gid) => `${gid.index} ${gid.address}`).join(", ")}`,
  );
  const message = `GID ${gidIndex} is not the RoCE v2 entry of ${address} on all devices. Such entries are: ${all.join("; ")}.`;
  return refused(message, "link.gidIndex", right);
}

type Ends = readonly {
  readonly machine: PlannedMachine;
  readonly read: LinkFacts | undefined;
}[];

/** Judges what the machines of one server must share. Pure. */
export function judgeRanks(machines: Ends): (PreflightFinding & { readonly machine: string })[] {
  const ranked = machines.flatMap(({ machine }) =>
    machine.inferenceServers.map((server) => ({ machine, ...server })),
  );
  return ranked.flatMap(({ machine: { name: machine }, key, rank }) => {
    const nodes = (rank?.nodes ?? []).map((node) => ({
      node,
      link: machines.find((each) => each.machine.name === node.machine)?.read,
    }));
    const mtus = nodes.map(({ node, link }) => [node.machine, link?.interface?.mtu] as const);
    const commits = nodes.map(
      ({ node, link }) => [node.machine, link?.revisions[node.container]] as const,
    );
    const findings: (PreflightFinding & { readonly machine: string })[] = [];
    if (differ(mtus))
      findings.push({
        machine,
        ...refused(
          `The MTU of the link is not the same on all machines: ${each(mtus)}. Set the same on all, as in \`sudo ip link set ${rank?.link.interface} mtu 9000\` and in netplan.`,
        ),
      });
    if (differ(commits))
      findings.push({
        machine,
        ...refused(
          `The machines' caches hold different commits of the model: ${each(commits)}. Pin one, and download it with \`serving fetch\`.`,
          `inferenceServers.${key}.model.revision`,
          commits[0]?.[1],
        ),
      });
    return findings;
  });
}

type Values = readonly (readonly [machine: string, value: string | number | undefined])[];
const known = (values: Values) => values.filter(([, value]) => value !== undefined);
const differ = (values: Values) => new Set(known(values).map(([, value]) => value)).size > 1;
const each = (values: Values) =>
  known(values)
    .map(([machine, value]) => `${value} on ${machine}`)
    .join(", ");
