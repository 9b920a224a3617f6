import { Command } from "commander";
import { type Format, formatOption } from "../../commandLine/output";
import { harnessFile } from "../harness";
import { providersTemplate } from "../providers/template";
import { type HarnessOptions, homeOption } from "./harnessOptions";
import { writeTemplate } from "./writeTemplate";

/** `serving config init providers [FILE]`. */
export function initProvidersCommand(): Command {
  return new Command("providers")
    .description("write a commented providers profile, where there is none yet")
    .argument("[file]", "the file (default: the one in the harness's folder)")
    .addOption(homeOption())
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config init providers")
    .action((file: string | undefined, options: Pick<HarnessOptions, "home"> & { format: Format }) =>
      writeTemplate(options.format, file ?? harnessFile(options.home, "providers"), providersTemplate()),
    );
}
