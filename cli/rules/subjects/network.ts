import { isIPv4 } from "node:net";
import { shellWord } from "@local-serving/base/faults/shellWords";
import {
  AS_DOCKERS_BRIDGE,
  DOCKERS_BRIDGE,
  EVERY_ADDRESS,
  HOST_FROM_CONTAINER,
  isLoopback,
} from "@local-serving/machines/address";
import { STARTED_WITH_PORT, sign, startSign } from "../../sees/log/sign";
import { firstGroup, machineEdit, type Picture, seen, setting, textSetting } from "../picture";
import { APPLY, type Row, type WeighingRule } from "../rule";

/** Port of the simple server unless the stack file says otherwise. */
const PORT = 11434;

/** Ollama's own word of where it listens. */
const LISTENING = sign("Listening on ", /Listening on (\[?[\d.:a-f]+\]?):(\d+) \(version/);
const REFUSED_FROM_AFAR = sign(
  ["11434", "probe ollama-listen: "],
  /(?:dial tcp |connect to |ECONNREFUSED )(?!127\.|0\.0\.0\.0|localhost)[\w.-]+(?: port |:)11434\b|probe ollama-listen: (?:it is )?declared for the network/,
);
const PORT_TAKEN = startSign(
  ["ddress already in use", "port is already allocated"],
  /(?:listen tcp |bind: |Bind for |address \(')?([\d.]+|\[::\]|\*)?(?:', |:)(\d{2,5})\)?[:)]?.{0,60}(?:address already in use|port is already allocated)|(?:address already in use|port is already allocated).{0,60}?[:(' ](\d{4,5})\b|OSError: \[Errno 98\] Address already in use/,
);
const IN_A_VOLUME = sign(
  ["OLLAMA_MODELS:/root/.ollama", "/var/lib/docker/volumes/"],
  /OLLAMA_MODELS:\/root\/\.ollama|\/var\/lib\/docker\/volumes\/[\w.-]*(?:ollama|webui)[\w.-]*\/_data/,
);

/** The simple server is asked for by something that is not on the machine, or by a container. */
function wantedFromAfar(picture: Picture): boolean {
  const host = textSetting(picture, "clients", "host");
  const asked = setting(picture, "chatUi", "connections");
  const byChatUi =
    setting(picture, "chatUi") !== undefined &&
    (!Array.isArray(asked) || asked.includes("simple-server"));
  return byChatUi || (host !== undefined && !isLoopback(host));
}

/** Ollama where containers alone reach it; one that isn't declared yet is declared with it. */
function openToContainers(picture: Picture) {
  return textSetting(picture, "simpleServer", "mode") === "none"
    ? machineEdit(picture, ["simpleServer"], { mode: "host", listen: DOCKERS_BRIDGE })
    : machineEdit(picture, ["simpleServer", "listen"], DOCKERS_BRIDGE);
}

/** How other computers get the models of an Ollama, which asks nobody for a key. */
const BY_THE_BRIDGE =
  "Ollama asks for no key, so the network stays closed to it: other computers reach its models through the bridge, with a key (`bridge.listen: 0.0.0.0`, `bridge.keyVariable`).";

/** Whether Ollama is opened to containers alone, and something else was refused. */
const isForContainers = (listen: string, refused = "") =>
  DOCKER_BRIDGE.test(listen) &&
  ![listen, HOST_FROM_CONTAINER, "probe "].some((from) => refused.includes(from));

const portOf = (picture: Picture): number =>
  Number(setting(picture, "simpleServer", "port") ?? PORT);

const UNREACHABLE = sign(
  [
    "EHOSTUNREACH",
    "No route to host",
    "ETIMEDOUT",
    "i/o timeout",
    "Connection timed out",
    "Host is down",
  ],
  /(?:EHOSTUNREACH|ETIMEDOUT|No route to host|i\/o timeout|[Cc]onnection timed out|Host is down).{0,80}?\b(\d{1,3}(?:\.\d{1,3}){3})\b|\b(\d{1,3}(?:\.\d{1,3}){3})\b.{0,80}?(?:EHOSTUNREACH|ETIMEDOUT|No route to host|i\/o timeout|[Cc]onnection timed out|Host is down)/,
);
const NOT_OUR_ADDRESS = sign(
  "cannot assign requested address",
  /\b(\d{1,3}(?:\.\d{1,3}){3}):\d+: bind: cannot assign requested address/,
);

/** Addresses that Docker gives to its own bridges; they mean nothing on the network. */
const DOCKER_BRIDGE = /^172\.(?:1[7-9]|2\d|3[01])\./;

/**
 * Addresses of a local network; any other is a host of the internet, and no business of a lease.
 */
const PRIVATE = /^(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.)/;

/** Addresses that the stack file counts on, with the setting that has each. */
function declaredAddresses(picture: Picture): { path: string[]; address: string }[] {
  const servers = Object.keys(picture.stack?.settings.inferenceServers ?? {});
  return [
    ["clients", "host"],
    ["bridge", "listen"],
    ["chatUi", "listen"],
    ["simpleServer", "listen"],
    ...servers.map((key) => ["inferenceServers", key, "listen"]),
  ].flatMap((path) => {
    const address = textSetting(picture, ...path);
    if (
      address === undefined ||
      !isIPv4(address) ||
      address === EVERY_ADDRESS ||
      isLoopback(address)
    )
      return [];
    return [{ path, address }];
  });
}

/**
 * Clients get a name, services that ask who is calling every address of the machine, and those that
 * ask nobody one of the machine's own.
 */
function stable(picture: Picture, paths: readonly string[][]) {
  const clients = `${picture.stack?.machine ?? "<machine>"}.local`;
  const values: Readonly<Record<string, string>> = {
    clients,
    inferenceServers: "127.0.0.1",
    simpleServer: DOCKERS_BRIDGE,
  };
  return paths.map((path) => machineEdit(picture, path, values[path[0] ?? ""] ?? EVERY_ADDRESS));
}

/** What is said of a service that asks nobody for a key, by the block of its setting. */
const KEPT_CLOSED: Readonly<Record<string, string>> = {
  inferenceServers:
    "vLLM checks no client, so a server stays on 127.0.0.1. On the network publish the bridge, with a key (`bridge.listen: 0.0.0.0`, `bridge.keyVariable`).",
  simpleServer: `${DOCKERS_BRIDGE} is ${AS_DOCKERS_BRIDGE}. ${BY_THE_BRIDGE}`,
};

/** Ports and addresses: the simple server's, and the machine's own. */
export const network: readonly (WeighingRule | Row)[] = [
  {
    id: "ollama-on-loopback",
    explain(picture) {
      const port = portOf(picture);
      const sockets = picture.sockets?.filter((each) => each.port === port) ?? [];
      const said = seen(picture, LISTENING);
      const byLog = isLoopback(said?.groups[0] ?? "") ? said?.line : undefined;
      const bySocket =
        sockets.length > 0 && sockets.every(({ address }) => isLoopback(address))
          ? `${sockets.map(({ address }) => address).join(", ")}:${port} is all that listens`
          : undefined;
      const refused = seen(picture, REFUSED_FROM_AFAR)?.line;
      const evidence = refused ?? byLog ?? bySocket;
      if (evidence === undefined) return undefined;
      const declared = textSetting(picture, "simpleServer", "listen");
      if (declared !== undefined && evidence === refused && isForContainers(declared, refused))
        return {
          cause: `Ollama listens on ${declared}, which our containers reach and other computers don't.`,
          evidence,
          advice: BY_THE_BRIDGE,
          command: "serving plan",
        };
      if (declared !== undefined && !isLoopback(declared))
        return {
          cause: `Ollama listens on loopback although ${declared} is declared: the override was not applied, or the service was not restarted.`,
          evidence,
          advice:
            "No setting to change: write the drop-in that the plan prints and restart the service.",
          command:
            "serving plan simple-server && sudo systemctl daemon-reload && sudo systemctl restart ollama",
        };
      // Loopback by choice is fine, and the plan's note is enough before anything runs.
      const { update, filesAsApplied = [] } = picture;
      const isEarly = update?.isApplied === false && filesAsApplied.length === 0;
      const isChosen = picture.stack !== undefined && !wantedFromAfar(picture);
      if (refused === undefined && (isChosen || isEarly)) return undefined;
      return {
        cause:
          "Ollama listens on loopback only, so no other machine and no container can reach it.",
        evidence,
        edits: [openToContainers(picture)],
        advice: `${DOCKERS_BRIDGE} is ${AS_DOCKERS_BRIDGE}. ${BY_THE_BRIDGE}`,
      };
    },
  },
  {
    id: "port-taken",
    explain(picture) {
      const hit = seen(picture, PORT_TAKEN);
      const failed = picture.containers?.find(({ error }) =>
        /port is already allocated|address already in use/.test(error),
      );
      const evidence = hit?.line ?? failed?.error;
      // llama-swap's own port has a setting: `on-demand-port-taken` tells.
      if (evidence === undefined || /http server error error="listen/.test(evidence))
        return undefined;
      // vLLM names its port in another line.
      const started = hit?.log.hits.get(STARTED_WITH_PORT)?.groups ?? [];
      const groups = [...started, ...(hit?.groups ?? /:(\d{2,5})\b/.exec(evidence) ?? [])];
      const found = groups.filter((group) => /^\d+$/.test(group)).at(-1);
      if (found === undefined)
        return {
          cause:
            "The port that the program was to listen on is taken by another program; the log doesn't say which port (8000 of a vLLM without `--port`).",
          evidence,
          advice: "No setting to change: see who listens on it, and stop that.",
          command: "ss -lntp; docker ps",
        };
      const port = Number(found);
      return {
        cause:
          port === portOf(picture)
            ? `Port ${port} is taken: by an earlier container, by the chat UI's integrated image or by a second Ollama.`
            : `Port ${port} is taken by another program.`,
        evidence,
        advice:
          "No setting to change: see who listens and stop it, by container name or by port. Instance A stays.",
        command: `ss -lntp 'sport = :${port}'; ps -ef | grep -i [o]llama; docker ps --filter publish=${port}`,
      };
    },
  },
  {
    id: "ollama-models-in-volume",
    explain(picture) {
      if (setting(picture, "simpleServer", "mode") === "integrated") return undefined;
      const hit = seen(picture, IN_A_VOLUME);
      const [running] = (picture.containers ?? [])
        .filter(({ status }) => status === "running")
        .flatMap(({ name, mounts }) =>
          mounts
            .filter(({ target }) => target.startsWith("/root/.ollama"))
            .map(({ source }) => ({
              name,
              shown: `container ${name}: ${source} at /root/.ollama`,
            })),
        );
      const evidence = hit?.line ?? running?.shown;
      if (evidence === undefined) return undefined;
      const name = shellWord(running?.name ?? hit?.log.container ?? "<container>");
      return {
        cause:
          "An Ollama in a container answers, and keeps its models in a volume: the one on the host can't see what is pulled there.",
        evidence,
        advice:
          "No setting to change: stop that container and pull the models on the host. Its volume is left as it is.",
        command: `docker ps --filter name=${name}; docker stop ${name} && sudo systemctl restart ollama`,
      };
    },
  },
  {
    id: "ollama-models-unreachable",
    when: startSign(
      ["ensure path elements are traversable", "permission denied"],
      /mkdir (\S+?): (?:permission denied\S* ?)?-? ?ensure path elements are traversable|Error: (?:mkdir|open|stat) (\/\S*(?:ollama|models)\S*): permission denied/,
    ),
    say({ picture, hit }) {
      const user = textSetting(picture, "simpleServer", "serviceUser") ?? "ollama";
      // The path may be from a log, and a log from anybody.
      const path = shellWord(
        textSetting(picture, "simpleServer", "modelsDirectory") ??
          firstGroup(hit)?.replace(/:$/, "") ??
          "",
      );
      return {
        cause: `Ollama can't make or open its model directory: it runs as ${user}, and the directory or one of its parents is closed to that user.`,
        advice: "No setting to change, unless you want another `simpleServer.modelsDirectory`.",
        command: `sudo install -d -o ${user} -g ${user} -m 0755 ${path} && namei -l ${path}`,
      };
    },
  },
  {
    id: "address-changed",
    explain(picture) {
      const { addresses } = picture;
      const declared = declaredAddresses(picture);
      const outside = declared.filter(({ address }) => !DOCKER_BRIDGE.test(address));
      const gone = outside.filter(({ address }) => addresses?.includes(address) === false);
      const found = seen(picture, NOT_OUR_ADDRESS, UNREACHABLE);
      // NCCL speaks of another rank's address.
      const hit = found?.line.includes(" NCCL ") ? undefined : found;
      const said = hit && firstGroup(hit);
      const address = gone[0]?.address ?? said;
      if (address === undefined) return undefined;
      if (gone.length === 0 && (!PRIVATE.test(address) || DOCKER_BRIDGE.test(address)))
        return undefined;
      const concerned =
        gone.length > 0 ? gone : declared.filter((each) => each.address === address);
      const paths = concerned.map(({ path }) => path);
      // Docker was asked to publish a port there, by whoever started the container.
      if (paths.length === 0 && hit !== undefined && NOT_OUR_ADDRESS.pattern.test(hit.line))
        return {
          cause: `This machine has no address ${address}, so nothing can listen there.`,
          evidence: hit.line,
          advice:
            "Write one of the machine's own addresses where the port is published (`-p ADDRESS:PORT:PORT`, `ports:` in compose, `listen` in the stack file), or 127.0.0.1.",
          command: "ip -4 -brief address",
        };
      return {
        cause: `${address} is no longer this machine's address: a DHCP lease changed, and everything that uses the old address stops connecting without any message.`,
        evidence:
          hit?.line ??
          `the machine has ${addresses?.join(", ")}; ${gone.map((each) => `${each.path.join(".")}: ${each.address}`).join(", ")}`,
        edits: stable(picture, paths.length > 0 ? paths : [["clients", "host"]]),
        advice: [
          `Give the machine a DHCP reservation, or use its mDNS name (here \`${picture.stack?.machine ?? "<machine>"}.local\`; \`hostname\` says which).`,
          ...new Set(paths.flatMap(([first = ""]) => KEPT_CLOSED[first] ?? [])),
        ].join(" "),
        command: `ip -4 -brief address; hostname; ${APPLY}`,
      };
    },
  },
  {
    id: "dockers-bridge-elsewhere",
    explain(picture) {
      const listen = textSetting(picture, "simpleServer", "listen") ?? "";
      if (!DOCKER_BRIDGE.test(listen)) return undefined;
      const hit = seen(picture, NOT_OUR_ADDRESS);
      const said = hit !== undefined && firstGroup(hit) === listen ? hit.line : undefined;
      const { addresses = [] } = picture;
      const lacks = addresses.length > 0 && !addresses.includes(listen);
      if (said === undefined && !lacks) return undefined;
      return {
        cause: `Ollama can't listen on ${listen}, which isn't an address of this machine: Docker doesn't run, or gives its own bridge another one (\`bip\` of its daemon.json).`,
        evidence: said ?? `the machine has ${addresses.join(", ")}`,
        advice:
          "If Docker runs, write the address of `docker0` as `simpleServer.listen`. If it doesn't, start it: Ollama tries again by itself.",
        command: "ip -4 address show docker0; systemctl status docker",
      };
    },
  },
  {
    id: "bridge-interface-address",
    explain(picture) {
      const host = textSetting(picture, "clients", "host");
      if (host === undefined || !DOCKER_BRIDGE.test(host)) return undefined;
      return {
        cause: `${host} is the address of one of Docker's bridges: no other machine can reach it.`,
        evidence: `clients.host: ${host}`,
        edits: stable(picture, [["clients", "host"]]),
        command: `ip -4 -brief address; ${APPLY}`,
      };
    },
  },
];
