import { TYPE } from "../../components/planned";
import { holdsUnknown, text, UNKNOWN } from "../../vllm/argv/unknown";
import { type DeclaredResource, displayName, valueInWords } from "../lib/container";
import { rankOf, readContainer } from "../lib/inferenceServer";
import type { Rule } from "./rule";

type Props = DeclaredResource["props"];

const plain = (props: Props, setting: string) => text(props[setting]);

/**
 * What the container of an inference server must have (specification, "Inference-server launch
 * parameters").
 */
const WANTED = [
  { what: "all GPUs", setting: "gpus", wanted: "all", read: gpus },
  { what: "the host's IPC namespace", setting: "ipcMode", wanted: "host", read: plain },
  {
    what: "a restart policy that survives a reboot",
    setting: "restart",
    wanted: "unless-stopped",
    read: plain,
  },
] as const;

export const inferenceContainer: Rule = {
  name: "inference-container",
  description:
    "An inference server's container has all GPUs, the host's IPC namespace (a rank of several: its own, with a size) and the restart policy unless-stopped.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource(resource) {
    const reading = readContainer(resource);
    if (reading.kind !== "yes") return [];
    // If two ranks on one computer shared the machine's memory, they would take each other for
    // processes of one rank.
    const ownMemory =
      typeof resource.props.shmSize === "number" &&
      reading.servers.some((server) => rankOf(server));
    return WANTED.flatMap(({ what, setting, wanted, read }) => {
      const value = read(resource.props, setting);
      if (value === wanted || (setting === "ipcMode" && ownMemory)) return [];
      return `${displayName(resource)} lacks ${what}: it has ${valueInWords(value)}. Set \`${setting}: "${wanted}"\`.`;
    });
  },
};

/**
 * `all` also where it is asked for as a device request: a count of -1, or the CDI name for all
 * GPUs.
 */
function gpus(props: Props) {
  if (props.gpus !== undefined) return text(props.gpus);
  if (holdsUnknown(props.deviceRequests)) return UNKNOWN;
  const requests = Array.isArray(props.deviceRequests) ? props.deviceRequests : [];
  const all = requests.some(
    (request: { count?: unknown; deviceIds?: unknown }) =>
      request.count === -1 ||
      (Array.isArray(request.deviceIds) && request.deviceIds.includes("nvidia.com/gpu=all")),
  );
  return all ? "all" : requests.length > 0 ? "some GPUs by device request" : undefined;
}
