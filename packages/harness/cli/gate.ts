import { command, commandGroup, type Outcome } from "@local-serving/base/commandLine/command";
import { type Refusal, WrongUse } from "@local-serving/base/commandLine/exit";
import { faultLine } from "@local-serving/base/faults/fault";
import { shellWords } from "@local-serving/base/faults/shellWords";
import type { Command } from "commander";
import type { RunSetting } from "../app/ledger";
import { CONTRACT_FILE, coverageGate, type GateResult } from "../gates/coverageGate";
import { visualGate } from "../gates/visualGate";
import { DEFAULT_HARNESS } from "../harness";
import { type ContractOptions, contractOptions, readContract, withLedger } from "./options";

/** `serving harness gate`: what a change must pass before it lands. */
export function gateCommand(): Command {
  const form = {
    name: "gate",
    description: "Run a gate of an automation contract.",
    example: "harness gate coverage --contract contract.json",
  };
  return commandGroup(form, GATES.map(gate));
}

const GATES: readonly GateForm[] = [
  {
    name: "coverage",
    description:
      "Run the coverage command in the project and judge its report by the contract's floors and baseline.",
    example: "harness gate coverage --contract contract.json",
    prepare: ({ contract: { verification }, baseline }, options) => {
      const { project: root } = options;
      const { coverage } = verification;
      if (coverage === undefined)
        throw new WrongUse("the contract has no coverage (verification.coverage)");
      const freezing = freezeCommand(options);
      return (run) => coverageGate({ coverage, root, freezing, ...run }, baseline);
    },
  },
  {
    name: "visual",
    description:
      "Start the app, run the UI check in a throwaway checkout of HEAD, and judge its result. The check finds the browser's address in HX_VISUAL_URL and the app's in HX_APP_URL (with --prefix P: P + VISUAL_URL, P + APP_URL).",
    example: "harness gate visual --config automation.yaml --project .",
    prepare: ({ contract: { verification } }, { project, prefix }) => {
      const { visual, app } = verification;
      if (visual === undefined)
        throw new WrongUse("the contract has no visual check (verification.visual)");
      if (app === undefined) throw new WrongUse("the contract has no app (verification.app)");
      return (run) => visualGate({ visual, app, project, prefix, ...run });
    },
  },
];

/** The command that freezes what these options resolve, as it can be typed. */
function freezeCommand({ config = "automation.yaml", ...options }: ContractOptions): string {
  const { mapping, presets, registry, providers, project, prefix } = options;
  const given = Object.entries({ mapping, presets, registry, providers, project, prefix }).flatMap(
    ([name, value]) => (value === undefined || value === USUAL[name] ? [] : [`--${name}`, value]),
  );
  return `serving harness freeze automation ${shellWords([config, "--out", CONTRACT_FILE, ...given])}`;
}

/** What these options are when nobody gives them. */
const USUAL: Readonly<Record<string, string>> = { project: ".", prefix: DEFAULT_HARNESS.prefix };

interface GateForm {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  /** Finds what the gate needs in the contract, before the ledger is opened. Throws `WrongUse`. */
  prepare(
    contract: ReturnType<typeof readContract>,
    options: ContractOptions,
  ): (run: RunSetting) => Promise<GateResult>;
}

function gate({ name, description, example, prepare }: GateForm): Command {
  return command({
    name,
    description,
    options: contractOptions(),
    example,
    // A faulty config fails the gate, and a script finds that on stdout.
    refused: ({ faults, input }: Refusal) => ({
      gate: name,
      verdict: "fail",
      failures: faults.map((fault) => faultLine(fault, input)),
      issues: faults,
    }),
    run: async (options: ContractOptions): Promise<Outcome> => {
      const { ledger, result } = await withLedger(options, prepare(readContract(options), options));
      return {
        result: { gate: name, ...result, ledger: ledger.directory },
        text: [
          `${name} gate: ${result.verdict}`,
          ...(result.verdict === "pass" ? result.judged : result.failures).map(
            (line) => `  ${line}`,
          ),
          `ledger: ${ledger.directory}`,
        ].join("\n"),
        failed: result.verdict === "fail",
      };
    },
  });
}
