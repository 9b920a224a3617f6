import { command } from "@local-serving/base/commandLine/command";
import { explainWriting } from "@local-serving/base/commandLine/exit";
import { createFile } from "@local-serving/base/commandLine/replaceFile";
import { Argument, type Command, type Option } from "commander";
import { type Harness, harnessFile } from "../harness";
import { referenceFor, template } from "../templates/template";
import { harnessOptions, homeOption } from "./options";

/** The file of an automation config when none is named; the others are in the harness's folder. */
const AUTOMATION_FILE = "automation.yaml";

/** `serving harness init SUBJECT [FILE]`. */
export const INIT_COMMANDS: readonly (() => Command)[] = [
  () =>
    initCommand(
      "automation",
      "Write a commented automation config to start from; an existing file stays as it is.",
      [],
      new Argument("[file]", "where to write it").default(AUTOMATION_FILE),
    ),
  () =>
    initCommand("providers", "Write a commented providers profile, unless there is one already.", [
      homeOption(),
    ]),
  () =>
    initCommand(
      "analytics",
      "Write a session-analytics file to start from, unless there is one already.",
      harnessOptions(),
    ),
];

function initCommand(
  name: Parameters<typeof template>[0],
  description: string,
  options: readonly Option[],
  argument = new Argument("[file]", "the file (default: the one in the harness's folder)"),
): Command {
  return command({
    name,
    description,
    arguments: [argument],
    options,
    example: `harness init ${name}`,
    run: ({ home, prefix }: Harness, named: string | undefined) => {
      const file = named ?? (name === "automation" ? AUTOMATION_FILE : harnessFile(home, name));
      let written: boolean;
      try {
        written = createFile(file, template(name, prefix, referenceFor(file)));
      } catch (error) {
        return explainWriting(file, error);
      }
      return {
        result: { written, file },
        text: written
          ? `${file}: written`
          : `${file} exists already and stays as it is; name another file`,
        failed: !written,
      };
    },
  });
}
