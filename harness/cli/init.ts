import { Argument, type Command, type Option } from "commander";
import { type CommandTable, command } from "../../commandLine/command";
import { explainWriting } from "../../commandLine/exit";
import { createFile } from "../files/replaceFile";
import { harnessFile } from "../harness";
import { type HarnessOptions, harnessOptions, homeOption } from "./options";

/** `serving config init SUBJECT [FILE]`: templates, each loaded when it is written. */
export const INIT_COMMANDS: CommandTable = {
  automation: async () =>
    initCommand({
      name: "automation",
      description: "Write a commented automation config to start from; an existing file stays as it is.",
      file: new Argument("[file]", "where to write it").default("automation.yaml"),
      options: [],
      usual: () => "automation.yaml",
      text: async () => (await import("../templates/template")).template("automation-template.yaml"),
    }),
  providers: async () =>
    initCommand({
      name: "providers",
      description: "Write a commented providers profile, unless there is one already.",
      file: HOME_FILE,
      options: [homeOption()],
      usual: ({ home }) => harnessFile(home, "providers"),
      text: async () => (await import("../templates/template")).template("providers-template.toml"),
    }),
  analytics: async () =>
    initCommand({
      name: "analytics",
      description: "Write a session-analytics file to start from, unless there is one already.",
      file: HOME_FILE,
      options: harnessOptions(),
      usual: ({ home }) => harnessFile(home, "analytics"),
      text: async ({ prefix }) => (await import("../analytics/document")).analyticsTemplate(prefix),
    }),
};

const HOME_FILE = new Argument("[file]", "the file (default: the one in the harness's folder)");

interface InitForm {
  readonly name: string;
  readonly description: string;
  readonly file: Argument;
  readonly options: readonly Option[];
  /** The file when none is named. */
  usual(options: HarnessOptions): string;
  text(options: HarnessOptions): Promise<string>;
}

function initCommand({ name, description, file: argument, options, usual, text }: InitForm): Command {
  return command({
    name,
    description,
    arguments: [argument],
    options,
    example: `config init ${name}`,
    run: async (given: HarnessOptions, named: string | undefined) => {
      const file = named ?? usual(given);
      const content = await text(given);
      let written: boolean;
      try {
        written = createFile(file, content);
      } catch (error) {
        return explainWriting(file, error);
      }
      return {
        result: { written, file },
        text: written ? `${file}: written` : `${file} exists already and stays as it is; name another file`,
        failed: !written,
      };
    },
  });
}
