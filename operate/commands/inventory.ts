import { basename } from "node:path";
import type { Command } from "commander";
import { command } from "../../commandLine/command";
import { operatorHome } from "../../components/evidence/readEvidence";
import { inventory } from "../inventory/inventory";
import { inventoryText } from "../inventory/inventoryText";
import { readOneMachine } from "../stack/readStack";
import { machineOption, type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";
import { applyEdits } from "../stackEdit/applyEdits";
import { unifiedDiff } from "../stackEdit/unifiedDiff";

export function inventoryCommand(): Command {
  return command({
    name: "inventory",
    description:
      "List containers and venvs with their versions, and the record that the stack file should keep.",
    options: [...stackFileOptions(), machineOption()],
    notes: `A venv's packages are read by its own interpreter, those of an inference server in a short-lived container of its
image without network. Nothing is imported, pulled or changed; a package that isn't there is MISSING.

Exit code: 0 everything was read, 1 something could not be, 2 wrong use or an unreadable file.`,
    example: "inventory --format json | jq '.containers[] | {name, digest, versions}'",
    run: async (options: StackFileOptions & { readonly machine?: string }) => {
      const stack = readOneMachine(stackFile(options), options.machine);
      const found = await inventory(stack.machine, stack.settings, { home: operatorHome() });
      const diff = unifiedDiff(basename(stack.file), stack.text, applyEdits(stack.text, found.record));
      return {
        result: { ...found, record: { edits: found.record, diff } },
        text: inventoryText(found, diff),
        failed: found.problems.length > 0,
      };
    },
  });
}
