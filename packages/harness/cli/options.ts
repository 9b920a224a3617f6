import { WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { InvalidArgumentError, Option } from "commander";
import { commandEnvironment } from "../app/commandEnvironment";
import { type Ledger, openLedger, type RunSetting } from "../app/ledger";
import { endLeftovers } from "../app/leftovers";
import { type AutomationFiles, checkAutomation } from "../automation/checkAutomation";
import { type FrozenContract, readFrozen } from "../automation/frozenContract";
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
  new Option("--home <dir>", "the harness's per-user folder")
    .default(DEFAULT_HARNESS.home)
    .env("SERVING_HARNESS_HOME");

export const harnessOptions = () => [prefixOption(), homeOption()];

/** Options of every command that resolves an automation config. */
export interface AutomationOptions extends Omit<AutomationFiles, "config"> {
  readonly project: string;
  readonly prefix: string;
}

export const automationOptions = (): Option[] => [
  new Option(
    "--mapping <file>",
    "verification mapping: what it maps to runtime_conformance or visual is required",
  ),
  new Option("--presets <dir>", "directory of coverage presets (NAME.json or NAME.yaml)"),
  new Option("--registry <file>", "the user's routing registry, which the config may only narrow"),
  new Option(
    "--providers <file>",
    "providers profile: the evaluator must declare conformance_command there",
  ),
  new Option("--project <dir>", "the project's directory").default("."),
  prefixOption(),
];

export function automationFiles(config: string, options: AutomationOptions): AutomationFiles {
  const { mapping, presets, registry, providers, project } = options;
  return { config, project, ...defined({ mapping, presets, registry, providers }) };
}

/** Options of the commands that carry out a contract. */
export interface ContractOptions extends AutomationOptions {
  readonly config?: string;
  readonly contract?: string;
  readonly ledger?: string;
}

export const contractOptions = (): Option[] => [
  new Option("--config <file>", "automation config to carry out, resolved now"),
  new Option(
    "--contract <file>",
    "frozen contract to carry out (serving harness freeze automation), read as it is",
  ),
  ledgerOption(),
  ...automationOptions(),
];

export const ledgerOption = () =>
  new Option(
    "--ledger <dir>",
    "directory that keeps output and events (default: .hx/ledger in the project)",
  );

/** The contract that the options name. Throws `WrongUse`, `FaultyInput` or `UnreadableInput`. */
export function readContract(
  options: ContractOptions,
): Pick<FrozenContract, "contract" | "baseline"> {
  const { config, contract } = options;
  if (contract !== undefined && config === undefined) return readFrozen(contract);
  if (config === undefined || contract !== undefined)
    throw new WrongUse("give exactly one of --config FILE and --contract FILE");
  const check = checkAutomation(automationFiles(config, options), process.env, options.prefix);
  if (check.resolved === null) throw new FaultyInput(config, check.issues);
  return { contract: check.resolved, baseline: null };
}

/** Does work with the ledger that the options name; it ends in order when it is interrupted. */
export async function withLedger<Result>(
  options: ContractOptions,
  work: (run: RunSetting) => Promise<Result>,
) {
  const ledger = await ledgerOf(options);
  const env = commandEnvironment(process.env);
  return { ledger, result: await endingInOrder((interrupt) => work({ env, ledger, interrupt })) };
}

/**
 * Opens the ledger that the options name, by default `.<prefix>/ledger` in the project. First it
 * ends whatever a killed run left behind: that would answer in place of what is about to start.
 * Throws `WrongUse`.
 */
export async function ledgerOf(
  options: Pick<ContractOptions, "ledger" | "project" | "prefix">,
): Promise<Ledger> {
  const home = `.${options.prefix.replace(/_+$/, "").toLowerCase() || "hx"}`;
  const directory = options.ledger ?? `${options.project}/${home}/ledger`;
  let ledger: Ledger;
  try {
    ledger = openLedger(directory);
  } catch (error) {
    throw new WrongUse(
      `the ledger ${directory} can't be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  for (const leftover of await endLeftovers(ledger.jobs)) {
    ledger.record({ event: "leftover ended", ...leftover });
    const end = leftover.by === "nothing" ? "some of them survived KILL" : "they were ended";
    say(`An earlier run was killed and left processes of its command running: ${end}.`);
  }
  return ledger;
}
