import { isLoopback } from "@local-serving/machines/address";
import { groupOf } from "@local-serving/vllm/argv/group";
import { text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { MASTER_KEY_VARIABLE } from "../../components/services/bridge";
import { nameOf } from "../lib/block";
import { type DeclaredResource, launchOf, publishedPorts } from "../lib/container";
import { readContainer } from "../lib/inferenceServer";
import { roleOf } from "../lib/role";
import { type Rule, violation } from "./rule";

/** Whoever reaches the port of a server that checks nobody may use it. */
export const lanExposure: Rule = {
  name: "lan-exposure",
  description:
    "A port that the local network can reach belongs to a service that checks who is asking: the bridge with a key, or the chat UI.",
  level: "advisory",
  of: TYPE.container,
  judgeResource(resource) {
    const open = openTo(resource);
    if (open === undefined) return [];
    if (text(resource.props.networkMode) === "host")
      return onLinkAlone(resource)
        ? []
        : violation(resource, `${nameOf(resource)} is in the host's network, and ${open}`);
    const ports = publishedPorts(resource.props);
    return (ports === UNKNOWN ? [] : ports).flatMap(({ address, port }) => {
      if (typeof address !== "string" || isLoopback(address)) return [];
      const shownPort = typeof port === "string" ? port : "of Docker's choice";
      return violation(
        resource,
        `${nameOf(resource)} publishes port ${shownPort} on ${address}, and ${open}`,
        {
          setting: "listen",
          value: "127.0.0.1",
        },
      );
    });
  },
};

/**
 * Whether a container's servers listen only where a group meets, on the link between its machines,
 * or nowhere.
 */
function onLinkAlone(resource: DeclaredResource): boolean {
  const reading = readContainer(resource);
  if (reading.kind !== "yes" || reading.unreadable.length > 0) return false;
  return reading.servers.every((server) => {
    const group = groupOf(server);
    return (
      group !== undefined && (group.headless || server.options.get("host")?.[0] === group.address)
    );
  });
}

const REACHED = "Everyone on the local network can use it.";

/**
 * Says what is wrong with a port of this container that others can reach; `undefined` if nothing
 * is.
 */
function openTo(resource: DeclaredResource): string | undefined {
  const { entrypoint, command, variables } = launchOf(resource.props);
  const role = roleOf(resource);
  if (role === "bridge") {
    const keyed = [...variables.keys(), ...(entrypoint ?? []), ...command].some(
      (word) => typeof word === "string" && word.includes(MASTER_KEY_VARIABLE),
    );
    return keyed
      ? undefined
      : `no key is checked. Give it one (\`bridge.keyVariable\`), or publish it on 127.0.0.1. ${REACHED}`;
  }
  if (role === "chat-ui")
    return /^false$/i.test(String(variables.get("WEBUI_AUTH")))
      ? `no account is asked for. Remove WEBUI_AUTH, or publish it on 127.0.0.1. ${REACHED}`
      : undefined;
  if (role !== undefined && role !== "inference-server")
    return `no key is checked. Publish it on 127.0.0.1. ${REACHED}`;
  return readContainer(resource).kind === "yes"
    ? `no key is checked. Publish it on 127.0.0.1, and publish the bridge with a key for the network (\`bridge.listen\`, \`bridge.keyVariable\`). ${REACHED} vLLM's own \`--api-key\` guards only part of its routes. If the bridge of another machine asks it, it has to listen there: let a firewall admit that machine alone.`
    : undefined;
}
