import {
  readServerArguments,
  type ServerArguments,
} from "../../components/inference-server/argv/serverArguments";
import { serverInvocations } from "../../components/inference-server/argv/serverInvocations";
import { holdsUnknown, type Read, text, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { isText, type Word } from "../../components/inference-server/argv/words";
import { containerLaunch, type LaunchInputs } from "./container";
import type { DeclaredResource } from "./declaredResource";
import { engineOf } from "./engine";
import { imageReference, roleOf } from "./imageReference";

/** What a container is, as far as an inference server goes. */
export type ServerReading =
  | { readonly kind: "no" }
  /** It is one; `servers` are those that it starts, `unreadable` says what can't be told about them. */
  | {
      readonly kind: "yes";
      readonly servers: readonly ServerArguments[];
      readonly unreadable: readonly string[];
    }
  /** It may be one: what it runs is not known yet, and something about it speaks for it. */
  | { readonly kind: "possible"; readonly unreadable: readonly string[] };

const NOT_A_SERVER: ServerReading = { kind: "no" };
/** A flag that no other server has, for a wrapper script that hands its arguments on. */
const TELLING_FLAG = /^--(gpu[-_]memory[-_]utilization|device[-_]memory[-_]utilization)(=|$)/;

/** Several rules read each container; a declared resource doesn't change. */
const readings = new WeakMap<DeclaredResource, ServerReading>();

/** Is this container an inference server, and which arguments does it start with? */
export function readContainer(resource: DeclaredResource): ServerReading {
  const known = readings.get(resource);
  if (known !== undefined) return known;
  const reading = readLaunch(containerLaunch(resource.props), () => speaksForServer(resource));
  readings.set(resource, reading);
  return reading;
}

/** The same for the launch inputs alone; `hint` says whether anything else speaks for an inference server. */
export function readLaunch(launch: LaunchInputs, hint: () => boolean): ServerReading {
  const byImage = typeof launch.image === "string" && roleOf(launch.image) === "inference-server";
  const argv: readonly Word[] = [...(launch.entrypoint ?? []), ...launch.command];
  const found = serverInvocations(argv, launch.variables);
  const readable = (servers: readonly (readonly Word[])[], unreadable: readonly string[]): ServerReading => {
    const { data } = engineOf(launch.image);
    const read = servers.map((words) => readServerArguments(words, data));
    const faults = read.flatMap((each) => each.unreadable);
    return { kind: "yes", servers: read, unreadable: [...unreadable, ...faults] };
  };
  if (found.servers.length > 0) return readable(found.servers, found.unreadable);
  const unknownWord = argv.some((word) => !isText(word));

  if (byImage) {
    // The image's own entrypoint is the server, and the command its arguments.
    if (launch.entrypoint === undefined && found.unreadable.length === 0) {
      return readable([launch.command], []);
    }
    const wrapped = wrapperArguments(argv);
    if (wrapped !== undefined) return readable([wrapped], found.unreadable);
    const why = unknownWord
      ? "its entrypoint or command is not known before the update"
      : "its entrypoint starts no `vllm serve` that can be read";
    return { kind: "yes", servers: [], unreadable: found.unreadable.length > 0 ? found.unreadable : [why] };
  }
  if (found.unreadable.length > 0) return { kind: "yes", servers: [], unreadable: found.unreadable };
  const wrapped = wrapperArguments(argv);
  if (wrapped !== undefined) return readable([wrapped], []);

  const imageTells = typeof launch.image === "string" && imageReference(launch.image) !== undefined;
  if (imageTells && !unknownWord) return NOT_A_SERVER;
  // A known program in an unknown image is that program; an unknown image with its own entrypoint may be anything.
  if (!unknownWord && argv.length > 0 && isText(argv[0]) && !argv[0].startsWith("-")) return NOT_A_SERVER;
  if (!hint()) return NOT_A_SERVER;
  const unreadable = [
    ...(imageTells ? [] : ["its image can't be told before the update; give `image` as plain text"]),
    ...(unknownWord
      ? ["its `entrypoints` or `command` is not known before the update; give them as plain text"]
      : []),
  ];
  return { kind: "possible", unreadable };
}

function wrapperArguments(argv: readonly Word[]): readonly Word[] | undefined {
  if (!argv.some((word) => isText(word) && TELLING_FLAG.test(word))) return undefined;
  // An unknown word in front stays in, since it may be an option too.
  return argv.slice(argv.findIndex((word) => !isText(word) || word.startsWith("-")));
}

/** What only a server of models needs: GPUs, the host's shared memory, vLLM's own variables, its name. */
function speaksForServer(resource: DeclaredResource): boolean {
  const { props } = resource;
  const names = `${resource.name} ${named(text(props.name))}`;
  return (
    /vllm/i.test(names) ||
    asksForGpus(props) ||
    text(props.ipcMode) === "host" ||
    (Array.isArray(props.envs) && props.envs.some((entry) => /^VLLM_/.test(String(entry))))
  );
}

function named(name: Read<string>): string {
  return typeof name === "string" ? name : "";
}

function asksForGpus(props: DeclaredResource["props"]): boolean {
  const gpus = props.gpus !== undefined && props.gpus !== "";
  const requests = Array.isArray(props.deviceRequests)
    ? props.deviceRequests.length > 0
    : props.deviceRequests === UNKNOWN;
  return gpus || requests || text(props.runtime) === "nvidia" || holdsUnknown(props.runtime);
}
