import { Failed } from "../../commandLine/exit";
import { interruption } from "../../commandLine/interrupt";
import { say } from "../../commandLine/output";
import { expectTerminal, saysYes } from "../../commandLine/saysYes";
import { listOf } from "../../faults/quoting";
import type { StackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import type { GivesWay } from "./giveWay";

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
  const wait = forStack(`serving wait --server ${key}`, options);
  return `The wait was ${interruption(signal)}, and ${key} goes on starting: \`${wait}\` follows it.`;
}

/** Options of a command that asks. */
interface Asking {
  readonly options: { readonly yes?: true };
  readonly signal: AbortSignal;
}

/**
 * Says who stops so that the server `key` can start, and asks. `when` ends the sentence, with what
 * becomes of their requests.
 */
export async function agreeToStops(
  { stops, why }: Pick<GivesWay, "stops" | "why">,
  key: string,
  when: string,
  { options, signal }: Asking,
): Promise<boolean> {
  const names = listOf(stops.map((each) => `${each.key} (${each.takenGiB.toFixed(2)} GiB)`));
  say(`${why} So ${names} ${stops.length === 1 ? "stops" : "stop"} ${when}`);
  if (options.yes) return true;
  expectTerminal();
  const keys = listOf(stops.map((each) => each.key));
  return saysYes(`Stop ${keys} and start ${key}?`, signal);
}
