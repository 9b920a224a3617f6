import { linkSync, unlinkSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { AUTOMATION_TEMPLATE } from "../../../harness/automation/template";
import { EXIT, WrongUse } from "../../exit";
import { type Format, formatOption, printResult } from "../../output";

/** `serving config init automation [FILE]`: a commented template; an existing file is never replaced. */
export function initAutomationCommand(): Command {
  return new Command("automation")
    .description("write a commented automation config to start from; an existing file stays as it is")
    .argument("[file]", "where to write it", "automation.yaml")
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config init automation automation.yaml")
    .action((file: string, options: { format: Format }) => {
      const written = writeNew(file, AUTOMATION_TEMPLATE);
      const say = () => (written ? `${file}: written` : `refused: ${file} exists; it stays as it is`);
      printResult(options.format, { file, written }, say);
      process.exitCode = written ? EXIT.fine : EXIT.faults;
    });
}

/** Writes a new file whole or not at all; `false` when there is one already. */
function writeNew(file: string, text: string): boolean {
  const temporary = `${file}.${process.pid}.new`;
  try {
    writeFileSync(temporary, text, { flag: "wx" });
    try {
      linkSync(temporary, file);
    } finally {
      unlinkSync(temporary);
    }
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code === "EEXIST") return false;
    throw new WrongUse(`${file} can't be written: ${error.message}`);
  }
}
