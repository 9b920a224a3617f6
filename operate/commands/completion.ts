import { Argument, type Command, type Option } from "commander";
import { type CommandTable, command } from "../../commandLine/command";
import { attempt } from "../../faults/defined";
import { quoted } from "../../machines/shell";
import { stackNames, stackPath } from "../stack/stackFile";

export function completionCommand(table: CommandTable): Command {
  return command({
    name: "completion",
    description: "Print a script that lets your shell complete commands, options and stack names.",
    arguments: [new Argument("<shell>", "your shell").choices(Object.keys(SCRIPTS))],
    notes: `bash, in ~/.bashrc:              source <(serving completion bash)
zsh, in ~/.zshrc after compinit:  source <(serving completion zsh)
fish, once:                       serving completion fish > ~/.config/fish/completions/serving.fish

The script knows the stacks that the project has when it is printed, and the servers and services in them.`,
    example: "completion bash",
    run: async (_, shell: keyof typeof SCRIPTS) => {
      const commands = await Promise.all(Object.values(table).map((load) => load([])));
      const names = await namesInStacks();
      const script = SCRIPTS[shell]([
        placeOf("", commands),
        ...commands.flatMap((each) => placesOf("", each, names)),
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
  readonly options: readonly Option[];
}

/** The servers and services of every stack; one that can't be planned has none. */
async function namesInStacks(): Promise<string[]> {
  const { readStack } = await import("../stack/readStack");
  const { knownNames } = await import("../stack/named");
  const names = stackNames().flatMap(
    (stack) => attempt(() => knownNames(readStack(stackPath({ stack })).plan.machines)) ?? [],
  );
  return [...new Set(names)];
}

function placesOf(before: string, command: Command, names: readonly string[]): Place[] {
  const at = `${before} ${command.name()}`;
  const values = command.registeredArguments.flatMap(
    (each) => each.argChoices ?? (each.name() === "name" ? names : []),
  );
  const below = command.commands.flatMap((each) => placesOf(at, each, names));
  return [placeOf(at, command.commands, values, command.options), ...below];
}

function placeOf(
  at: string,
  commands: readonly Command[],
  values: readonly string[] = [],
  options: readonly Option[] = [],
): Place {
  const words = commands.map((each) => [each.name(), each.description()] as const);
  return { at, words: [...words, ...values.map((value) => [value, ""] as const)], options };
}

/**
 * The values of an option: `undefined` where it takes none, no names where it takes a file or
 * something else.
 */
function valuesOf(option: Option): readonly string[] | undefined {
  if (!option.required && !option.optional) return undefined;
  return option.argChoices ?? (option.long === "--stack" ? stackNames() : []);
}

const flagOf = ({ long, short, flags }: Option) => long ?? short ?? flags;

/** Every command that a place is behind: the first is the empty line. */
const commandsIn = (places: readonly Place[]) => places.slice(1).map(({ at }) => quoted(at));

/** The part that bash and zsh have in common: where the cursor is, and what fits there. */
function posixBody(places: readonly Place[]): string {
  const offer = (pattern: string, words: readonly string[]) =>
    words.length === 0 ? [] : [`${pattern}) _serving_offer ${words.join(" ")} ;;`];
  const cases = [
    ...places.flatMap(({ at, options }) =>
      options.flatMap((option) =>
        offer(`${quoted(`${at}|${flagOf(option)}|`)}*`, valuesOf(option) ?? []),
      ),
    ),
    ...places.flatMap(({ at, options }) =>
      offer(`${quoted(`${at}|`)}*'|-'*`, [...options.map(flagOf), "--help"]),
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
          const values = valuesOf(option);
          const takes =
            values === undefined
              ? ""
              : values.length > 0
                ? ` -x -a ${quoted(values.join(" "))}`
                : " -r";
          return `${here} -l ${flagOf(option).replace(/^-+/, "")}${takes} -d ${quoted(option.description)}`;
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
