import { engineNamed } from "../../../components/supply";
import { serverInvocations } from "../../../vllm/argv/serverInvocations";
import { baseName, isText } from "../../../vllm/argv/unknown";
import { type ContainerFacts, containerFacts, readDockerRun } from "./dockerOptions";
import { NO_COMPOSE, recipeCommand, rendered } from "./recipe";
import {
  assigned,
  asWritten,
  expansions,
  isAssignment,
  type LeftOut,
  refuseCommand,
  wordsIn,
} from "./words";

/** How a command starts one vLLM server. */
export interface Launch {
  /** Words behind `vllm serve`. */
  readonly words: readonly string[];
  /** The server's environment. A value may have a shell's variable in it. */
  readonly variables: ReadonlyMap<string, string>;
  readonly image?: string;
  /** The container, where the command makes it itself. */
  readonly container?: ContainerFacts;
  /** What a recipe says beside the command. */
  readonly leftOut: readonly LeftOut[];
}

const CONTAINER_PROGRAMS = new Set(["docker", "podman", "nerdctl"]);
/** Programs that run what stands behind them. */
const WRAPPERS = new Set(["sudo", "exec", "nohup", "env", "time", "command"]);

/**
 * The server that a published command starts: `vllm serve`, `docker run`, or a recipe. Refuses, in
 * a sentence, what starts none or several.
 */
export function readLaunch(text: string): Launch {
  const recipe = recipeCommand(text);
  const exported = new Map<string, string>();
  const commands = wordsIn(recipe?.command ?? (PLACEHOLDER.test(text) ? rendered(text) : text));
  const cut = commands.find(([first = ""]) => first.startsWith("-"));
  if (cut !== undefined)
    refuseCommand(`\`${asWritten(cut.join(" "))}\` is no command. ${LINE_GOES_ON}`);
  const launches = commands
    .map((command) => withoutFront(command, exported))
    .flatMap(({ words, variables }) => launchOf(words, variables));
  const [launch, ...others] = launches;
  if (launch === undefined) refuseCommand(NO_VLLM);
  if (others.length > 0)
    refuseCommand(`It starts ${launches.length} servers: give the command of one.`);
  refuseOpen(launch);
  if (recipe === undefined) return launch;
  const { image, variables, leftOut } = recipe;
  return {
    ...launch,
    ...(image === undefined ? {} : { image }),
    variables: new Map([...variables, ...launch.variables]),
    leftOut,
  };
}

/** What a command cut in two lacks. */
export const LINE_GOES_ON = "A line that goes on ends with a backslash and nothing after it.";

const PLACEHOLDER = /(?:^|\s)\{\w+\}/;

const NO_VLLM =
  "No start of vLLM was found in it. Expected `vllm serve MODEL ...`, `docker run ... IMAGE ...` with an image of vLLM, or a recipe with `command:`.";

/** A command without assignments and wrappers in front; what is exported goes into `exported`. */
function withoutFront(command: readonly string[], exported: Map<string, string>) {
  if (command[0] === "export")
    for (const [name, value] of command.slice(1).map(assigned)) exported.set(name, value);
  const variables = new Map(exported);
  let start = 0;
  for (; start < command.length; start++) {
    const word = command[start] ?? "";
    if (isAssignment(word)) variables.set(...assigned(word));
    else if (!WRAPPERS.has(baseName(word)) && !(start > 0 && word.startsWith("-"))) break;
  }
  return { words: command.slice(start), variables };
}

/** What a simple command starts: one server, or nothing that is of interest here. */
function launchOf(
  words: readonly string[],
  variables: ReadonlyMap<string, string>,
): readonly Launch[] {
  const [program = "", ...rest] = words;
  const name = baseName(program);
  if (/^(?:docker|podman)-compose$/.test(name)) refuseCommand(NO_COMPOSE);
  if (CONTAINER_PROGRAMS.has(name)) {
    const verb = rest.find((word) => ["run", "create", "compose", "exec"].includes(word));
    if (verb === "compose") refuseCommand(NO_COMPOSE);
    if (verb === "run" || verb === "create")
      return [inContainer(rest.slice(rest.indexOf(verb) + 1))];
  }
  const { servers, unreadable } = serverInvocations(words, new Map());
  if (unreadable.length > 0) refuseCommand(`It can't be read for certain: ${unreadable[0]}.`);
  if (servers.length > 0)
    return servers.map((each) => ({ words: each.filter(isText), variables, leftOut: [] }));
  refuseEngine(words.slice(0, 3).join(" "));
  return [];
}

/** Another engine is refused with where it belongs. */
function refuseEngine(name: string): void {
  const engine = engineNamed(name);
  if (engine !== undefined) refuseCommand(`It starts ${engine.name}, not vLLM. ${engine.belongs}`);
}

/** Programs that a container is started with by hand. */
const NO_SERVER = /^(?:ba|da|z)?sh$|^python[\d.]*$|^sleep$/;

/** The server of a `docker run`: by its command, or by an image that starts one itself. */
function inContainer(words: readonly string[]): Launch {
  const { options, image = "", rest } = readDockerRun(words);
  const container = containerFacts(options);
  const entrypoint = options.find(({ name }) => name === "entrypoint")?.value ?? "";
  const command = entrypoint === "" ? rest : [entrypoint, ...rest];
  const { servers, unreadable } = serverInvocations(command, new Map());
  if (unreadable.length > 0) refuseCommand(`It can't be read for certain: ${unreadable[0]}.`);
  const made = { image, container, variables: container.variables, leftOut: [] };
  const [server] = servers;
  if (server !== undefined) return { ...made, words: server.filter(isText) };
  refuseEngine(image);
  refuseEngine(command.slice(0, 3).join(" "));
  const starts = entrypoint === "" && /vllm/i.test(image) && !NO_SERVER.test(rest[0] ?? "");
  if (!starts) refuseCommand(NO_VLLM);
  // An image whose entrypoint is `vllm` gets the command behind it.
  return { ...made, words: rest[0] === "serve" ? rest.slice(1) : rest };
}

/** Refuses words of the server, or an image, with a variable or a placeholder that nobody filled. */
function refuseOpen({ words, image = "" }: Launch): void {
  const all = [image, ...words];
  const unknown = new Set(all.flatMap(expansions));
  const open = new Set(all.flatMap((word) => word.match(/(?<!["\w:])\{[A-Za-z_]\w*\}/g) ?? []));
  if (unknown.size > 0)
    refuseCommand(
      `The value of ${[...unknown].map((each) => `\`${each}\``).join(", ")} is not known here: write it in its place.`,
    );
  if (open.size > 0)
    refuseCommand(
      `${[...open].map((each) => `\`${each}\``).join(", ")} has no value: give the whole recipe (\`--from-command - < recipe.yaml\`), or write the value in its place.`,
    );
}
