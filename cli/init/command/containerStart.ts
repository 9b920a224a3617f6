import { defined } from "@local-serving/base/faults/defined";
import { isSecretName } from "@local-serving/base/faults/secrets";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { isKnownOption } from "@local-serving/vllm/argv/serverArguments";
import { serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { baseName, isText } from "@local-serving/vllm/argv/unknown";
import { startsVllmItself } from "../../../components/supply";
import { containerFacts, type DockerOption, type DockerRun, readDockerRun } from "./dockerOptions";
import { containerVerb, DEEPEST, withoutFront } from "./front";
import { withPlaceholders } from "./placeholder";
import { commandsOfShell, type Launch, preparedBy, refuseEngine, serversOf } from "./started";
import { asWritten, expansions, type LeftOut, refuseCommand } from "./words";

export const CONTAINER_PROGRAMS = new Set(["docker", "podman", "nerdctl"]);

/** The `docker run` that a command is, or that the script of a shell (`bash -c '...'`) has. */
export function containerRunIn(command: readonly string[], depth = 0): DockerRun | undefined {
  const { words } = withoutFront(command);
  const run = containerRun(words);
  if (run !== undefined || depth === DEEPEST) return run;
  const [inside] = commandsOfShell(words).flatMap((each) => containerRunIn(each, depth + 1) ?? []);
  return inside;
}

/** What `docker run` or one of its like has behind it; `undefined` for any other command. */
function containerRun([program = "", ...rest]: readonly string[]): DockerRun | undefined {
  if (!CONTAINER_PROGRAMS.has(baseName(program))) return undefined;
  const [verb, ...behind] = containerVerb(rest);
  if (verb !== "run" && verb !== "create") return undefined;
  const front = rest.slice(0, rest.length - behind.length - 1);
  return { ...readDockerRun(behind), front };
}

/** The command that a container runs. */
export function insideOf({ options, rest }: DockerRun) {
  const entrypoint = options.find(({ name }) => name === "entrypoint")?.value ?? "";
  return { entrypoint, command: entrypoint === "" ? rest : [entrypoint, ...rest] };
}

/** What an image of vLLM's starts by itself, or by a script that isn't at hand. */
interface ByImage {
  /** The arguments of its server. */
  readonly words: readonly string[];
  readonly script?: string;
}

/** Whether a text names no image yet: what only a shell knows, or what somebody is to fill in. */
export const isUnnamed = (image: string): boolean =>
  expansions(image).length > 0 || (imageReference(image) === undefined && !namesVllm(image));

/** Whether words are arguments of vLLM's by all of their options, a model among them. */
function areOfVllm(words: readonly string[]): boolean {
  const names = words.flatMap((word) => /^--([^=\s]+)/.exec(word)?.[1] ?? []);
  return names.includes("model") && names.length > 1 && names.every(isKnownOption);
}

/** The server that an image starts by the words behind it; `undefined` where it starts another program. */
export function startedByImage(run: DockerRun): ByImage | undefined {
  const { image = "", rest } = run;
  const { entrypoint, command } = insideOf(run);
  if (!namesVllm(image) && !(isUnnamed(image) && areOfVllm(command))) return undefined;
  const at = command.slice(0, 2).findIndex((word) => SCRIPT.test(word));
  if (at >= 0) {
    const behind = command.slice(at + 1);
    const words = behind[0] === "serve" ? behind.slice(1) : behind;
    const areOptions = words.some(
      (word) => word.startsWith("--") && isKnownOption(word.slice(2).split("=")[0] ?? ""),
    );
    return areOptions ? { words, script: command[at] ?? "" } : undefined;
  }
  if (entrypoint !== "" || NO_SERVER.test(baseName(rest[0] ?? ""))) return undefined;
  // An image whose entrypoint is `vllm` gets the command behind it.
  return { words: rest[0] === "serve" ? rest.slice(1) : rest };
}

const SCRIPT = /\.(?:sh|py)$/;

const byScript = (script: string): string =>
  `\`${asWritten(script)}\` starts it, and isn't read here: the words behind it are taken for the arguments of \`vllm serve\`.`;

/** Whether the name of an image, or the words of a command, speak of a vLLM. */
export const namesVllm = (name: string): boolean => /vllm/i.test(name) && !BESIDE_VLLM.test(name);

/** Images of programs that stand in front of a vLLM, or watch it. */
const BESIDE_VLLM = /vllm[\w./-]*(?:router|exporter|proxy|gateway|bench|benchmark|webui)/i;

/** Says of a command that starts vLLM behind an image which does that itself. */
function startedTwice({ options, image = "", rest }: DockerRun): string[] {
  const starts = startsVllmItself(image);
  if (starts === "no" || options.some(({ name }) => name === "entrypoint")) return [];
  const what = `\`${asWritten(rest.slice(0, 2).join(" "))}\` stands behind the image ${asWritten(image)}`;
  const why =
    starts === "yes"
      ? ", whose entrypoint is `vllm serve` already: vLLM takes it for arguments, so the command fails as it is published."
      : ". The image's entrypoint may say it already, and then the command fails as it is published.";
  return [`${what}${why} It is left out here.`];
}

/** Programs that a container is started with by hand. */
const NO_SERVER = /^(?:ba|da|z)?sh$|^python[\d.]*$|^(?:sleep|tail)$/;

/** An option with what nobody has filled in; the name of a variable is none of it. */
const toFillIn = ({ name, value }: DockerOption): DockerOption => ({
  name,
  ...defined({
    value:
      name === "env"
        ? value?.replace(/(?<==)[\s\S]+/, withPlaceholders)
        : value && withPlaceholders(value),
  }),
});

/** A variable that is handed on from the shell by its name alone, with the value that it has there. */
const handedOn =
  (given: ReadonlyMap<string, string>) =>
  ({ name, value = "" }: DockerOption): DockerOption => {
    const known = name === "env" && !isSecretName(value) ? given.get(value) : undefined;
    return { name, ...defined({ value: known === undefined ? value : `${value}=${known}` }) };
  };

/** What a container's program reads of its shell: which engine on which machine it speaks to. */
const OF_PROGRAM =
  /^(?:DOCKER_(?:HOST|CONTEXT|TLS_VERIFY|CERT_PATH|DEFAULT_PLATFORM)|CONTAINER_(?:HOST|CONNECTION|SSHKEY)|CONTAINERD_(?:ADDRESS|NAMESPACE))$/;

const OTHER_ENGINE =
  "it says which engine starts the container: `dockerHost` of the machine takes its place.";

/** Says of each variable that steers the container's program what takes its place. */
const steering = (given: ReadonlyMap<string, string>): LeftOut[] =>
  [...given].flatMap(([name, value]) => {
    const words = [`Environment=${name}=${value}`, `${name}=${value}`, name];
    return OF_PROGRAM.test(name)
      ? [{ what: `the variable ${name}`, why: OTHER_ENGINE, words }]
      : [];
  });

/** The same of an option in front of the verb: `docker --context spark run`. */
const engineOption = ({ front = [] }: DockerRun): LeftOut[] =>
  front.some((word) => /^(?:-[Hc]|--(?:host|context|connection|url))(?:=|$)/.test(word))
    ? [
        {
          what: `\`${asWritten(front.join(" "))}\` of its program`,
          why: OTHER_ENGINE,
          words: front,
        },
      ]
    : [];

const OPEN_WORDS =
  "which options of `docker run` a shell puts there isn't known: write yourself what the server needs of them.";

/** Words of which only a shell knows which options they are. */
function openText(word: string): LeftOut {
  const all = expansions(word);
  const names = all.flatMap((each) => /^\$?\{?(\w+)/.exec(each)?.[1] ?? []);
  return { what: all.map(asWritten).join(" "), why: OPEN_WORDS, words: [...all, ...names] };
}

/**
 * The servers of a `docker run`: by its command, or by an image that starts one itself. `given` are
 * the variables of the shell that starts it.
 */
export function inContainer(
  run: DockerRun,
  given: ReadonlyMap<string, string> = new Map(),
): readonly Launch[] {
  const { options, image = "" } = run;
  const container = containerFacts(options.map(handedOn(given)).map(toFillIn));
  const { command } = insideOf(run);
  const unread = options.flatMap(({ name, value = "" }) => (name === "env-file" ? [value] : []));
  const [server] = serversOf(command, container.variables, unread);
  const leftOut = [...run.open.map(openText), ...steering(given), ...engineOption(run)];
  const made = { image, container, leftOut, unread };
  if (server !== undefined)
    return [
      {
        ...made,
        ...server,
        leftOut: [...leftOut, ...preparedBy(command)],
        told: startedTwice(run),
      },
    ];
  refuseEngine(image);
  refuseEngine(command.slice(0, 3).join(" "));
  const started = startedByImage(run);
  if (started === undefined) return scriptInside(run);
  const { words, script } = started;
  const told = script === undefined ? {} : { told: [byScript(script)] };
  return [{ ...made, variables: container.variables, words, ...told }];
}

/** Refuses an image of vLLM's that runs a script; any other container starts nothing of interest. */
function scriptInside(run: DockerRun): readonly never[] {
  const { commands } = serverInvocations(insideOf(run).command, new Map());
  const script = commands.flat().find((word) => isText(word) && SCRIPT.test(word));
  return isText(script) && namesVllm(run.image ?? "")
    ? refuseCommand(
        `Its container runs \`${asWritten(script)}\`, which isn't read here: give that script, or the \`vllm serve\` that it runs.`,
      )
    : [];
}
