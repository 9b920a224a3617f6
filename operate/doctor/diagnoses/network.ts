import { isIPv4 } from "node:net";
import { isLoopback } from "../../../components/planned/reach";
import { APPLY, type Diagnosis } from "../diagnosis";
import { type Evidence, machineEdit, seen, setting, textSetting } from "../evidence";
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
function declaredAddresses(evidence: Evidence): { path: string[]; address: string }[] {
  const servers = Object.keys(evidence.stack?.settings.inferenceServers ?? {});
  return [
    ["clients", "host"],
    ["listen"],
    ["bridge", "listen"],
    ["chatUi", "listen"],
    ["simpleServer", "listen"],
    ...servers.map((key) => ["inferenceServers", key, "listen"]),
  ].flatMap((path) => {
    const address = textSetting(evidence, ...path);
    if (address === undefined || !isIPv4(address) || address === "0.0.0.0" || isLoopback(address)) return [];
    return [{ path, address }];
  });
}

/** The clients are given a name, the services every address of the machine. */
function stable(evidence: Evidence, paths: readonly string[][]) {
  const machine = evidence.stack?.machine ?? "<machine>";
  return paths.map((path) =>
    machineEdit(evidence, path, path[0] === "clients" ? `${machine}.local` : "0.0.0.0"),
  );
}

const addressChanged: Diagnosis = {
  id: "address-changed",
  source: 'specification, Errors: "Agents stop connecting with no warning"',
  caughtBy: false,
  signs: [UNREACHABLE, NOT_OUR_ADDRESS],
  judge(evidence) {
    const { addresses } = evidence;
    const gone = declaredAddresses(evidence).filter(
      ({ address }) =>
        addresses !== undefined && !addresses.includes(address) && !DOCKER_BRIDGE.test(address),
    );
    const hit = seen(evidence, NOT_OUR_ADDRESS) ?? seen(evidence, UNREACHABLE);
    if (gone.length === 0 && hit === undefined) return undefined;
    const said = hit?.groups.find((group) => group !== "");
    if (said !== undefined && gone.length === 0 && (!PRIVATE.test(said) || DOCKER_BRIDGE.test(said)))
      return undefined;
    const paths =
      gone.length > 0
        ? gone.map(({ path }) => path)
        : declaredAddresses(evidence)
            .filter(({ address }) => address === said)
            .map(({ path }) => path);
    const address = gone[0]?.address ?? said;
    return {
      cause: `${address} is no longer this machine's address: a DHCP lease changed, and whoever counts on it stops connecting without a word.`,
      evidence:
        hit?.line ??
        `the machine has ${addresses?.join(", ")}; ${gone.map((each) => `${each.path.join(".")}: ${each.address}`).join(", ")}`,
      edits: stable(evidence, paths.length > 0 ? paths : [["clients", "host"]]),
      advice: `Give the machine a DHCP reservation, or its mDNS name (here \`${evidence.stack?.machine ?? "<machine>"}.local\`; \`hostname\` says which).`,
      command: `ip -4 -brief address; hostname; ${APPLY}`,
    };
  },
};

const bridgeAddress: Diagnosis = {
  id: "bridge-interface-address",
  source: 'specification, Errors: "never a bridge-interface address from `hostname -I`"',
  caughtBy: false,
  signs: [],
  judge(evidence) {
    const host = textSetting(evidence, "clients", "host");
    if (host === undefined || !DOCKER_BRIDGE.test(host) || setting(evidence, "clients") === undefined)
      return undefined;
    return {
      cause: `${host} is the address of one of Docker's bridges: no other machine reaches it.`,
      evidence: `clients.host: ${host}`,
      edits: stable(evidence, [["clients", "host"]]),
      command: `ip -4 -brief address; ${APPLY}`,
    };
  },
};

export const network: readonly Diagnosis[] = [addressChanged, bridgeAddress];
