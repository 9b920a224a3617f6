import { imageReference } from "@local-serving/machines/docker/imageReference";
import {
  readServerArguments,
  type ServerArguments,
} from "@local-serving/vllm/argv/serverArguments";
import {
  type Invocations,
  loadsEngine,
  mentionsServer,
} from "@local-serving/vllm/argv/serverInvocations";
import { isText, text, type Word } from "@local-serving/vllm/argv/unknown";
import { droppedVariables, engineData, engineVersions } from "@local-serving/vllm/engineData";
import {
  asksForGpus,
  containerName,
  type DeclaredResource,
  type LaunchInputs,
  launchOf,
  reachesGpus,
} from "./container";
import { isIdle, isIdleCommand } from "./idleCommand";
import { engineDataOf } from "./imageRecord";
import { isOtherProgram, repositoryIn } from "./imageUses";
import { invocationsOf } from "./invocations";
import namesOfOthers from "./namesOfOthers.json";
import {
  type Engine,
  engineOf,
  isEngineProgram,
  isShare,
  namesShare,
  ownEngine,
} from "./otherEngines";
import { declaredRole, roleByName } from "./role";

/** What a container is, as far as an inference server goes. */
export type ServerReading =
  /** It is none; `engines` are those that it loads for its own work. */
  | { readonly kind: "no"; readonly engines?: readonly Engine[] }
  /**
   * It is one; `servers` are those that it starts, `unreadable` says what can't be told about them.
   */
  | {
      readonly kind: "yes";
      readonly servers: readonly ServerArguments[];
      readonly unreadable: readonly string[];
      /** What it loads beside them. */
      readonly engines?: readonly Engine[];
    }
  /** It may be one: what it runs is not known yet, and something about it suggests a server. */
  | { readonly kind: "possible"; readonly unreadable: readonly string[] };

const NOT_A_SERVER: ServerReading = { kind: "no" };

/** Several rules read each container; a declared resource doesn't change. */
const readings = new WeakMap<DeclaredResource, ServerReading>();

/** Is this container an inference server, and which arguments does it start with? */
export function readContainer(resource: DeclaredResource): ServerReading {
  const known = readings.get(resource);
  if (known !== undefined) return known;
  const { props } = resource;
  const launch = launchOf(props);
  const reading = readLaunch(launch, {
    hint: () => speaksForServer(resource),
    gpus: () => reachesGpus(props),
    isDeclared: declaredRole(resource) === "inference-server",
  });
  readings.set(resource, reading);
  return reading;
}

/** The servers that a container starts, as far as they can be read. */
export function serversIn(resource: DeclaredResource): readonly ServerArguments[] {
  const reading = readContainer(resource);
  return reading.kind === "yes" ? reading.servers : [];
}

/** Several rules read what a machine component says of each of its servers. */
const declared = new WeakMap<Readonly<Record<string, unknown>>, ServerReading>();

/** Does the same for a server, by the arguments that its machine component declares. */
export function readDeclared(server: Readonly<Record<string, unknown>>): ServerReading {
  const reading = declared.get(server) ?? readLaunch(launchOf(server));
  declared.set(server, reading);
  return reading;
}

/** The servers that a machine component's entry declares, as far as they can be read. */
export function declaredServers(
  server: Readonly<Record<string, unknown>>,
): readonly ServerArguments[] {
  const reading = readDeclared(server);
  return reading.kind === "yes" ? reading.servers : [];
}

const isNamedServer = ({ image }: LaunchInputs) =>
  typeof image === "string" && roleByName(image) === "inference-server";

/** What is known of a container beside its launch inputs. */
interface Signs {
  /** Whether anything else suggests a server. */
  readonly hint: () => boolean;
  /** Whether it reaches GPUs, so that options of vLLM alone tell a server. */
  readonly gpus: () => boolean;
  /** Whether a component of ours says that it is one. */
  readonly isDeclared: boolean;
}

const ALL_SIGNS: Signs = { hint: () => true, gpus: () => true, isDeclared: false };

/** Does the same by the launch inputs alone. */
function readLaunch(launch: LaunchInputs, signs = ALL_SIGNS): ServerReading {
  const checks = checksOf(launch);
  const found = invocationsOf([...(launch.entrypoint ?? []), ...launch.command], launch.variables);
  const reading = withChecks(readCommand(launch, found, signs), launch, checks);
  const engines = signs.gpus() ? [found, ...checks].flatMap(enginesIn) : [];
  return engines.length === 0 || reading.kind === "possible" ? reading : { ...reading, engines };
}

/** The engines that commands load without serving anybody. */
const enginesIn = ({ engines, commands }: Invocations): Engine[] => [
  ...engines.map(ownEngine),
  ...commands
    .filter((each) => !namesShare(each) && !isIdleCommand(each, false))
    .flatMap((each) => engineOf(each) ?? []),
];

/** Adds what health checks start: each is a command like any other, and runs beside the first. */
function withChecks(
  reading: ServerReading,
  launch: LaunchInputs,
  checks: readonly Invocations[],
): ServerReading {
  const started = checks.flatMap(({ servers: found, commands }) =>
    found.length > 0 ? found : commands.flatMap((command) => wrapperArguments(command, false)),
  );
  const servers = started.map((words) =>
    readServerArguments(words, engineDataOf(launch.image).data),
  );
  const unreadable = [
    ...checks.flatMap((check) => check.unreadable.map((why) => `in its health check, ${why}`)),
    ...servers.flatMap((each) => each.unreadable),
  ];
  if (servers.length === 0 && unreadable.length === 0) return reading;
  if (reading.kind === "no") return { kind: "yes", servers, unreadable };
  const own = reading.kind === "yes" ? reading.servers : [];
  return {
    kind: "yes",
    servers: [...own, ...servers],
    unreadable: [...reading.unreadable, ...unreadable],
  };
}

const checksOf = ({ checks, variables }: LaunchInputs) =>
  checks.map((words) => invocationsOf(words, variables));

/** Does the same for its command alone. */
function readCommand(launch: LaunchInputs, found: Invocations, signs: Signs): ServerReading {
  const { data } = engineDataOf(launch.image);
  const readable = (
    servers: readonly (readonly Word[])[],
    unreadable: readonly string[],
  ): ServerReading => {
    const read = servers.map((words) => readServerArguments(words, data));
    const faults = read.flatMap((each) => each.unreadable);
    return { kind: "yes", servers: read, unreadable: [...unreadable, ...faults] };
  };
  if (found.servers.length > 0) return readable(found.servers, found.unreadable);
  const { isDeclared } = signs;
  if (!isDeclared && isIdle(launch, found)) return NOT_A_SERVER;
  const argv = [...(launch.entrypoint ?? []), ...launch.command];
  const unknownWord = argv.some((word) => !isText(word));
  const imageTells = typeof launch.image === "string" && imageReference(launch.image) !== undefined;
  const onGpus = signs.gpus();
  const isServer = isDeclared || isNamedServer(launch);
  const wrapped = found.commands
    .filter((command) => !loads(command))
    .flatMap((command) => wrapperArguments(command, onGpus));
  if (!isDeclared && wrapped.length === 0 && isOnlyEngine(found, isServer)) return NOT_A_SERVER;

  if (isServer || (onGpus && !unknownWord && (imageTells || argv.length > 0) && saysVllm(launch))) {
    const isWhole = found.unreadable.length === 0 && found.scripts.length === 0;
    // The image's own entrypoint is the server, and the command its arguments.
    if (launch.entrypoint === undefined && isWhole) return readable([launch.command], []);
    if (wrapped.length > 0) return readable(wrapped, found.unreadable);
    const why = unknownWord
      ? "its entrypoint or command is not known before the update"
      : "no `vllm serve` can be read from its entrypoint";
    return {
      kind: "yes",
      servers: [],
      unreadable: found.unreadable.length > 0 ? found.unreadable : [why],
    };
  }
  if (found.unreadable.length > 0)
    return { kind: "yes", servers: [], unreadable: found.unreadable };
  if (wrapped.length > 0) return readable(wrapped, []);
  return unread(launch, found, signs);
}

/** What is left of a container whose command starts no server that can be read. */
function unread(launch: LaunchInputs, found: Invocations, { hint, gpus }: Signs): ServerReading {
  const scripts = () => [...found.scripts, ...checksOf(launch).flatMap((check) => check.scripts)];
  const hidden = gpus() ? hiddenVllm(launch, scripts()) : [];
  if (hidden.length > 0) return { kind: "yes", servers: [], unreadable: hidden };

  const argv = [...(launch.entrypoint ?? []), ...launch.command];
  const unknownWord = argv.some((word) => !isText(word));
  const imageTells = typeof launch.image === "string" && imageReference(launch.image) !== undefined;
  // A known program in an unknown image is that program; an unknown image with its own entrypoint
  // may be anything.
  const [program] = argv;
  const isProgram = isText(program) && !program.startsWith("-");
  if (!unknownWord && (imageTells || isProgram)) return NOT_A_SERVER;
  if (!hint()) return NOT_A_SERVER;
  const unreadable: string[] = [];
  if (!imageTells)
    unreadable.push("its image is not known before the update; give `image` as plain text");
  if (unknownWord)
    unreadable.push(
      "its `entrypoints` or `command` is not known before the update; give them as plain text",
    );
  return { kind: "possible", unreadable };
}

/** Whether a command loads an engine that is known, and nothing else of vLLM's. */
const loads = (command: readonly Word[]): boolean =>
  loadsEngine(command) || (isEngineProgram(command) && !namesShare(command));

/**
 * Whether all of vLLM that commands start is engines that serve nobody. In vLLM's own image each
 * other command has to be known, too.
 */
const isOnlyEngine = ({ commands, unreadable }: Invocations, isServer: boolean): boolean =>
  unreadable.length === 0 &&
  commands.some(loads) &&
  (!isServer || commands.every((command) => loads(command) || isIdleCommand(command, true)));

/** Returns the arguments that a wrapper passes on to vLLM, if they show that it does. */
function wrapperArguments(command: readonly Word[], onGpus: boolean): (readonly Word[])[] {
  if (!command.some((word) => isText(word) && (isShare(word) || (onGpus && isOnlyOfVllm(word)))))
    return [];
  // An unknown word in front stays in, since it may be an option too.
  return [command.slice(command.findIndex((word) => !isText(word) || word.startsWith("-")))];
}

/**
 * Whether the image's name or a variable says that vLLM runs in it. What is known as another
 * program speaks of vLLM as its client.
 */
function saysVllm({ image, variables }: LaunchInputs): boolean {
  if (typeof image === "string" && isOtherProgram(repositoryIn(image))) return false;
  const named = typeof image === "string" && /(?:^|[^a-z])vllm/i.test(image);
  return named || [...variables.keys()].some(isVariableOfVllm);
}

/** Finds starts of vLLM that no argument shows. */
function hiddenVllm({ variables, files }: LaunchInputs, scripts: readonly string[]): string[] {
  const starts = (text: string) => mentionsServer(text) || text.split(/\s+/).some(isOnlyOfVllm);
  const held = [...variables].filter(([, value]) => isText(value) && starts(value));
  const found = held.map(
    ([name]) => `its variable ${name} holds arguments of vLLM; move them to \`command\``,
  );
  if (files.some(mentionsServer) || scripts.some((script) => PROGRAM.test(script)))
    found.push("its script, file or health check starts vLLM; start vLLM by `command`");
  return found;
}

/**
 * The word `vllm` where a shell makes a program of it: first in a command, by its path, as an alias
 * or a variable.
 */
const PROGRAM =
  /(?:(?:^|[;&|({`\n])\s*|\bbin\/|\b(?:which|command(?: -v)?|exec|then|do|else|xargs|nohup|eval)\s+["']?|\balias\s+\w+=["']?)vllm(?=$|[\s"'`;&|)},\\$])|(?<!\S)(\w+)=["']?vllm\b.*\$\{?\1\b/s;

/**
 * Whether a container has what only a model server needs: GPUs, the host's shared memory, vLLM's
 * own variables, its name.
 */
function speaksForServer(resource: DeclaredResource): boolean {
  const { props } = resource;
  return (
    [resource.name, containerName(resource)].some((name) => /vllm/i.test(name)) ||
    asksForGpus(props) ||
    text(props.ipcMode) === "host" ||
    (Array.isArray(props.envs) && props.envs.some((entry) => /^VLLM_/.test(String(entry))))
  );
}

/**
 * Options of several words, and variables, that other programs have too. An option of one word
 * tells nothing.
 */
const SHARED = new Set(Object.values(namesOfOthers).flat());

/** The options and variables that only vLLM has, of every version. */
let names: readonly string[] | undefined;

/** Reads these names only for a container with GPUs that nothing else identifies. */
function namesOfVllm(): readonly string[] {
  names ??= engineVersions()
    .flatMap((version) => engineData(version) ?? [])
    .flatMap(({ values, lists, switches, variables }) => [
      ...values,
      ...lists,
      ...variables,
      ...Object.entries(switches).flatMap(([on, off]) => [on, ...off]),
    ])
    .concat(droppedVariables)
    .filter((name) => !SHARED.has(name));
  return names;
}

/**
 * Whether a word is an option that only vLLM has. An abbreviation counts if it has as many words as
 * the option.
 */
function isOnlyOfVllm(word: string): boolean {
  const name = /^--([a-z][\w-]*)/.exec(word)?.[1]?.replaceAll("_", "-");
  if (name === undefined || !name.includes("-")) return false;
  const dashes = name.split("-").length;
  return namesOfVllm().some((flag) => flag.startsWith(name) && flag.split("-").length === dashes);
}

/** A variable of vLLM, or of its image for SageMaker, which makes options of them. */
function isVariableOfVllm(name: string): boolean {
  return name.startsWith("SM_VLLM_") || (name.startsWith("VLLM_") && namesOfVllm().includes(name));
}
