import { type Command, Option } from "commander";
import { WrongUse } from "../../commandLine/exit";
import { FaultyInput } from "../../faults/fault";
import type { Ledger } from "../app/ledger";
import { openLedger } from "../app/ledger";
import { endLeftovers } from "../app/leftovers";
import { checkAutomation } from "../automation/checkAutomation";
import { type FrozenContract, readFrozen } from "../automation/frozenContract";
import { type AutomationOptions, automationFiles, withAutomationOptions } from "./automationOptions";

/** Options of the commands that carry out a contract. */
export interface ContractOptions extends AutomationOptions {
  readonly config?: string;
  readonly contract?: string;
  readonly ledger?: string;
}

/** Adds the options by which a command is given a contract and a ledger. */
export function withContractOptions(command: Command): Command {
  command
    .option("--config <file>", "automation config to carry out, resolved now")
    .option(
      "--contract <file>",
      "frozen contract to carry out (serving config freeze automation), read as it is",
    )
    .addOption(ledgerOption());
  return withAutomationOptions(command);
}

/** The contract that a command was given. Throws `WrongUse`, `FaultyInput` or `UnreadableInput`. */
export function readContract(options: ContractOptions): Pick<FrozenContract, "contract" | "baseline"> {
  const { config, contract } = options;
  if ((config === undefined) === (contract === undefined)) {
    throw new WrongUse("give exactly one of --config FILE and --contract FILE");
  }
  if (contract !== undefined) return readFrozen(contract);
  // One of the two is there, and it is not the contract.
  const file = config ?? "";
  const check = checkAutomation(automationFiles(file, options), process.env, options.prefix);
  if (check.resolved === null) throw new FaultyInput(file, check.issues);
  return { contract: check.resolved, baseline: null };
}

/** The option that names the ledger. */
export function ledgerOption(): Option {
  return new Option(
    "--ledger <dir>",
    "directory that keeps output and events (default: .hx/ledger in the project)",
  );
}

/**
 * The ledger that a command was given, by default `.<prefix>/ledger` in the project. What a run that was killed has left
 * running is ended first: it would answer in the place of what is to be started. Throws `WrongUse`.
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
    process.stderr.write(`An earlier run was killed and left processes of its command running: ${end}.\n`);
  }
  return ledger;
}
