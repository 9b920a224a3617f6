import { groupOf } from "@local-serving/vllm/argv/group";
import { holdsUnknown, text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import { type DeclaredResource, valueInWords } from "../lib/container";
import { readContainer } from "../lib/inferenceServer";
import { NOT_STARTED, saysOnRequest } from "../lib/together";
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

/** The same of one that starts on request: nothing but a person may start it. */
const WANTED_ON_REQUEST = [
  ...WANTED.filter(({ setting }) => setting !== "restart"),
  ...Object.entries(NOT_STARTED).map(([setting, wanted]) => ({
    what: "the setting that keeps it stopped until its model is asked for",
    setting,
    wanted,
    read: plain,
  })),
];

export const inferenceContainer: Rule = {
  name: "inference-container",
  description:
    "An inference server's container has all GPUs, the host's IPC namespace (one rank of several has its own, with a size) and the restart policy unless-stopped. If it starts on request, it has no restart policy and isn't started by the update.",
  level: "mandatory",
  byHand: true,
  of: TYPE.container,
  judgeResource(resource) {
    const reading = readContainer(resource);
    if (reading.kind !== "yes") return [];
    // If two of a group on one computer shared the machine's memory, they would take each other for
    // one.
    const ownMemory =
      typeof resource.props.shmSize === "number" &&
      reading.servers.some((server) => groupOf(server));
    const all = saysOnRequest(resource.props) ? WANTED_ON_REQUEST : WANTED;
    return all.flatMap(({ what, setting, wanted, read }) => {
      const value = read(resource.props, setting);
      if (value === String(wanted) || (setting === "ipcMode" && ownMemory)) return [];
      return `${nameOf(resource)} lacks ${what}. Set \`${setting}: ${JSON.stringify(wanted)}\`; it has ${valueInWords(value)}.`;
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
