import { CommanderError } from "commander";
import { bugText, commandOf } from "../faults/bug";
import { errorAt, Failed, type Fault, FaultyInput, listed, UnreadableInput } from "../faults/fault";
import { say } from "./output";

export { Failed };

/** Exit codes of every command; scripts rely on them. */
export const EXIT = {
  fine: 0,
  faults: 1,
  /** The command was used wrongly, or a file can't be read. */
  wrongUse: 2,
  /** A bug of this program (EX_SOFTWARE of sysexits.h). */
  bug: 70,
} as const;

/** A command was called wrongly. The user sees only the message. */
export class WrongUse extends Error {
  override readonly name = "WrongUse";
}

/** A name that means several things, each of which has another name that it alone has. */
export class SeveralMeant extends WrongUse {
  /** `why` says so, without the full stop. */
  constructor(
    readonly given: string,
    readonly why: string,
    readonly choices: readonly string[],
  ) {
    super(`${why}: write ${choices.join(" or ")}.`);
  }
}

/** Turns the file system's refusal to write into wrong use; throws anything else on. */
export function explainWriting(file: string, error: unknown): never {
  if (error instanceof Error && "syscall" in error)
    throw new WrongUse(`${file} can't be written: ${error.message}`);
  throw error;
}

/** Why a command has no result. */
export interface Refusal {
  readonly faults: readonly Fault[];
  /** What was read, where that is at fault. */
  readonly input?: string;
}

/** The faults that an error stands for; `undefined` for a bug, and where help was asked for. */
export function refusalIn(error: unknown): Refusal | undefined {
  if (error instanceof FaultyInput) return error;
  if (error instanceof UnreadableInput) {
    const { input, reason, place } = error;
    return { faults: [{ ...errorAt("", "unreadable", reason, place), file: input }], input };
  }
  const code = codeOf(error);
  if (code === undefined || !(error instanceof Error)) return undefined;
  return { faults: listed([errorAt("", code, error.message.replace(/^error: /, ""))]) };
}

function codeOf(error: unknown): string | undefined {
  if (error instanceof Failed) return error.code;
  const isWrongUse =
    error instanceof WrongUse || (error instanceof CommanderError && error.exitCode !== EXIT.fine);
  return isWrongUse ? "wrong_use" : undefined;
}

/**
 * Says what went wrong and returns the exit code. A user's mistake gets no stack trace; whatever
 * else was thrown is a bug of `program`. `more` gives lines to print below faults.
 */
export function explainFailure(
  error: unknown,
  program: string,
  more: (faults: readonly Fault[]) => readonly string[] = () => [],
): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.wrongUse;
  if (error instanceof WrongUse || error instanceof UnreadableInput) {
    say(error.message);
    return EXIT.wrongUse;
  }
  if (error instanceof FaultyInput) {
    say([error.message, ...more(error.faults)].join("\n"));
    return EXIT.faults;
  }
  if (error instanceof Failed) {
    say(error.message);
    return EXIT.faults;
  }
  say(bugText(error, commandOf(program)));
  return EXIT.bug;
}

/**
 * Ends the process with the same words for what escapes from a callback or from a promise that
 * nobody awaits.
 */
export function explainEscapes(program: string): void {
  process.on("uncaughtException", (error) => process.exit(explainFailure(error, program)));
}
