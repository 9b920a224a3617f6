import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { explainEscapes, explainFailure, WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { runShown } from "../../commandLine/run";
import { WAITS_VARIABLE } from "../../components/program";
import { attempt, defined } from "../../faults/defined";
import { readTextFile } from "../../faults/textFile";
import { LEVELS_FILE, LEVELS_VARIABLE, PACK_VARIABLE } from "../../policies/levels";
import {
  projectFolder,
  type StackFileOptions,
  stackFile,
  stackName,
  stackOption,
} from "../stack/stackFile";
import { backendEnvironment } from "./backend";
import { failedPulls, waitsForEver } from "./eventLog";
import { findPulumi, pathWith } from "./findPulumi";

/** What each of our words means to the engine. */
const ENGINE_COMMANDS = { preview: "preview", up: "up", down: "destroy" } as const;
type Word = keyof typeof ENGINE_COMMANDS;

/** The engine knows these at `up` and `down` only. */
const SAYS_YES = /^(--yes|-y|--yes=.*)$/;

const SKIPS_PREVIEW = /^(--skip-preview|-f|--skip-preview=.*)$/;

/**
 * Runs the real Pulumi with our policies, our default state folder and a preview that is never
 * skipped.
 */
async function drive(word: Word, stack: string, given: readonly string[]): Promise<number> {
  const rest = word === "preview" ? given.filter((argument) => !SAYS_YES.test(argument)) : given;
  if (rest.length < given.length)
    say("A preview changes nothing and asks nothing, so it needs no `--yes`.");
  const skipping = rest.find((argument) => SKIPS_PREVIEW.test(argument));
  if (skipping !== undefined)
    throw new WrongUse(
      `${skipping}: the preview is what the policies judge; it is never skipped here.`,
    );
  const project = projectFolder();
  stackFile({ stack });
  const pulumi = await findPulumi();
  const levels = policyLevels(project, rest);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    // The program judges by the same levels as the pack.
    ...defined({ [LEVELS_VARIABLE]: levels }),
    ...(word === "down" ? {} : { [PACK_VARIABLE]: "on" }),
    ...(word === "up" ? { [WAITS_VARIABLE]: "on" } : {}),
    PATH: pathWith(pulumi, process.env),
    PULUMI_SKIP_UPDATE_CHECK: "true",
    // Without it the engine doesn't know `--event-log`.
    PULUMI_DEBUG_COMMANDS: "true",
    ...backendEnvironment(project, stack, process.env),
  };
  // The engine asks its own questions.
  const engine = (args: readonly string[], isStuck?: () => boolean) =>
    runShown([pulumi, ...args], { cwd: project, env, stdio: "inherit" }, isStuck);
  const selected = await engine(["stack", "select", "--create", "--stack", stack]);
  if (selected !== 0) return selected;
  const configured =
    levels === undefined || rest.some(isLevelsOption) ? [] : [LEVELS_OPTION, levels];
  const policies =
    word === "down" ? [] : ["--policy-pack", join(project, "policies"), ...configured];
  // What fails on one machine is no reason to leave the others half done.
  const goesOn =
    word !== "preview" && (await hasSeveralMachines(stack)) ? ["--continue-on-error"] : [];
  const args = [ENGINE_COMMANDS[word], "--stack", stack, ...goesOn, ...policies, ...rest];
  if (word !== "up" || rest.some((argument) => argument.startsWith(EVENT_LOG))) return engine(args);
  const folder = mkdtempSync(join(tmpdir(), "local-serving-up-"));
  try {
    const events = join(folder, "events");
    const code = await engine([...args, EVENT_LOG, events], waitsForEver(events));
    if (code !== 0) for (const sentence of failedPulls(events)) say(sentence);
    return code;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A stack file with faults is the program's to tell. */
async function hasSeveralMachines(stack: string): Promise<boolean> {
  const { parseStackFile } = await import("../../components/settings");
  const file = stackFile({ stack });
  return (
    attempt(() => Object.keys(parseStackFile(file, readTextFile(file)).machines).length > 1) ??
    false
  );
}

const EVENT_LOG = "--event-log";

const LEVELS_OPTION = "--policy-pack-config";
const isLevelsOption = (argument: string) =>
  argument === LEVELS_OPTION || argument.startsWith(`${LEVELS_OPTION}=`);

/**
 * The policy configuration that is in force: the one named on the command line, else the project's
 * own.
 */
function policyLevels(project: string, rest: readonly string[]): string | undefined {
  const at = rest.findIndex(isLevelsOption);
  const named = at < 0 ? undefined : (rest[at]?.split("=")[1] ?? rest[at + 1]);
  if (named !== undefined) return resolve(named);
  const own = join(project, LEVELS_FILE);
  return existsSync(own) ? own : undefined;
}

function program(): Command {
  const root = new Command("local-serving").exitOverride().showHelpAfterError();
  const descriptions: Record<Word, string> = {
    preview: "Show what `up` would change, judged by the policies.",
    up: "Apply the stack file: shows the preview, asks, then changes the machine.",
    down: "Remove what we made. The model cache stays, and so does everything that isn't ours.",
  };
  for (const word of Object.keys(ENGINE_COMMANDS) as Word[]) {
    root
      .command(word)
      .description(descriptions[word])
      .addOption(stackOption("-s, --stack <name>"))
      .argument("[engine options...]", "handed on to Pulumi, for example --diff or --yes")
      .allowUnknownOption()
      .addHelpText(
        "after",
        `\nExample:\n  npm run ${word} -- --stack dgx${word === "preview" ? " --diff" : ""}`,
      )
      .action(async (rest: string[], options: StackFileOptions) => {
        process.exitCode = await drive(word, stackName(options), rest);
      });
  }
  return root;
}

explainEscapes("npm run");
program()
  .parseAsync()
  .catch((error: unknown) => {
    process.exitCode = explainFailure(error, "npm run");
  });
