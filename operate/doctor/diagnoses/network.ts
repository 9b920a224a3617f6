import { isIPv4 } from "node:net";
import { isLoopback } from "../../../components/planned/reach";
import { APPLY, type Diagnosis } from "../diagnosis";
import { type Facts, firstGroup, machineEdit, seen, textSetting } from "../facts";
import { sign } from "../sign";

const UNREACHABLE = sign(
  ["EHOSTUNREACH", "No route to host", "ETIMEDOUT", "i/o timeout", "Connection timed out", "Host is down"],
  /(?:EHOSTUNREACH|ETIMEDOUT|No route to host|i\/o timeout|[Cc]onnection timed out|Host is down).{0,80}?\b(\d{1,3}(?:\.\d{1,3}){3})\b|\b(\d{1,3}(?:\.\d{1,3}){3})\b.{0,80}?(?:EHOSTUNREACH|ETIMEDOUT|No route to host|i\/o timeout|[Cc]onnection timed out|Host is down)/,
);
const NOT_OUR_ADDRESS = sign(
  "cannot assign requested address",
  /\b(\d{1,3}(?:\.\d{1,3}){3}):\d+: bind: cannot assign requested address/,
);

/** Addresses that Docker gives to its own bridges; they mean nothing on the network. */
const DOCKER_BRIDGE = /^172\.(?:1[7-9]|2\d|3[01])\./;

/** Addresses of a local network; any other is a host of the internet, and no business of a lease. */
const PRIVATE = /^(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.)/;

/** Addresses that the stack file counts on, with the setting that has each. */
function declaredAddresses(facts: Facts): { path: string[]; address: string }[] {
  const servers = Object.keys(facts.stack?.settings.inferenceServers ?? {});
  return [
    ["clients", "host"],
    ["bridge", "listen"],
    ["chatUi", "listen"],
    ["simpleServer", "listen"],
    ...servers.map((key) => ["inferenceServers", key, "listen"]),
  ].flatMap((path) => {
    const address = textSetting(facts, ...path);
    if (address === undefined || !isIPv4(address) || address === "0.0.0.0" || isLoopback(address)) return [];
    return [{ path, address }];
  });
}

/** Clients get a name, services every address of the machine, and vLLM, which checks nobody, only loopback. */
function stable(facts: Facts, paths: readonly string[][]) {
  const clients = `${facts.stack?.machine ?? "<machine>"}.local`;
  const values: Readonly<Record<string, string>> = { clients, inferenceServers: "127.0.0.1" };
  return paths.map((path) => machineEdit(facts, path, values[path[0] ?? ""] ?? "0.0.0.0"));
}

const BRIDGE_INSTEAD =
  " vLLM checks nobody, so a server stays on 127.0.0.1: for the network publish the bridge, with a key (`bridge.listen: 0.0.0.0`, `bridge.keyVariable`).";

export const network: readonly Diagnosis[] = [
  {
    id: "address-changed",
    source: 'specification, Errors: "Agents stop connecting with no warning"',
    explain(facts) {
      const { addresses } = facts;
      const declared = declaredAddresses(facts);
      const gone = declared.filter(
        ({ address }) =>
          addresses !== undefined && !addresses.includes(address) && !DOCKER_BRIDGE.test(address),
      );
      const hit = seen(facts, NOT_OUR_ADDRESS, UNREACHABLE);
      const said = hit && firstGroup(hit);
      const address = gone[0]?.address ?? said;
      if (address === undefined) return undefined;
      if (gone.length === 0 && (!PRIVATE.test(address) || DOCKER_BRIDGE.test(address))) return undefined;
      const concerned = gone.length > 0 ? gone : declared.filter((each) => each.address === address);
      const paths = concerned.map(({ path }) => path);
      return {
        cause: `${address} is no longer this machine's address: a DHCP lease changed, and everything that uses the old address stops connecting without any message.`,
        evidence:
          hit?.line ??
          `the machine has ${addresses?.join(", ")}; ${gone.map((each) => `${each.path.join(".")}: ${each.address}`).join(", ")}`,
        edits: stable(facts, paths.length > 0 ? paths : [["clients", "host"]]),
        advice: `Give the machine a DHCP reservation, or use its mDNS name (here \`${facts.stack?.machine ?? "<machine>"}.local\`; \`hostname\` says which).${paths.some(([first]) => first === "inferenceServers") ? BRIDGE_INSTEAD : ""}`,
        command: `ip -4 -brief address; hostname; ${APPLY}`,
      };
    },
  },
  {
    id: "bridge-interface-address",
    source: 'specification, Errors: "never a bridge-interface address from `hostname -I`"',
    explain(facts) {
      const host = textSetting(facts, "clients", "host");
      if (host === undefined || !DOCKER_BRIDGE.test(host)) return undefined;
      return {
        cause: `${host} is the address of one of Docker's bridges: no other machine can reach it.`,
        evidence: `clients.host: ${host}`,
        edits: stable(facts, [["clients", "host"]]),
        command: `ip -4 -brief address; ${APPLY}`,
      };
    },
  },
];
