import { EVERY_ADDRESS } from "@local-serving/machines/address";
import {
  holdsUnknown,
  knownMap,
  list,
  map,
  plainProps,
  type Read,
  SOME_WORDS,
  text,
  UNKNOWN,
  type Word,
  wordsOf,
} from "@local-serving/vllm/argv/unknown";

/** What decides which program a container runs, and with which arguments. */
export interface LaunchInputs {
  readonly image: Read<string>;
  /** `undefined`: the image's own entrypoint. */
  readonly entrypoint: readonly Word[] | undefined;
  readonly command: readonly Word[];
  readonly variables: ReadonlyMap<string, Word>;
  /** What its health check runs, as far as it is known: none, or one command. */
  readonly checks: readonly (readonly Word[])[];
  /** Its uploaded files, as far as they are known. */
  readonly files: readonly string[];
  /** The paths inside at which files of the machine, of volumes or of the program appear. */
  readonly places: readonly Word[];
  /** `undefined`: the image's own. */
  readonly workingDir: Read<string>;
}

/**
 * Launch inputs of a `docker.Container`, or of an entry in `servers` of a machine component, which
 * has an `environment`.
 */
export function launchOf(props: DeclaredResource["props"]): LaunchInputs {
  const launch = launches.get(props) ?? launchIn(props);
  launches.set(props, launch);
  return launch;
}

/** Several rules ask how one container starts, and its inputs don't change. */
const launches = new WeakMap<DeclaredResource["props"], LaunchInputs>();

function launchIn(props: DeclaredResource["props"]): LaunchInputs {
  const entrypoint = wordsOf(list(props.entrypoints));
  return {
    image: text(props.image),
    entrypoint: entrypoint.length === 0 ? undefined : entrypoint,
    command: wordsOf(list(props.command)),
    variables: variables(props.envs ?? props.environment),
    checks: checkOf(props.healthcheck),
    files: textsIn(props.uploads),
    places: placesIn(props),
    workingDir: text(props.workingDir),
  };
}

/** The keys by which entries of these lists say where their files appear. */
const PLACES = { volumes: "containerPath", mounts: "target", uploads: "file" };

function placesIn(props: DeclaredResource["props"]): Word[] {
  return Object.entries(PLACES).flatMap(([setting, key]): Word[] => {
    const entries = list(props[setting]);
    if (entries === UNKNOWN) return [SOME_WORDS];
    return entries.map((entry) => text(knownMap(entry)[key]) ?? SOME_WORDS);
  });
}

/**
 * The command of a health check: Docker hands `CMD-SHELL` to a shell, and runs what follows `CMD`.
 */
function checkOf(healthcheck: unknown): Word[][] {
  const [kind, ...words] = wordsOf(list(knownMap(healthcheck).tests));
  if (kind === undefined || kind === "NONE") return [];
  if (kind === "CMD-SHELL") return [["sh", "-c", ...words]];
  return [kind === "CMD" ? words : [kind, ...words]];
}

/** Every text inside a value, as far as it is known. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Whether a container asks for GPUs, or may: by request, runtime, device or the variable of
 * NVIDIA's runtime.
 */
export function asksForGpus(props: DeclaredResource["props"]): boolean {
  const requests = list(props.deviceRequests);
  return (
    (props.gpus !== undefined && props.gpus !== "") ||
    requests === UNKNOWN ||
    requests.length > 0 ||
    text(props.runtime) === "nvidia" ||
    holdsUnknown(props.runtime) ||
    textsIn(props.devices).some((path) => path.includes("nvidia")) ||
    !NO_GPUS.has(variables(props.envs).get("NVIDIA_VISIBLE_DEVICES"))
  );
}

/** Values with which NVIDIA's runtime, where Docker has it by default, gives no GPU. */
const NO_GPUS = new Set<Word | undefined>([undefined, "", "none", "void"]);

/** The same, and what lets a container reach GPUs without asking for one. */
export function reachesGpus(props: DeclaredResource["props"]): boolean {
  const { privileged, devices, deviceCgroupRules: rules } = props;
  return (
    asksForGpus(props) ||
    privileged === true ||
    rules !== undefined ||
    holdsUnknown([privileged, devices])
  );
}

/**
 * Environment of a container as name and value; an entry that is not known has no name and is left
 * out.
 */
export function variables(environment: unknown): Map<string, Word> {
  if (Array.isArray(environment)) {
    const entries = environment.map(
      (entry) => /^([^=]+)=(.*)/s.exec(typeof entry === "string" ? entry : "") ?? [],
    );
    return new Map(
      entries.flatMap(([, name, value = ""]) => (name === undefined ? [] : [[name, value]])),
    );
  }
  return new Map(
    Object.entries(knownMap(environment)).map(([name, value]) => [name, text(value) ?? SOME_WORDS]),
  );
}

/** A property's text, where it has one that is known. */
export function knownText(value: unknown): string | undefined {
  const known = text(value);
  return known === UNKNOWN ? undefined : known;
}

/** The name that Docker and other resources know a container by. */
export const containerName = (resource: DeclaredResource): string =>
  knownText(resource.props.name) ?? resource.name;

/**
 * The name for a message: the program's own where Pulumi made the container's name from it with a
 * random suffix.
 */
export function displayName(resource: DeclaredResource): string {
  const name = containerName(resource);
  return /^-[0-9a-f]{7}$/.test(name.slice(resource.name.length)) && name.startsWith(resource.name)
    ? resource.name
    : name;
}

/** What a property that may be unknown is, in words for a message. */
export function valueInWords(value: Read<string>): string {
  return value === UNKNOWN
    ? "a value that is not known yet"
    : value === undefined
      ? "nothing"
      : `\`${value}\``;
}

/** A published port. */
export interface PublishedPort {
  /** `0.0.0.0` is every address of the machine, and Docker's default. */
  readonly address: Read<string>;
  /** `undefined`: Docker picks a free one. */
  readonly port: Read<string>;
  readonly protocol: string;
}

/** The ports that a container publishes, `UNKNOWN` when the list itself is not known. */
export function publishedPorts(
  props: DeclaredResource["props"],
): readonly PublishedPort[] | typeof UNKNOWN {
  const ports = list(props.ports);
  if (ports === UNKNOWN) return UNKNOWN;
  return ports.map((entry) => {
    const port = map(entry);
    if (port === undefined || port === UNKNOWN)
      return { address: UNKNOWN, port: UNKNOWN, protocol: "tcp" };
    const protocol = knownText(port.protocol) ?? "tcp";
    return { address: text(port.ip) || EVERY_ADDRESS, port: text(port.external), protocol };
  });
}

/** A resource as a program declares it: its inputs, before anything is created. */
export interface DeclaredResource {
  /** Pulumi's type token. */
  readonly type: string;
  /** Name within the program. */
  readonly name: string;
  readonly urn?: string;
  /** URN of its parent. */
  readonly parent?: string;
  /**
   * What says on which Docker host it lives: the URN of its provider, or the name of the machine in
   * a plan.
   */
  readonly provider?: string;
  /** What the plan says that a container of ours is; in the engine the types in its URN say so. */
  readonly role?: string;
  /** What the plan says of a machine's Docker engine; in the engine its provider says so. */
  readonly dockerHost?: string;
  /** Boot id of a machine's kernel, where it was read. */
  readonly bootId?: string;
  /** Inputs. After `withPlainProps`, `UNKNOWN` stands for each value that is not known yet. */
  readonly props: Readonly<Record<string, unknown>>;
}

/** The same resource with plain data as properties, which is what every rule is given. */
export function withPlainProps(resource: DeclaredResource): DeclaredResource {
  return { ...resource, props: plainProps(resource.props) };
}

/** The resources of one type. */
export function ofType(resources: readonly DeclaredResource[], type: string): DeclaredResource[] {
  return resources.filter((resource) => resource.type === type);
}

/** Things by a key of theirs, each in the order in which they are given. */
export function grouped<Each, Key>(
  all: readonly Each[],
  keyOf: (each: Each) => Key,
): Map<Key, Each[]> {
  const groups = new Map<Key, Each[]>();
  for (const each of all) {
    const key = keyOf(each);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  return groups;
}
