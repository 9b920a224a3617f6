import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import {
  behindVllm,
  type Invocations,
  isPython,
  printsVersions,
} from "@local-serving/vllm/argv/serverInvocations";
import { subcommandOf } from "@local-serving/vllm/argv/subcommands";
import { baseName, isText, type Word } from "@local-serving/vllm/argv/unknown";
import type { LaunchInputs } from "./container";
import known from "./idlePrograms.json";
import { namesShare } from "./otherEngines";
import { appearsIn, isInProgramFolder, runsItsOwn, steers, workFolders } from "./replacedPrograms";

const PROGRAMS = known.programs.map(({ program, arguments: allowed, alone = false }) => ({
  program,
  allowed: allowed === undefined ? undefined : new RegExp(allowed),
  alone,
}));

/** Words of a shell that a command stands behind, and programs that run the words behind them. */
const IN_FRONT = /^(?:while|until|if|then|elif|else|do|!|time|exec|nohup)$/;
/** The ends of such commands. */
const CLOSING = /^(?:done|fi|exit)$/;
/** An init for containers, in front of the command that it runs. */
const INIT = /^(?:tini|dumb-init)$/;
/** A variable that is set in front of a command, or for those behind it. */
const ASSIGNMENT = /^([A-Za-z_]\w*)=/;

/**
 * Whether all that a container runs is known and starts nothing of vLLM's. `found`: its command, as
 * it was read.
 */
export function isIdle(launch: LaunchInputs, found: Invocations): boolean {
  if (launch.entrypoint === undefined && onlyHelps(launch.command)) return true;
  const { commands, scripts, unreadable } = found;
  if (found.servers.length + found.engines.length + unreadable.length > 0) return false;
  const inScript = scripts.length > 0;
  return (
    commands.length > 0 &&
    commands.every((command) => isIdleCommand(command, inScript)) &&
    ![...launch.variables.keys()].some(steers) &&
    runsItsOwn(launch, { commands: commands.map(withoutFront), scripts }) &&
    (launch.entrypoint !== undefined || isNoServer(launch))
  );
}

/** Whether the words make `vllm serve` print something and end. */
const onlyHelps = (words: readonly Word[]): boolean =>
  subcommandOf(["serve", ...words])?.does === "nothing";

/** Whether one command is known, and starts nothing of vLLM's. */
export function isIdleCommand(command: readonly Word[], inScript: boolean): boolean {
  const words = withoutFront(command);
  const [program, ...rest] = words;
  if (namesShare(command)) return false;
  if (program === undefined) return command.length > 0;
  if (printsVersions(words)) return true;
  const behind = behindVllm(words);
  if (behind !== undefined) return subcommandOf(behind)?.does === "nothing";
  if (!isText(program) || (program.includes("/") && !isInProgramFolder(program))) return false;
  const name = isPython(program) ? "python3" : baseName(program);
  const given = rest.every(isText) ? rest.join(" ") : undefined;
  return PROGRAMS.some(
    (each) =>
      each.program === name &&
      !(each.alone && inScript) &&
      (each.allowed === undefined || (given !== undefined && each.allowed.test(given))),
  );
}

/** A command without what stands in front of it and runs it. */
function withoutFront(words: readonly Word[]): readonly Word[] {
  const [first, second] = words;
  if (!isText(first)) return words;
  if (CLOSING.test(first) && words.length === 1) return [];
  // `for NAME in WORDS` runs nothing itself, and its name's value isn't known behind it.
  if (first === "for") return [];
  if (IN_FRONT.test(first)) return withoutFront(words.slice(1));
  const [, assigned] = ASSIGNMENT.exec(first) ?? [];
  if (assigned !== undefined && !steers(assigned)) return withoutFront(words.slice(1));
  if (INIT.test(baseName(first)) && words.includes("--"))
    return withoutFront(words.slice(words.indexOf("--") + 1));
  const isTimed = first === "timeout" && isText(second) && /^[\d.]+[smhd]?$/.test(second);
  return isTimed ? withoutFront(words.slice(2)) : words;
}

/**
 * Whether the words are none that `vllm serve`, as an image's own entrypoint, could start with:
 * what it doesn't take, or a model of that name in a folder that nothing appears in.
 */
function isNoServer({ command, ...launch }: LaunchInputs): boolean {
  const { surplus, options, unknownFlags } = readServerArguments(command);
  const refused =
    surplus.length > 0 ||
    unknownFlags.length > 0 ||
    command.includes("-c") ||
    [...options.keys()].some((name) => name.startsWith("-"));
  return refused || !appearsIn(launch.places, workFolders(launch));
}
