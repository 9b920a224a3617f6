import { command } from "@local-serving/base/commandLine/command";
import { textOr } from "@local-serving/base/faults/json";
import { Argument, type Command } from "commander";
import { askCopies } from "../copies/askCopies";
import { dataNamed, WITH_DATA } from "../copies/dataOf";
import { expectConnection } from "../sees/tunnel";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";

export const dataArgument = () =>
  new Argument("<name>", `service whose data are copied: ${WITH_DATA.join(", ")}`);

export function backupCommand(): Command {
  return command({
    name: "backup",
    arguments: [dataArgument()],
    options: stackFileOptions(),
    notes: `An update that changes the image makes such a copy by itself. The last 3 are kept, on the machine's own disk.
Exit code: 0 copied, 1 not copied (the data are unchanged), 2 wrong use.`,
    example: "backup chat-ui",
    run: async (options: StackFileOptions, name: string) => {
      const { machines } = plannedStack(options);
      const { machine, copies } = dataNamed(machines, name);
      await expectConnection(machine);
      await expectApplied(machines, options);
      const [made = {}] = await askCopies(copies, ["make"]);
      const [copy, seconds] = [textOr(made.copy), Number(made.goneSeconds)];
      const { service, folder } = copies;
      const result = { machine: machine.name, service, copy, folder, goneSeconds: seconds };
      const gone = seconds === 0 ? "" : ` ${service} was stopped for ${seconds} s.`;
      const text = `The data of ${service} are copied to ${folder}/${copy} on ${machine.name}.${gone}\n\`${forStack(`serving restore ${service} ${copy}`, options)}\` puts them back.`;
      return { result: { backup: result }, text };
    },
  });
}
