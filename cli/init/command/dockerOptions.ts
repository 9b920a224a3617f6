import { defined, ownValue } from "@local-serving/base/faults/defined";
import { mayBeQuoted } from "@local-serving/base/faults/quoting";
import { holdsSecret } from "@local-serving/base/faults/secrets";
import { isIn } from "@local-serving/machines/home";
import { stringify } from "yaml";
import { otherPlatformOf, PLANNED_ON } from "../../../components/supply";
import { fitsServer } from "../../models/leastServer";
import { NOT_CARRIED } from "../notCarriedOver";
import { assigned, isAssignment } from "./assignments";
import { libraryOfOther } from "./otherMachine";
import { isToFill } from "./placeholder";
import { NO_STOP_GRACE, stopGrace } from "./stopGrace";
import { asWritten, expansions, type LeftOut, refuseCommand, scriptIn, standIn } from "./words";

/** An option of `docker run` with its value, if it takes one. */
export interface DockerOption {
  readonly name: string;
  readonly value?: string;
}

/** What `docker run` has behind it. */
export interface DockerRun {
  readonly options: readonly DockerOption[];
  readonly image?: string;
  /** Words behind the image. */
  readonly rest: readonly string[];
  /** Words in front of the image that a shell makes of something: options, if any. */
  readonly open: readonly string[];
  /** Options of the program itself, in front of `run`. */
  readonly front?: readonly string[];
}

/** Full names of the short options. */
const SHORT: Readonly<Record<string, string>> = {
  d: "detach",
  i: "interactive",
  t: "tty",
  P: "publish-all",
  q: "quiet",
  a: "attach",
  e: "env",
  p: "publish",
  v: "volume",
  w: "workdir",
  u: "user",
  h: "hostname",
  l: "label",
  m: "memory",
  c: "cpu-shares",
};

/** Options of `docker run` without a value; every other one takes one. */
const SWITCHES = new Set([
  "detach",
  "interactive",
  "tty",
  "rm",
  "privileged",
  "init",
  "read-only",
  "publish-all",
  "no-healthcheck",
  "oom-kill-disable",
  "sig-proxy",
  "disable-content-trust",
  "quiet",
  "use-api-socket",
]);

/** The switches of those that are on where nobody says otherwise. */
const USUALLY_ON = new Set(["sig-proxy", "disable-content-trust"]);

/** What Docker reads as off behind a switch. */
const OFF = /^(?:false|f|0)$/i;

/** More options than any container has: each is judged by itself. */
const MOST_OPTIONS = 100;

/** Splits what follows `docker run` into its options, the image and the rest. */
export function readDockerRun(words: readonly string[]): DockerRun {
  const options: DockerOption[] = [];
  const open: string[] = [];
  const left = [...words];
  while (left[0] !== undefined && (left[0].startsWith("-") || isOptions(left))) {
    const word = left.shift() ?? "";
    if (word === "--") break;
    const made = word.startsWith("-") ? [] : ownOptions(word);
    if (made === undefined) open.push(word);
    else left.unshift(...made);
    if (word.startsWith("-"))
      options.push(...(word.startsWith("--") ? longOption(word, left) : shortOptions(word, left)));
    if (options.length + open.length > MOST_OPTIONS)
      refuseCommand(
        `Its container has more than ${MOST_OPTIONS} variables, mounts and other options. Give those that its server needs.`,
      );
  }
  return { options, open, ...behind(left) };
}

/** `${NAME:+words}`, and what has several words: `${NAME[@]}`, or an array with what a loop adds. */
const OTHERWISE = /^\$\{(\w+):?\+([\s\S]*)\}$/;
const SEVERAL = /^\$(?:\{\w+\[[@*]\]|[@*]|\{[@*]\})|^\w+\+=\(/;
/** Variables that people keep options in. */
const CALLED_OPTIONS = /(?:ARGS?|OPTS?|OPTIONS?|FLAGS?|MOUNTS?|VOLUMES?|ENVS?|EXTRA)\w*$/i;

/**
 * Whether the first of the words, of which only a shell knows what it is, stands for options: by its
 * form, by its name, or since another image stands behind it.
 */
function isOptions([word = "", next = ""]: readonly string[]): boolean {
  const found = expansions(word);
  const [expansion = ""] = found;
  if (found.length !== 1 || word !== standIn(expansion)) return false;
  if (OTHERWISE.test(expansion) || SEVERAL.test(expansion)) return true;
  const [, name = ""] = /^\$\{?(\w+)/.exec(expansion) ?? [];
  return (CALLED_OPTIONS.test(name) && !/IMAGE|IMG/i.test(name)) || isDockers(next);
}

/** Whether a word is an option that only a container's program has. */
const isDockers = (word: string): boolean =>
  /^(?:-[vpe]|--(?:volume|mount|publish|env|env-file|gpus|ipc|network|net|name|shm-size|ulimit|rm|restart|runtime|entrypoint|privileged))(?:=|$)/.test(
    word,
  );

/** The options in `${NAME:+-e "NAME=$NAME"}`: what is put in there is the variable's own value. */
function ownOptions(word: string): readonly string[] | undefined {
  const [, name = "", written = ""] = OTHERWISE.exec(expansions(word)[0] ?? "") ?? [];
  if (name === "" || !new RegExp(`\\$\\{?${name}\\b`).test(written)) return undefined;
  const [only, ...others] = scriptIn(written).commands;
  const made = only?.words ?? [];
  return others.length === 0 && made[0]?.startsWith("-") ? made : undefined;
}

/** Older names of options. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  net: "network",
  "net-alias": "network-alias",
};

/** An option by its full name, if it isn't switched off; its value may be the next of the words. */
function longOption(word: string, left: string[]): DockerOption[] {
  const [, written = "", given] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(word) ?? [];
  const name = ownValue(OTHER_NAMES, written) ?? written;
  if (!SWITCHES.has(name)) return [{ name, value: given ?? left.shift() ?? "" }];
  const isOff = OFF.test(given ?? "");
  if (isOff && !USUALLY_ON.has(name)) return [];
  return [isOff ? { name, value: "false" } : { name }];
}

/** `-it`, `-p 8000:8000`, `-p8000:8000`: the last letter of a group may take a value. */
function shortOptions(word: string, left: string[]): DockerOption[] {
  const letters = word.slice(1);
  const nameOf = (letter: string) => ownValue(SHORT, letter) ?? letter;
  const last = [...letters].findIndex((letter) => !SWITCHES.has(nameOf(letter)));
  const switches = [...(last < 0 ? letters : letters.slice(0, last))];
  const options: DockerOption[] = switches.map((letter) => ({ name: nameOf(letter) }));
  if (last < 0) return options;
  const attached = letters.slice(last + 1).replace(/^=/, "");
  const value = attached === "" ? (left.shift() ?? "") : attached;
  return [...options, { name: nameOf(letters.charAt(last)), value }];
}

const behind = ([image, ...rest]: readonly string[]) =>
  image === undefined ? { rest } : { image, rest };

/** A volume of the command's own container. */
export interface Volume {
  /** Its folder on the machine, where that is known: absolute, or below `~/`. */
  readonly source?: string;
  /** It is of a folder of the machine, of which only the command's own shell knows the path. */
  readonly isOfShell?: boolean;
  readonly target: string;
  /** The option, as it was written. */
  readonly what: string;
}

/** What is taken of a container's options, and what is not. */
export interface ContainerFacts {
  readonly variables: ReadonlyMap<string, string>;
  /** Port of the machine by the port inside. */
  readonly ports: ReadonlyMap<number, number>;
  /** Its program gives it the machine's own network, without an option that says so. */
  readonly isOnHost?: true;
  /** Folder of the machine with the models, where it isn't the usual one. */
  readonly modelCache?: string;
  /** How long it may take to end, where a server may have that. */
  readonly stopGraceSeconds?: number;
  /** Further volumes, of folders that may hold a model. */
  readonly volumes: readonly Volume[];
  /** Options whose intent every container of ours has. */
  readonly setHere: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** What is given of other hardware than servers run on here, a sentence each. */
  readonly elsewhere: readonly string[];
}

/** Options whose intent every server's container has anyway, by name and a test of their value. */
const SET_HERE: Readonly<Record<string, RegExp>> = {
  // The container device interface calls the GPUs so.
  gpus: /^(?:all|device=nvidia\.com\/gpu=(?:all|0))$/,
  device: /^nvidia\.com\/gpu=(?:all|0)$/,
  runtime: /^nvidia$/,
  ipc: /^host$/,
  restart: /^unless-stopped$/,
  name: /./,
  interactive: /^$/,
  tty: /^$/,
  pull: /./,
  platform: /arm64|aarch64/,
  ulimit: /^(?:memlock=-1(?::-1)?|stack=67108864(?::67108864)?)$/,
  "add-host": /^host\.docker\.internal[:=]host-gateway$/,
};

/** Says of a file of variables that isn't at hand how it is read. */
export const NO_ENV_FILE =
  "the file isn't read: give this text as a file with that one beside it, or write its variables as `environment`, without secrets.";

/** Why an option of `docker run` is not carried over. */
const WHY: Readonly<Record<string, string>> = {
  detach: "Pulumi starts the container, and Docker keeps it running.",
  rm: NOT_CARRIED.stays,
  network: NOT_CARRIED.ownNetwork,
  restart: NOT_CARRIED.restarts,
  "shm-size": "with `--ipc host` /dev/shm is the machine's.",
  ipc: "it is `host` here.",
  gpus: NOT_CARRIED.allGpus,
  privileged: NOT_CARRIED.privileges,
  ulimit: "memlock is `lockedMemoryBytes`, the stack is 64 MiB, and other limits are Docker's own.",
  memory: "the share of the memory limits vLLM; Docker's limit doesn't count GPU memory.",
  user: NOT_CARRIED.ownUser,
  entrypoint: "the start gate takes its place and starts `vllm serve`.",
  "env-file": NO_ENV_FILE,
  secret: NOT_CARRIED.secretFile,
  label: "the labels here name the stack's machine and server.",
  "stop-timeout": NO_STOP_GRACE,
  ...Object.fromEntries(
    ["cmd", "interval", "timeout", "start-period", "start-interval", "retries"].map((name) => [
      `health-${name}`,
      NOT_CARRIED.health,
    ]),
  ),
  platform: "Docker takes the image that is made for the machine.",
};

/** Where vLLM's image looks for models. */
export const CACHE_INSIDE = "/root/.cache/huggingface";
const MODEL_CACHE = /^\/root\/\.cache\/huggingface(?:\/hub)?\/?$/;
/** The folder of all caches, with that of the models. */
const ALL_CACHES = /^\/root\/\.cache\/?$/;
/** Caches of compiled kernels, which lie in a volume here. */
const OTHER_CACHE = /^\/root\/(?:\.cache\/(?:vllm|flashinfer|tilelang)|\.triton)(?:\/|$)/;
/** The operator's own cache, however it is written. */
const USUAL_CACHE =
  /^(?:~|\$HOME|\$\{HOME\}|%h|\/root|\/home\/[^/]+)\/\.cache\/huggingface(?:\/hub)?\/?$/;

/** Says of each option of a container what becomes of it. */
export function containerFacts(options: readonly DockerOption[]): ContainerFacts {
  const variables = new Map(
    options.flatMap(({ name, value = "" }) => (name === "env" ? [variableOf(value)] : [])),
  );
  const ports = new Map<number, number>();
  const found = options.map((option) => becomes(option, variables.get("HF_HOME"), ports));
  const modelCache = found.findLast((each) => each.modelCache !== undefined)?.modelCache;
  const { stopGraceSeconds } = found.findLast((each) => each.stopGraceSeconds !== undefined) ?? {};
  return {
    variables,
    ports,
    ...defined({ modelCache, stopGraceSeconds }),
    volumes: found.flatMap((each) => each.volumes ?? []),
    setHere: [...new Set(found.flatMap((each) => each.setHere ?? []))],
    leftOut: found.flatMap((each) => each.leftOut ?? []),
    elsewhere: options.flatMap(elsewhereText),
  };
}

/** `NAME=value`; a name alone is a variable of the shell that starts the container. */
function variableOf(given: string): [name: string, value: string] {
  return isAssignment(given) ? assigned(given) : [given, standIn(`$${given}`)];
}

/** Options that give a container devices, or say which processor its programs are for. */
const OF_HARDWARE: ReadonlySet<string> = new Set(["device", "runtime", "platform"]);

/** Says of an option that it is for other hardware than servers run on here. */
function elsewhereText({ name, value = "" }: DockerOption): string[] {
  const other = OF_HARDWARE.has(name) ? otherPlatformOf(value) : undefined;
  return other === undefined
    ? []
    : [
        `The command is ${other.made} (--${name} ${asWritten(other.says)}), and servers here run on ${PLANNED_ON}: ${name === "platform" ? "leave that out" : "take a command for these"}.`,
      ];
}

interface Becomes extends Partial<Pick<ContainerFacts, "volumes" | "leftOut">> {
  readonly modelCache?: string | undefined;
  readonly stopGraceSeconds?: number;
  readonly setHere?: string;
}

/** What becomes of an option; a port that is published is added to `ports`. */
function becomes(
  option: DockerOption,
  cacheInside: string | undefined,
  ports: Map<number, number>,
): Becomes {
  const { name, value = "" } = option;
  if (name === "env" || (name === "entrypoint" && value === "")) return {};
  if (name === "publish") return { leftOut: publish(value, ports) };
  if (name === "volume" || name === "mount") return mountFacts(option, cacheInside);
  const stopGraceSeconds = name === "stop-timeout" ? stopGrace(value) : undefined;
  if (stopGraceSeconds !== undefined) return { stopGraceSeconds };
  if (ownValue(SET_HERE, name)?.test(value)) return { setHere: `--${name}` };
  return { leftOut: [leftOut(option, ownValue(WHY, name) ?? NOT_CARRIED.setting)] };
}

/** What becomes of a volume; `cacheInside` is where the container looks for models. */
function mountFacts(option: DockerOption, cacheInside: string | undefined): Becomes {
  const { name, value = "" } = option;
  const { source, target } = mountOf(name, value);
  if (MODEL_CACHE.test(target) || plainFolder(target) === plainFolder(cacheInside ?? ""))
    return cacheFacts(source, target, asWritten(`-v ${value}`));
  if (ALL_CACHES.test(target)) {
    const what = asWritten(`-v ${value}`);
    return cacheFacts(`${plainFolder(source)}/huggingface`, CACHE_INSIDE, what);
  }
  if (OTHER_CACHE.test(target)) return { setHere: "volumes of compiled kernels" };
  const what = written(option);
  const other = libraryOfOther(source, target);
  if (other !== undefined) return { leftOut: [leftOut(option, other)] };
  if (OF_CODE.test(target)) return { leftOut: [leftOut(option, OVER_CODE)] };
  const [from, to] = [sourceOf(source), plainFolder(target)];
  const isOfShell = from === undefined && !VOLUME_NAME.test(source);
  return {
    ...defined({ modelCache: cacheBelow(from, to, cacheInside) }),
    volumes: [
      { ...defined({ source: from, isOfShell: isOfShell || undefined }), target: to, what },
    ],
    leftOut: [leftOut(option, `${NO_VOLUME}${mountText(source, from, to)}`)],
  };
}

/** Files and folders of an image's own programs. */
const OF_CODE = /\/(?:site|dist)-packages(?:\/|$)|\/vllm\/\w+\/.*\.py$/;
const OVER_CODE =
  "it lies over the image's own code, so that without it another vLLM runs: build an image that has it (`FROM` that image, `COPY`), and pin that.";

/** The folder of the machine in which the models lie, where a volume holds more than them. */
function cacheBelow(from: string | undefined, to: string, inside = ""): string | undefined {
  return from === undefined || inside === to || !isIn(inside, to)
    ? undefined
    : folderOf(`${from}${inside.slice(to.length)}`);
}

/** What becomes of the volume that the container looks for models in. */
function cacheFacts(source: string, target: string, what: string): Becomes {
  const modelCache = folderOf(source);
  if (modelCache !== undefined || USUAL_CACHE.test(asWritten(source))) return { modelCache };
  const [volume = "", ...below] = source.split("/");
  const isName = VOLUME_NAME.test(volume);
  const why = isName ? cacheVolumeText(volume, target, below.join("/")) : NO_FOLDER;
  return { leftOut: [{ what, why, words: [what.slice("-v ".length), source] }] };
}

const NO_FOLDER = "its folder on the machine is not known: set `modelCache`.";
const VOLUME_NAME = /^[a-zA-Z0-9][\w.-]*$/;

/** How the models of a named volume come into the machine's cache. */
function cacheVolumeText(source: string, target: string, below: string): string {
  // Podman calls the volume of a Quadlet so.
  const [program, name] = source.endsWith(".volume")
    ? ["podman", `systemd-${source.slice(0, -".volume".length)}`]
    : ["docker", source];
  const cache = /\/hub\/?$/.test(target) ? "~/.cache/huggingface/hub" : "~/.cache/huggingface";
  return `the volume isn't taken: servers here have the machine's own cache (\`modelCache\`), and download again what isn't there. \`${program} run --rm -v ${name}:/from:ro -v ${cache}:/to docker.io/library/ubuntu cp -au /from/${below === "" ? "" : `${below}/`}. /to\` copies its models there; \`${program} volume ls\` shows the volume's whole name.`;
}

const NO_VOLUME =
  "a server gets only the model cache, a volume for compiled kernels, and the folders that its arguments name.";
/** What to write where the server has to read a folder; nothing where it may not have that one. */
function mountText(source: string, from: string | undefined, to: string): string {
  const toFill = expansions(source).find(isToFill);
  if (toFill !== undefined)
    return ` \`${asWritten(toFill)}\` is a placeholder: write the folder itself.`;
  if (from === undefined)
    return " With `mounts` a server reads a further folder of the machine, by its path.";
  return fitsServer({ mounts: [{ from, to }] })
    ? ` If it has to read this one, write \`mounts: ${stringify([{ from, to }], IN_A_LINE).trim()}\` below the server.`
    : "";
}

const IN_A_LINE = { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 } as const;

/** Says of an option why it isn't carried over. */
function leftOut(option: DockerOption, why: string): LeftOut {
  const { name, value = "" } = option;
  const letters = Object.keys(SHORT).filter((letter) => SHORT[letter] === name);
  const names = [`--${name}`, ...letters.map((letter) => `-${letter}`)];
  const what = written(option);
  // A value that isn't shown may be a secret.
  const isShown = value !== "" && what.endsWith(asWritten(value));
  if (!isShown) return { what, why, words: names };
  const both = names.flatMap((each) => [`${each} ${value}`, `${each}=${value}`]);
  // A number or a short word stands in other lines, too.
  const rest = value.length < UNLIKE_OTHERS ? [...names, value] : [value, ...names];
  return { what, why, words: [...both, ...rest] };
}

/** Characters of a value that no other option has by chance. */
const UNLIKE_OTHERS = 8;

/** An option as it was written, where that holds no secret. */
function written({ name, value }: DockerOption): string {
  const whole = value === undefined || value === "" ? `--${name}` : `--${name} ${value}`;
  if (name === "label" && value !== undefined) return labelText(value);
  return holdsSecret(whole) ? `--${name}` : asWritten(whole);
}

/** A proxy's label may hold a password or its hash, in a form of its own. */
function labelText(label: string): string {
  const [name = "", value = ""] = label.split(/=([\s\S]*)/);
  const isPlain = value === "" || (mayBeQuoted(value) && !holdsSecret(label));
  return isPlain ? `--label ${asWritten(label)}` : `--label ${asWritten(name)} (value not shown)`;
}

function publish(value: string, ports: Map<number, number>): LeftOut[] {
  const [, address, host = "", inside = ""] = /^(?:(.+):)?(\d+):(\d+)(?:\/tcp)?$/.exec(value) ?? [];
  if (host === "") return [{ what: asWritten(`-p ${value}`), why: NO_PORT, words: [value] }];
  ports.set(Number(inside), Number(host));
  const what = asWritten(`-p ${value} for other computers`);
  return address === "127.0.0.1" ? [] : [{ what, why: NOT_EVERYBODY, words: [value] }];
}

const NO_PORT = "no port of the machine can be read from it.";

/** Why a server that anybody on the network reached is on this machine alone. */
export const NOT_EVERYBODY =
  "the server answers on this machine alone; other computers reach the bridge, with a key.";

function mountOf(name: string, value: string): { source: string; target: string } {
  if (name === "volume") {
    const [source = "", target = ""] = value.split(":");
    return { source, target };
  }
  const parts = new Map(value.split(",").map((part) => [part.split("=")[0], part.split("=")[1]]));
  return {
    source: parts.get("source") ?? parts.get("src") ?? "",
    target: parts.get("target") ?? parts.get("dst") ?? parts.get("destination") ?? "",
  };
}

const plainFolder = (path: string) => path.replace(/(.)\/+$/, "$1");

/** The folder of the machine that a volume is of, where it is known. */
function sourceOf(source: string): string | undefined {
  if (expansions(source).some((each) => !/^\$\{?HOME\}?$/.test(each))) return undefined;
  const plain = plainFolder(asWritten(source)).replace(/^\$(?:HOME|\{HOME\})(?=\/)/, "~");
  return /^(?:\/|~\/)/.test(plain) ? plain : undefined;
}

/** The folder of the machine that a model cache lies in, unless it is the usual one. */
export function folderOf(source: string): string | undefined {
  const plain = sourceOf(source)?.replace(/\/hub$/, "");
  return plain === undefined || USUAL_CACHE.test(plain) ? undefined : plain;
}
