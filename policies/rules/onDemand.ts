import { isLoopback } from "@local-serving/machines/address";
import { knownMap, knownMaps, list, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { mayRun } from "../../components/memory/together";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import { containerName, type DeclaredResource, knownText, publishedPorts } from "../lib/container";
import type { MachineGroup } from "../lib/machines";
import { declaredSets, startsOnRequest } from "../lib/together";
import { type Finding, type Rule, violation } from "./rule";

/**
 * llama-swap starts servers for whoever asks it, and believes that nobody else does: so nobody but
 * our bridge and chat UI reaches it, and nothing goes round it.
 */
export const modelsOnDemand: Rule = {
  name: "on-demand",
  description:
    "A machine's llama-swap is pinned by its SHA-256, is reachable only from the machine and its own Docker network, asks for a key on that network and keeps no prompts. Nothing else starts or reaches the servers that it starts, and they run in sets that fit.",
  level: "mandatory",
  concerns: TYPE.onDemand,
  judgeMachine: (group) =>
    group.onDemand.flatMap((resource) => [
      ...listening(resource),
      ...program(resource),
      ...configuration(resource),
      ...started(resource, group),
      ...sets(resource, group),
      ...shared(resource, group),
    ]),
};

/** Name of the variable that stack files use for its key. */
const KEY_VARIABLE = "LOCAL_SERVING_ON_DEMAND_KEY";

const SUBJECT = "llama-swap";

function listening(resource: DeclaredResource): Finding[] {
  const { address, network, config, keyVariable } = resource.props;
  const at = knownText(address) ?? "an address that is not known yet";
  if (isLoopback(at)) return [];
  const found: Finding[] = [];
  if (at !== knownText(knownMap(network).gateway)) {
    const message = `${SUBJECT} listens on ${at}, where other computers reach it. They could start and stop servers. It may listen on 127.0.0.1 or on the gateway of its own Docker network. The local network uses the bridge and its key.`;
    found.push(violation(resource, message));
  }
  const keys = list(knownMap(config).apiKeys);
  if (knownText(keyVariable) === undefined || keys === UNKNOWN || keys.length === 0) {
    const message = `${SUBJECT} listens on ${at} and asks for no key. Name the variable of your shell that holds one: without it every container on its network could start and stop servers.`;
    found.push(violation(resource, message, { setting: "keyVariable", value: KEY_VARIABLE }));
  }
  return found;
}

function program(resource: DeclaredResource): Finding[] {
  const { sha256, version } = knownMap(resource.props.program);
  if (/^[\da-f]{64}$/.test(knownText(sha256) ?? "")) return [];
  const message = `${[SUBJECT, knownText(version)].filter(Boolean).join(" ")} is not pinned, and its releases are not signed. Run \`serving pin llama-swap --write\`, which records the SHA-256 of its archive.`;
  return [violation(resource, message, { setting: "program.sha256" })];
}

/** What its configuration must say, and why. */
function configuration(resource: DeclaredResource): Finding[] {
  const config = knownMap(resource.props.config);
  const models = Object.values(knownMap(config.models)).map(knownMap);
  const found: Finding[] = [];
  if ([config, ...models].some(({ sendLoadingState: sent = false }) => sent !== false))
    found.push(
      violation(
        resource,
        `${SUBJECT}'s configuration has \`sendLoadingState\`. It must be false: a start that fails then looks like an empty answer.`,
      ),
    );
  if (config.captureBuffer !== 0)
    found.push(
      violation(
        resource,
        `${SUBJECT}'s configuration keeps prompts and answers. \`captureBuffer\` must be 0.`,
      ),
    );
  const keys = list(config.apiKeys);
  if (keys !== UNKNOWN && keys.some((key) => !/^\$\{env\.\w+\}$/.test(knownText(key) ?? "")))
    found.push(
      violation(
        resource,
        `${SUBJECT}'s configuration holds a key in plain text. Name a variable instead.`,
      ),
    );
  return found;
}

/** Each server that it starts is started by nobody else, and asked by nobody else. */
function started(resource: DeclaredResource, { containers }: MachineGroup): Finding[] {
  return knownMaps(resource.props.servers).flatMap((server): Finding[] => {
    const name = knownText(server.container);
    const container = containers.find((each) => containerName(each) === name);
    if (container === undefined) {
      const message = `${SUBJECT} starts ${name ?? "a container"}, which is not declared on its machine.`;
      return [violation(resource, message)];
    }
    const found: Finding[] = [];
    if (!startsOnRequest(container.props))
      found.push(
        violation(
          container,
          `${nameOf(container)} may be started by something else than ${SUBJECT}. Then servers may run beside it that leave it no room: it needs restart policy \`no\`, \`start: false\`, \`mustRun: false\` and its label.`,
          { setting: "start", value: "onRequest" },
        ),
      );
    const ports = publishedPorts(container.props);
    const open =
      ports === UNKNOWN ||
      ports.some(({ address }) => typeof address !== "string" || !isLoopback(address));
    if (open)
      found.push(
        violation(
          container,
          `${nameOf(container)} can be reached without ${SUBJECT}, which starts it. Publish its port on 127.0.0.1 only: ${SUBJECT} doesn't see other requests and could stop the server during one.`,
          { setting: "listen", value: "127.0.0.1" },
        ),
      );
    return found;
  });
}

/** Servers that its configuration lets run together do so in the plan's ledger, too. */
function sets(resource: DeclaredResource, { component }: MachineGroup): Finding[] {
  const { matrix } = knownMap(
    knownMap(knownMap(knownMap(resource.props.config).routing).router).settings,
  );
  const servers = knownMaps(resource.props.servers);
  const containerOf = (key: string) =>
    knownText(servers.find((each) => knownText(each.key) === key)?.container) ?? key;
  const allowed = declaredSets(component).sets;
  return Object.values(knownMap(knownMap(matrix).sets)).flatMap((written): Finding[] => {
    const keys = (knownText(written) ?? "").split(/[\s&]+/);
    const names = keys.map(containerOf);
    // One alone is judged by what always runs beside it.
    if (names.length < 2 || mayRun(allowed, ...names)) return [];
    const message = `${SUBJECT} lets ${names.join(" and ")} run together, which don't fit. No set in the machine's memory ledger has all of them.`;
    return [violation(resource, message)];
  });
}

/** A name that the bridge sends to several servers: its checks would start them. */
function shared(resource: DeclaredResource, { component }: MachineGroup): Finding[] {
  const models = knownMaps(knownMap(component?.props.bridge).models);
  const count = (name: string) => models.filter((each) => knownText(each.name) === name).length;
  return knownMaps(resource.props.servers).flatMap((server): Finding[] => {
    const names = list(server.names);
    const own = [server.model, ...(names === UNKNOWN ? [] : names)].map(
      (name) => knownText(name) ?? "",
    );
    const twice = own.find((name) => count(name) > 1);
    if (twice === undefined) return [];
    const message = `The bridge sends \`${twice}\` to several servers, also one on request. Give ${knownText(server.container) ?? "it"} a name of its own (\`servedModelName\`): requests and checks meant for another server would start it by ${SUBJECT}.`;
    return [violation(resource, message)];
  });
}
