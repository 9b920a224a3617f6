import { Argument, type Command } from "commander";
import { type CommandTable, command } from "../../commandLine/command";
import { attempt } from "../../faults/defined";
import { quoted } from "../../faults/shellWords";
import { ONTO_PATH } from "../packages/pin";
import { projectOrProgram, stackNames, stackPath } from "../stack/stackFile";

export function completionCommand(table: CommandTable): Command {
  return command({
    name: "completion",
    description: "Print a script that lets your shell complete commands, options and stack names.",
    arguments: [new Argument("<shell>", "your shell").choices(Object.keys(SCRIPTS))],
    notes: `bash, in ~/.bashrc:              source <(serving completion bash)
zsh, in ~/.zshrc after compinit:  source <(serving completion zsh)
fish, once:                       serving completion fish > ~/.config/fish/completions/serving.fish

They complete the word \`serving\`. If it is not on your PATH, put it there once, in the folder that \`serving init\` made:
  ${ONTO_PATH}

The script knows the stacks that the project has when it is printed, the machines, servers and services in them, and the models
of the catalogue.`,
    example: "completion bash",
    run: async (_, shell: keyof typeof SCRIPTS) => {
      const commands = await Promise.all(Object.values(table).map((load) => load([])));
      const known = await readKnown();
      const script = SCRIPTS[shell]([
        placeOf("", commands, known),
        ...commands.flatMap((each) => placesOf("", each, known)),
      ]);
      return { result: { shell, script }, text: script };
    },
  });
}

/** What may follow on a command line behind some commands. */
interface Place {
  /** These commands, each behind a space. */
  readonly at: string;
  /** Words that follow, each with its description: commands, or the values of an argument. */
  readonly words: readonly (readonly [word: string, description: string])[];
  readonly options: readonly OfferedOption[];
}

/** An option with its values: `undefined` where it takes none, no names where it takes anything. */
interface OfferedOption {
  readonly flag: string;
  readonly description: string;
  readonly values: readonly string[] | undefined;
}

/** What the project and the catalogue have, by what an option or argument wants of it. */
interface Known {
  readonly stacks: readonly string[];
  readonly machines: readonly string[];
  /** Keys of inference servers. */
  readonly servers: readonly string[];
  /** Everything with a name: servers, services and instance A. */
  readonly names: readonly string[];
  readonly models: readonly string[];
}

/** Arguments and options whose values are known, by their own names. */
const KINDS: Readonly<Record<string, keyof Known>> = {
  "--stack": "stacks",
  "--machine": "machines",
  "--server": "servers",
  server: "servers",
  name: "names",
  model: "models",
};

/** Reads every stack; one that can't be planned has nothing. */
async function readKnown(): Promise<Known> {
  const { readStack } = await import("../stack/readStack");
  const { knownNames } = await import("../stack/named");
  const { readCatalogue } = await import("../../components/catalogue");
  const stacks = stackNames();
  const plans = stacks.flatMap(
    (stack) => attempt(() => readStack(stackPath({ stack })).plan) ?? [],
  );
  const once = (names: readonly string[]) => [...new Set(names)];
  const machines = plans.flatMap((plan) => plan.machines);
  return {
    stacks,
    machines: once(machines.map(({ name }) => name)),
    servers: once(machines.flatMap((each) => each.inferenceServers.map(({ key }) => key))),
    names: once(plans.flatMap((plan) => knownNames(plan.machines))),
    models: once(readCatalogue(projectOrProgram()).map(({ servedModelName }) => servedModelName)),
  };
}

const knownFor = (name: string | undefined, known: Known): readonly string[] => {
  const kind = KINDS[name ?? ""];
  return kind === undefined ? [] : known[kind];
};

function placesOf(before: string, command: Command, known: Known): Place[] {
  const at = `${before} ${command.name()}`;
  const below = command.commands.flatMap((each) => placesOf(at, each, known));
  return [placeOf(at, command.commands, known, command), ...below];
}

function placeOf(at: string, commands: readonly Command[], known: Known, command?: Command): Place {
  const words = commands.map((each) => [each.name(), each.description()] as const);
  const values = (command?.registeredArguments ?? []).flatMap(
    (each) => each.argChoices ?? knownFor(each.name(), known),
  );
  const options = (command?.options ?? []).map(
    ({ long, short, flags, description, required, optional, argChoices }) => {
      const given = argChoices ?? knownFor(long, known);
      const values = required || optional ? given : undefined;
      return { flag: long ?? short ?? flags, description, values };
    },
  );
  return { at, words: [...words, ...values.map((value) => [value, ""] as const)], options };
}

/** Every command that a place is behind: the first is the empty line. */
const commandsIn = (places: readonly Place[]) => places.slice(1).map(({ at }) => quoted(at));

/** The part that bash and zsh have in common: where the cursor is, and what fits there. */
function posixBody(places: readonly Place[]): string {
  const offer = (pattern: string, words: readonly string[]) =>
    words.length === 0 ? [] : [`${pattern}) _serving_offer ${words.join(" ")} ;;`];
  const cases = [
    ...places.flatMap(({ at, options }) =>
      options.flatMap((option) =>
        offer(`${quoted(`${at}|${option.flag}|`)}*`, option.values ?? []),
      ),
    ),
    ...places.flatMap(({ at, options }) =>
      offer(`${quoted(`${at}|`)}*'|-'*`, [...options.map(({ flag }) => flag), "--help"]),
    ),
    ...places.flatMap(({ at, words }) =>
      offer(
        `${quoted(`${at}|`)}*`,
        words.map(([word]) => word),
      ),
    ),
    "*) _serving_files ;;",
  ];
  return `    case "$at $word" in
      ${commandsIn(places).join(" | ")}) at="$at $word" ;;
    esac
  done
  case "$at|$previous|$current" in
    ${cases.join("\n    ")}
  esac
}`;
}

const SCRIPTS = {
  bash: (
    places: readonly Place[],
  ) => `_serving_offer() { COMPREPLY=($(compgen -W "$*" -- "$current")); }
_serving_files() { :; } # bash itself offers files
_serving() {
  local at= word current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${posixBody(places)}
complete -o default -F _serving serving
`,
  zsh: (places: readonly Place[]) => `_serving_offer() { compadd -- "$@"; }
_serving_files() { _files; }
_serving() {
  local at= word current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}"
  for word in "\${(@)words[2,CURRENT-1]}"; do
${posixBody(places)}
compdef _serving serving
`,
  fish: (places: readonly Place[]) => {
    const rows = places.flatMap(({ at, words, options }) => {
      const here = `complete -c serving -n "__serving_at '${at}'"`;
      return [
        ...words.map(([word, text]) => `${here} -f -a ${quoted(word)} -d ${quoted(text)}`),
        ...options.map((option) => {
          const { values } = option;
          const takes =
            values === undefined
              ? ""
              : values.length > 0
                ? ` -x -a ${quoted(values.join(" "))}`
                : " -r";
          return `${here} -l ${option.flag.replace(/^-+/, "")}${takes} -d ${quoted(option.description)}`;
        }),
      ];
    });
    return `function __serving_at
  set -l at
  set -l words (commandline -opc)
  set -e words[1]
  for word in $words
    switch "$at $word"
      case ${commandsIn(places).join(" ")}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${rows.join("\n")}
`;
  },
} as const;
