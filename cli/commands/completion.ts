import { command } from "@local-serving/base/commandLine/command";
import { attempt } from "@local-serving/base/faults/defined";
import { shellWord } from "@local-serving/base/faults/shellWords";
import { Argument, type Command } from "commander";
import { readCatalogue } from "../../components/catalogue";
import { todaysWords } from "../earlierWords";
import { ONTO_PATH } from "../packages/pin";
import { knownNames } from "../stack/named";
import { readStack } from "../stack/readStack";
import { projectOrProgram, stackPath, stacksHere } from "../stack/stackFile";

export function completionCommand(): Command {
  return command({
    name: "completion",
    arguments: [new Argument("<shell>", "your shell").choices(Object.keys(SCRIPTS))],
    notes: `bash, in ~/.bashrc:              source <(serving completion bash)
zsh, in ~/.zshrc after compinit:  source <(serving completion zsh)
fish, once:                       serving completion fish > ~/.config/fish/completions/serving.fish

They complete the word \`serving\`. If it is not on your PATH, put it there once, in the folder that \`serving init\` made:
  ${ONTO_PATH}

The script asks \`serving\` itself what may follow: the stacks of the folder that you are in, the machines, servers and services in
them, and the models of the catalogue.`,
    example: "completion bash",
    run: (_, shell: keyof typeof SCRIPTS) => ({
      result: { shell, script: SCRIPTS[shell] },
      text: SCRIPTS[shell],
    }),
  });
}

/** Each asks for what may follow the words before the cursor, and offers files where that is nothing. */
const SCRIPTS = {
  bash: `_serving() {
  local word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    [[ $word == "\${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$word")
  done < <(serving candidates -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _serving serving
`,
  zsh: `_serving() {
  local -a found=("\${(@f)$(serving candidates -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n $found ]]; then compadd -- "\${(@)found%%$'\\t'*}"; else _files; fi
}
compdef _serving serving
`,
  fish: `function __serving_finds
  set -l last (commandline -ct)
  set -g __serving_found (serving candidates -- (commandline -opc)[2..-1] "$last" 2>/dev/null)
  test -n "$__serving_found"
end
complete -c serving -n __serving_finds -f -a '$__serving_found'
`,
} as const;

/** Prints what may follow on a command line, as a shell asks for it at each press of Tab. */
export function candidatesCommand(
  commandLine: (words: readonly string[]) => Promise<Command>,
): Command {
  return command({
    name: "candidates",
    arguments: [new Argument("<words...>", "the command line behind `serving`, after --")],
    example: "candidates -- plan --st",
    run: async (_, words: readonly string[]) => {
      const before = todaysWords(words.slice(0, -1));
      const found = candidates(await commandLine(before), before, words.at(-1) ?? "");
      return {
        result: { candidates: found.map(([word]) => word) },
        text: found.map((each) => each.join("\t")).join("\n"),
      };
    },
  });
}

type Candidate = readonly [word: string, description: string];

function candidates(
  program: Command,
  before: readonly string[],
  last: string,
): readonly Candidate[] {
  const at = before.reduce(
    (group, word) => group.commands.find((each) => each.name() === word) ?? group,
    program,
  );
  const option = at.options.find(({ long, short }) => [long, short].includes(before.at(-1)));
  if (option?.required || option?.optional) return plain(option.argChoices ?? known(option.long));
  const help = at.createHelp();
  if (last.startsWith("-"))
    return help
      .visibleOptions(at)
      .map(({ long, short, flags, description }) => [long ?? short ?? flags, description]);
  const values = at.registeredArguments.flatMap((each) => each.argChoices ?? known(each.name()));
  return [
    ...help.visibleCommands(at).map((each): Candidate => [each.name(), each.description()]),
    ...plain(values),
  ];
}

const plain = (words: readonly string[]): Candidate[] => words.map((word) => [word, ""]);

/** Names that stand for an argument or an option, by its own name; none where there is no list. */
function known(of = ""): readonly string[] {
  // A stack that can't be planned has no names.
  const plans = () =>
    stacksHere().flatMap((stack) => attempt(() => readStack(stackPath({ stack })).plan) ?? []);
  const machines = () => plans().flatMap((plan) => plan.machines);
  const servers = () =>
    machines().flatMap(({ inferenceServers }) => inferenceServers.map(({ key }) => key));
  const lists = new Map<string, () => readonly string[]>([
    ["--stack", stacksHere],
    ["--machine", () => machines().map(({ name }) => name)],
    ["--server", servers],
    ["server", servers],
    ["name", () => plans().flatMap((plan) => knownNames(plan.machines))],
    [
      "model",
      () => readCatalogue(projectOrProgram()).map(({ servedModelName }) => servedModelName),
    ],
  ]);
  // A file's name may hold what bash would run.
  return [...new Set(lists.get(of)?.())].filter((word) => shellWord(word) === word);
}
