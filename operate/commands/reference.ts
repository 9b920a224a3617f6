import { join } from "node:path";
import { Command } from "commander";
import { EXIT } from "../../commandLine/exit";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { replaceFile } from "../../harness/files/replaceFile";
import { renderReference, staleFiles } from "../../harness/reference/render";
import { projectFolder } from "../stackFile";

/** `serving config reference [--check]`: docs/reference, made from the schemas. */
export function referenceCommand(): Command {
  return new Command("reference")
    .description("write the reference of every configuration file, or check that it is up to date")
    .option("--check", "write nothing; fail and name the files that are stale")
    .option("--out <dir>", "the reference's folder (default: docs/reference of the project)")
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config reference --check")
    .action(async (options: { check?: boolean; out?: string; format: Format }) => {
      const { referenceDocuments } = await import("../reference/documents");
      const folder = options.out ?? join(projectFolder(), "docs", "reference");
      const stale = staleFiles(folder, renderReference(referenceDocuments()));
      const names = stale.map(({ name }) => join(folder, name));
      if (options.check === true) {
        printResult(options.format, { stale: names }, () =>
          names.length === 0
            ? "The reference is up to date."
            : [...names.map((name) => `stale: ${name}`), "Make it anew: serving config reference"].join("\n"),
        );
        process.exitCode = names.length === 0 ? EXIT.fine : EXIT.faults;
        return;
      }
      for (const { name, text } of stale) replaceFile(join(folder, name), text, { newFileMode: 0o644 });
      printResult(options.format, { written: names }, () =>
        names.length === 0
          ? "The reference is up to date."
          : names.map((name) => `written: ${name}`).join("\n"),
      );
    });
}
