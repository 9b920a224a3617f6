import { withNotes } from "@local-serving/base/commandLine/command";
import { say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import { orInputFault } from "@local-serving/base/faults/fault";
import { Command, Option } from "commander";
import { stateIsEmpty } from "../engine/backend";
import { settleKilled } from "../engine/brokenOff";
import { drive, type EngineWord } from "../engine/drive";
import { nothingApplied } from "../stack/nothingApplied";
import { readStack } from "../stack/readStack";
import {
  projectFolder,
  type StackFileOptions,
  saySample,
  stackFile,
  stackName,
  stackOption,
} from "../stack/stackFile";
import { afterDown } from "../update/afterDown";
import { up } from "../update/up";
import type { PartOptions } from "../update/way";

interface Form {
  readonly example: string;
  readonly notes?: string;
  readonly options?: readonly (readonly [flags: string, description: string])[];
}

interface UpdateOptions extends StackFileOptions, PartOptions {
  readonly verified?: true;
  readonly again?: true;
}

const OUTPUTS = "The stack's outputs are left out: --suppress-outputs=false prints them.";

const FORMS: Readonly<Record<EngineWord, Form>> = {
  preview: {
    notes: `Only \`up\` checks which ports are taken and how much memory is free now, before its first change.
${OUTPUTS}`,
    example: "preview --diff",
  },
  up: {
    example: "up --stack dgx",
    options: [
      ["--fetch", "without a terminal, too: look into images, load them and the models first"],
      ["--no-fetch", "leave that to the update and to the start"],
      ["--wait", "without a terminal, too: wait until what was started is ready"],
      ["--no-wait", "end once it is applied"],
      ["--verify", "without a terminal, too: wait, then probe what was started"],
      ["--no-verify", "end once it is ready"],
      [
        "--verified",
        "fetch first, then apply, wait and verify; if that fails, go back to the stack file that was verified last",
      ],
      ["--again", "apply settings that --verified tried and put back"],
    ],
    notes: `At a terminal it is the whole way: the plan on one screen, your yes, then images and models, the update, the wait for the
start, the probes, and how to use it. An image that nobody has looked into is read, and what is inside goes into the stack
file; the old file is kept beside it as FILE.bak. Ctrl-C in the wait leaves everything running. --yes asks nothing. Without a
terminal it only applies, unless --fetch, --wait or --verify asks for more. With options that apply a part, other settings or
nothing (such as --target), and with --json, Pulumi runs alone and asks itself.
With --refresh it first finds out what is gone from the machine since it was applied, and makes that again.
The preview is never skipped. Running requests may finish before their server is replaced.
If an update by --verified was interrupted, the next \`serving up\` finishes it. It first clears up what a killed engine left.
${OUTPUTS}`,
  },
  down: {
    example: "down --stack dgx",
  },
  refresh: {
    notes: "`serving up --refresh` does the same, and then applies the stack file.",
    example: "refresh --preview-only",
  },
};

/** The command that runs Pulumi with this word. */
export function updateCommand(word: EngineWord): Command {
  const { example, notes, options = [] } = FORMS[word];
  const command = new Command(word);
  for (const [flags, about] of options) command.addOption(new Option(flags, about));
  command.addOption(stackOption("-s, --stack <name>"));
  const pulumis = `Every option that is not listed here goes to Pulumi: \`pulumi ${word === "down" ? "destroy" : word} --help\` lists them.`;
  const codes = `Exit code: 0 done, 1 ${word === "up" ? "it refused, or didn't start, a probe failed, or an update by --verified went back, or " : ""}Pulumi is missing and can't be installed, 2 wrong use; any other is Pulumi's own.`;
  withNotes(command, [notes, pulumis, codes].filter(Boolean).join("\n"));
  return command
    .argument(
      "[pulumi-options...]",
      "options of Pulumi's own, such as --diff, --yes or --target URN",
    )
    .allowUnknownOption()
    .addHelpText("after", `\nExample:\n  serving ${example}`)
    .action((rest: string[], options: UpdateOptions) => runUpdate(word, rest, options));
}

async function runUpdate(word: EngineWord, rest: string[], options: UpdateOptions): Promise<void> {
  const stack = stackName(options);
  if (word === "preview" || word === "up") saySample(options);
  const { verified = false, again = false } = options;
  if (word !== "preview" && !rest.some(isPreviewOnly)) await settleKilled(stack);
  if (word === "up") {
    process.exitCode = await up(stack, rest, { verified, again, parts: partsOf(options) });
    return;
  }
  if (word !== "preview" && (await saysNothing(word, stack))) return;
  process.exitCode = await drive(word, stack, rest);
  if (word !== "down" || process.exitCode !== 0 || rest.some(isNotAll)) return;
  await afterDown(options);
}

const partsOf = ({ fetch, wait, verify }: UpdateOptions): PartOptions =>
  defined({ fetch, wait, verify });

const isPreviewOnly = (option: string): boolean => /^--preview-only(=true)?$/.test(option);

/** Options of a `down` that changes nothing, or takes down a part: then everything else is kept. */
const isNotAll = (option: string): boolean =>
  isPreviewOnly(option) || /^(--(target|exclude)(-dependents)?(=|$)|-t)/.test(option);

const NOTHING_TO_REMOVE = "Nothing is applied, so there is nothing to remove.";

/**
 * Says before the first `up` that there is nothing to look at or to remove: then no engine is
 * installed, and no state is made for it.
 */
async function saysNothing(word: "refresh" | "down", stack: string): Promise<boolean> {
  if (!stateIsEmpty(projectFolder(), stack, process.env)) return false;
  // A stack whose file can't be planned is the engine's to remove.
  const planned = orInputFault(() => readStack(stackFile({ stack })).plan);
  if (planned instanceof Error) return false;
  const nothing = await nothingApplied(planned.machines, { stack });
  if (nothing !== undefined) say(word === "down" ? NOTHING_TO_REMOVE : nothing);
  return nothing !== undefined;
}
