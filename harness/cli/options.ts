import { InvalidArgumentError, Option } from "commander";
import { defined } from "../../faults/defined";
import type { AutomationFiles } from "../automation/checkAutomation";
import { DEFAULT_HARNESS, PREFIX_FORM } from "../harness";

const prefixOption = () =>
  new Option("--prefix <prefix>", "start of the harness's environment variables")
    .default(DEFAULT_HARNESS.prefix)
    .env("SERVING_HARNESS_PREFIX")
    .argParser((text: string): string => {
      if (PREFIX_FORM.test(text)) return text;
      throw new InvalidArgumentError("Expected the start of a variable's name, such as HX_.");
    });

export const homeOption = () =>
  new Option("--home <dir>", "the harness's per-user folder").default(DEFAULT_HARNESS.home).env("SERVING_HARNESS_HOME");

export const harnessOptions = () => [prefixOption(), homeOption()];

/** Options of every command that resolves an automation config. */
export interface AutomationOptions extends Omit<AutomationFiles, "config"> {
  readonly project: string;
  readonly prefix: string;
}

export const automationOptions = (): Option[] => [
  new Option("--mapping <file>", "verification mapping: what it maps to runtime_conformance or visual is required"),
  new Option("--presets <dir>", "directory of coverage presets (NAME.json or NAME.yaml)"),
  new Option("--registry <file>", "the user's routing registry, which the config may only narrow"),
  new Option("--providers <file>", "providers profile: the evaluator must declare conformance_command there"),
  new Option("--project <dir>", "the project's directory").default("."),
  prefixOption(),
];

export function automationFiles(config: string, options: AutomationOptions): AutomationFiles {
  const { mapping, presets, registry, providers, project } = options;
  return { config, project, ...defined({ mapping, presets, registry, providers }) };
}
