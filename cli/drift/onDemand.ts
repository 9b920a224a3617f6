import { Failed } from "@local-serving/base/faults/fault";
import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { type Host, hostOf } from "../sees/host";
import { llamaSwapOf, type SwapMachine, seeOnDemand } from "../sees/onDemand/onDemand";
import { swapUnit } from "../sees/onDemand/swapFiles";
import { endedBadly, isStoppedAsPlanned } from "../sees/onRequest";
import { type OpenTunnel, tunnelTo } from "../sees/tunnel";
import { typedOn } from "../stack/typed";
import { type Difference, differs, isNot } from "./difference";

/** A difference of what starts servers by request. */
export interface OnDemandDifference extends Difference {
  readonly where: string;
  /** What mends it; an update where it says so. */
  readonly after?: string;
  readonly up?: true;
}

/** How llama-swap, its unit, its network and what it starts differ from what was applied. */
export async function onDemandDifferences(
  plan: SwapMachine,
  host: Host = hostOf(plan.dockerHost),
  open: OpenTunnel = tunnelTo,
): Promise<OnDemandDifference[]> {
  const parts = [ofUnit, ofProgram, ofNetwork, ofServers].map((part) => part(plan, host, open));
  return (await Promise.all(parts)).flat();
}

async function ofUnit(plan: SwapMachine, host: Host): Promise<OnDemandDifference[]> {
  const { unit } = plan.onDemand;
  const found = await swapUnit(plan.onDemand, host);
  if (found === undefined)
    throw new Failed(`The user's systemd on ${plan.name} doesn't report the state of ${unit}.`);
  const typed = (...words: string[]) => typedOn(plan, words);
  const { active, enabled, linger } = found;
  return [
    ...(active === "active"
      ? []
      : [
          {
            where: unit,
            ...isNot("status", "active", active),
            after: typed("systemctl", "--user", "start", unit),
          },
        ]),
    ...(enabled === "enabled"
      ? []
      : [
          {
            where: unit,
            ...differs("enabled", "enabled", enabled),
            says: `is ${enabled}: it doesn't start with the machine`,
            after: typed("systemctl", "--user", "enable", unit),
          },
        ]),
    ...(linger === false
      ? [
          {
            where: unit,
            ...differs("linger", "yes", "no"),
            says: "ends when its user logs out, and doesn't start with the machine: linger is off",
            after: typed("loginctl", "enable-linger"),
          },
        ]
      : []),
  ];
}

/** A release says its version, a program of one's own is known by its sum. */
async function ofProgram(plan: SwapMachine, host: Host): Promise<OnDemandDifference[]> {
  const { path, from, version, sha256 } = plan.onDemand.program;
  const isOwn = from.startsWith("/");
  const said = await host.ask(isOwn ? ["sha256sum", "--", path] : [path, "-version"]);
  if (said.code !== 0) return [{ where: path, ...isNot("program", "there", "missing"), up: true }];
  const [planned, found] = isOwn
    ? [sha256, said.out.split(" ", 1)[0]]
    : [version, `v${/version: (\w+)/.exec(`${said.out}${said.err}`)?.[1]}`];
  return planned === undefined || found === planned
    ? []
    : [{ where: path, ...differs(isOwn ? "sum" : "version", planned, found ?? null), up: true }];
}

async function ofNetwork(
  { onDemand: { network } }: SwapMachine,
  { docker }: Host,
): Promise<OnDemandDifference[]> {
  if (network === undefined) return [];
  const list = ["network", "ls", "--quiet", "--filter", `name=^${network.name}$`];
  const [id] = (await docker(list)).split("\n").filter(Boolean);
  if (id === undefined)
    return [{ where: network.name, ...isNot("network", "there", "missing"), up: true }];
  const [found] = objectsIn(jsonIn(await docker(["network", "inspect", id])));
  const [range] = objectsIn(objectOr(found?.IPAM).Config);
  const subnet = textOr(range?.Subnet);
  return subnet === network.subnet
    ? []
    : [{ where: network.name, ...differs("subnet", network.subnet, subnet || null), up: true }];
}

async function ofServers(
  plan: SwapMachine,
  host: Host,
  open: OpenTunnel,
): Promise<OnDemandDifference[]> {
  const tunnel = await open(plan);
  const look = async () => seeOnDemand(plan, host, await llamaSwapOf(plan, tunnel, host));
  const { orphans, containers } = await look().finally(tunnel.close);
  const keyOf = (name: string) =>
    plan.onDemand.servers.find(({ container }) => container === name)?.key;
  return [
    ...orphans.map((name) => {
      const key = keyOf(name);
      const stop =
        key === undefined ? typedOn(plan, ["docker", "stop", name]) : `serving stop ${key}`;
      return {
        where: name,
        ...isNot("on demand", "known", "unknown"),
        says: "runs, but llama-swap doesn't know it",
        after: stop,
      };
    }),
    ...[...containers].flatMap(([key, state]) => {
      const stopped = isStoppedAsPlanned({ start: "onRequest" }, state);
      if (!stopped || !endedBadly(state)) return [];
      const found = state.oomKilled ? "killed for memory" : `${state.exitCode}`;
      return [
        {
          where: state.name,
          ...differs("exit code", "0, 137 or 143", found),
          says: state.oomKilled ? "was killed for memory" : `ended with exit code ${found}`,
          after: `serving start ${key} --again`,
        },
      ];
    }),
  ];
}
