import { command, commandGroup } from "@local-serving/base/commandLine/command";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { Argument, type Command } from "commander";
import { clientBundle, NOTE, writeBundle } from "../clients/bundle";
import { nothingApplied } from "../stack/nothingApplied";
import { readOneMachine } from "../stack/readStack";
import {
  machineOption,
  type StackFileOptions,
  stackFile,
  stackFileOptions,
} from "../stack/stackFile";

export function clientsCommand(): Command {
  const exporting = command({
    name: "export",
    description:
      "Write the clients' files and launchers of a machine into a folder, for another computer, with a note on how to install them there.",
    arguments: [
      new Argument(
        "<dir>",
        "folder to write into, such as `laptop`: new, empty, or from an earlier export",
      ),
    ],
    options: [...stackFileOptions(), machineOption()],
    notes: `The files address the machine by its name on the network (\`clients.host\`, else the name in \`dockerHost\`), and hold no keys but the names of their variables.
Exit code: 0 written, 1 faults, or that computer could not reach something, 2 wrong use or a folder that isn't ours.`,
    example: "clients export laptop && scp -r laptop me@laptop.local:",
    run: async (options: StackFileOptions & { readonly machine?: string }, folder: string) => {
      const machine = readOneMachine(stackFile(options), options.machine);
      const { files, ...bundle } = clientBundle(machine);
      const nothing = await nothingApplied(machine.plan.machines, options);
      // A signal waits until the folder is whole.
      return endingInOrder(async () => {
        writeBundle(folder, files);
        const written = files.map(({ path, mode }) => ({ path, mode }));
        const text = `wrote ${files.length} files. Next: ${folder}/${NOTE} says how to install them.`;
        const lines = [text, ...(nothing === undefined ? [] : [nothing])];
        return {
          result: { machine: machine.name, folder, files: written, ...bundle },
          text: lines.join("\n"),
        };
      });
    },
  });
  return commandGroup({ name: "clients", example: "clients export laptop" }, [exporting]);
}
