import type { Command } from "commander";
import type { AutomationFiles } from "../automation/checkAutomation";
import { prefixOption } from "./harnessOptions";

/** What the commands that resolve an automation config have in common. */
export interface AutomationOptions {
  readonly mapping?: string;
  readonly presets?: string;
  readonly registry?: string;
  readonly providers?: string;
  readonly project: string;
  readonly prefix: string;
}

/** Adds the options that name what an automation config is resolved with. */
export function withAutomationOptions(command: Command): Command {
  return command
    .option(
      "--mapping <file>",
      "verification mapping: what it maps to runtime_conformance or visual is required",
    )
    .option("--presets <dir>", "directory of coverage presets (NAME.json or NAME.yaml)")
    .option("--registry <file>", "the user's routing registry, which the config may only narrow")
    .option("--providers <file>", "providers profile: the evaluator must declare conformance_command there")
    .option("--project <dir>", "the project's directory", ".")
    .addOption(prefixOption());
}

/** The files that a command was given. */
export function automationFiles(config: string, options: AutomationOptions): AutomationFiles {
  const { mapping, presets, registry, providers, project } = options;
  return {
    config,
    project,
    ...(mapping === undefined ? {} : { mapping }),
    ...(presets === undefined ? {} : { presets }),
    ...(registry === undefined ? {} : { registry }),
    ...(providers === undefined ? {} : { providers }),
  };
}
