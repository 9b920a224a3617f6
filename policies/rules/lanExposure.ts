import { text, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { isLoopback } from "../../components/planned/reach";
import { TYPE } from "../../components/planned/type";
import { displayName, publishedPorts } from "../lib/container";
import type { DeclaredResource } from "../lib/declaredResource";
import { roleOf } from "../lib/imageReference";
import { readContainer } from "../lib/inferenceServer";
import { type Rule, violation } from "./rule";

/** None of the served APIs checks who asks, so whoever reaches the port may use them. */
export const lanExposure: Rule = {
  name: "lan-exposure",
  description: "A port that the local network can reach is said to be so, since the servers check no key.",
  level: "advisory",
  judgeResource(resource) {
    if (resource.type !== TYPE.container || !serves(resource)) return [];
    if (text(resource.props.networkMode) === "host") {
      return [violation(resource, `${displayName(resource)} is in the host's network: ${REACHED}`)];
    }
    const ports = publishedPorts(resource.props);
    return (ports === UNKNOWN ? [] : ports).flatMap(({ address, port }) => {
      if (typeof address !== "string" || isLoopback(address)) return [];
      const shownPort = typeof port === "string" ? port : "of Docker's choice";
      return [
        violation(resource, `${displayName(resource)} publishes port ${shownPort} on ${address}: ${REACHED}`),
      ];
    });
  },
};

const REACHED =
  "everyone on the local network can use it, and no key is checked. Publish it on 127.0.0.1 if that is not meant.";

function serves(resource: DeclaredResource): boolean {
  const image = text(resource.props.image);
  if (typeof image === "string" && roleOf(image) !== undefined) return true;
  return readContainer(resource).kind === "yes";
}
