import { Failed } from "@local-serving/base/commandLine/exit";
import { interruption } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import type { StackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";

/** Why a container can't be started that isn't there, and what makes it. */
export function noContainer(container: string, machine: string, options: StackFileOptions): Failed {
  const up = forStack("serving up --refresh", options);
  return new Failed(`There is no container ${container} on ${machine}: \`${up}\` makes it.`);
}

/** That a container was stopped, and what that left. */
export function stoppedText(container: string, availableGiB: number | null | undefined): string {
  const left = availableGiB == null ? "" : ` MemAvailable is ${availableGiB.toFixed(1)} GiB.`;
  return `${container} is stopped.${left}`;
}

/** That a start goes on for which nobody waits any more, and what follows it. */
export function goesOnText(key: string, signal: AbortSignal, options: StackFileOptions): string {
  const wait = forStack(`serving status --wait ${key}`, options);
  return `The wait was ${interruption(signal)}, and ${key} goes on starting: \`${wait}\` follows it.`;
}

/** Says what took the place of an option that was for a question which nothing asks any more. */
export function sayNothingIsAsked({ yes }: { readonly yes?: true }): void {
  if (yes)
    say(
      "`--yes` does nothing, since nothing is asked: a server that doesn't fit beside what runs isn't started, and the message says what to stop. With llama-swap, that makes room.",
    );
}
