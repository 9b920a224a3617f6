import { figure, holdsUnknown, knownMap, text } from "../../components/inference-server/argv/unknown";
import { asksForGpus, type DeclaredResource, displayName } from "../lib/container";
import { roleOf } from "../lib/imageReference";
import { readContainer } from "../lib/inferenceServer";
import { type Rule, violation } from "./rule";

/** On this machine a GPU's memory is everybody's: whoever is given the GPU takes from the same pool as the servers. */
export const otherGpuMemory: Rule = {
  name: "other-gpu-memory",
  description:
    "What containers with GPUs take that are no inference servers is declared for their machine (`otherGpuMemoryGiB`), so that it counts.",
  level: "mandatory",
  judgeMachine({ component, containers, machine }) {
    if (component === undefined || figure(component.props.otherGpuMemoryGiB) > 0) return [];
    return containers
      .filter(({ props }) => asksForGpus(props) && !holdsUnknown([props.gpus, props.deviceRequests, props.runtime]))
      .filter((container) => readContainer(container).kind === "no")
      .filter((container) => !holdsOllama(container, component))
      .map((container) => {
        const message = `${displayName(container)} is given GPUs on ${machine} and is no inference server: what it takes of the same memory counts nowhere. Measure it, and declare \`otherGpuMemoryGiB\` of the machine in GiB; or start the container without GPUs.`;
        return violation(container, message);
      });
  },
};

/** The chat UI with Ollama inside, whose models have a line of their own. */
function holdsOllama({ props }: DeclaredResource, component: DeclaredResource): boolean {
  const { mode } = knownMap(component.props.simpleServer);
  const image = text(props.image);
  return mode === "integrated" && typeof image === "string" && roleOf(image) === "chat-ui";
}
