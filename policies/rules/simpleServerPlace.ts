import { imageReference } from "@local-serving/machines/docker/imageReference";
import { knownMap, text } from "@local-serving/vllm/argv/unknown";
import { nameOf } from "../lib/block";
import { type DeclaredResource, launchOf } from "../lib/container";
import type { MachineGroup } from "../lib/machines";
import { roleOf } from "../lib/role";
import { type Found, type Rule, violation } from "./rule";

/** Variable by which Open WebUI's image starts the Ollama that it holds. */
const STARTS_OLLAMA = "USE_OLLAMA_DOCKER";

/** Models that were pulled into one place seem to vanish when the other is asked. */
export const simpleServerPlace: Rule = {
  name: "simple-server-place",
  description:
    "The simple server runs on the host or inside the chat UI's container, never in both.",
  level: "mandatory",
  judgeMachine,
};

function judgeMachine({ component, containers }: MachineGroup): Found {
  const mode = text(knownMap(component?.props.simpleServer).mode);
  const holding = containers.filter(holdsOllama);
  if (mode === "host") {
    const message = `starts an Ollama of its own beside the one on the host. Use an image without Ollama, or write \`simpleServer: { mode: integrated }\`: models pulled into one are missing in the other.`;
    return holding.map((container) => violation(container, `${nameOf(container)} ${message}`));
  }
  if (mode === "integrated" && component !== undefined && holding.length === 0) {
    const message = `The chat UI's image of ${component.name} has no Ollama inside. Use the image's \`-ollama\` variant, or write \`simpleServer: { mode: host }\`: its mode is \`integrated\`.`;
    return violation(component, message, { setting: "simpleServer.mode", value: "host" });
  }
  const [, ...further] = holding;
  return further.map((container) =>
    violation(
      container,
      `${nameOf(container)} starts a second Ollama on the machine. Keep only one.`,
    ),
  );
}

/** Ollama's own image, or the variant of Open WebUI that starts one. */
function holdsOllama(container: DeclaredResource): boolean {
  const { image, variables } = launchOf(container.props);
  const role = roleOf(container);
  if (role === "simple-server") return true;
  if (role !== "chat-ui" || typeof image !== "string") return false;
  const starts = variables.get(STARTS_OLLAMA);
  if (typeof starts === "string") return starts.toLowerCase() === "true";
  return /(^|-)ollama$/.test(imageReference(image)?.tag ?? "");
}
