import { basename } from "node:path";
import { Command } from "commander";
import { EXIT } from "../../commandLine/exit";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { operatorHome } from "../../components/host/operatorHome";
import { inventory } from "../inventory/inventory";
import { inventoryText } from "../inventory/inventoryText";
import { readOneMachine } from "../readStack";
import { applyEdits } from "../stackEdit/applyEdits";
import { unifiedDiff } from "../stackEdit/unifiedDiff";
import { type StackFileOptions, stackFile, withStackFile } from "../stackFile";

interface InventoryOptions extends StackFileOptions {
  readonly format: Format;
  readonly machine?: string;
}

/** `serving inventory`: what is installed in each declared venv and runs in each container. Reads only. */
export function inventoryCommand(): Command {
  return withStackFile(new Command("inventory"))
    .description(
      "List containers and venvs with their versions, and the record that the stack file should keep.",
    )
    .option("--machine <name>", "machine of the stack file (default: the first)")
    .addOption(formatOption())
    .addHelpText(
      "after",
      [
        "",
        "A venv's packages are read by its own interpreter, those of an inference server in a short-lived container of its",
        "image without network. Nothing is imported, pulled or changed; a package that isn't there is MISSING.",
        "",
        "Example:",
        "  serving inventory --format json | jq '.containers[] | {name, digest, versions}'",
        "",
        "Exit code: 0 everything was read, 1 something could not be, 2 wrong use or an unreadable file.",
      ].join("\n"),
    )
    .action(async (options: InventoryOptions) => {
      const stack = readOneMachine(stackFile(options), options.machine);
      const found = await inventory(stack.machine, stack.settings, { home: operatorHome() });
      const diff = unifiedDiff(basename(stack.file), stack.text, applyEdits(stack.text, found.record));
      printResult(options.format, { ...found, record: { edits: found.record, diff } }, () =>
        inventoryText(found, diff),
      );
      if (found.problems.length > 0) process.exitCode = EXIT.faults;
    });
}
