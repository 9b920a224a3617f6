import { Failed } from "@local-serving/base/commandLine/exit";
import { NoAnswer, type NoAnswerReason } from "@local-serving/base/http/ask";
import { BadAnswer, quote } from "../../sees/answer";
import { fail, type Probe, type Verdict } from "../probe";
import type { Target } from "../target";
import { probesFor } from "./catalog";

/** A verdict, and why there was no answer to judge. */
export interface Run extends Verdict {
  readonly noAnswer?: NoAnswerReason;
}

/** Runs a probe; whatever it throws is a failure. */
export async function runProbe(probe: Probe<Target>, target: Target): Promise<Run> {
  try {
    return await probe.run(target);
  } catch (error) {
    if (error instanceof NoAnswer) return unanswered(error, probe, target);
    if (error instanceof BadAnswer && error.isFailure)
      return fail(
        error.message,
        `The server failed. See its log${logOf(target)}, then run serving doctor.`,
      );
    if (error instanceof BadAnswer || error instanceof Failed) return fail(error.message);
    // An unforeseen answer, such as one nested a million deep, ends its own probe and not the run.
    const said = quote(error instanceof Error ? error.message : String(error));
    return fail(`the answer could not be judged: ${said}`);
  }
}

/** How to read the log of a target that is a container of ours: ` (docker logs NAME)`. */
const logOf = ({ machine, name }: Target): string =>
  machine.containers.some((each) => each.name === name) ? ` (docker logs ${name})` : "";

/** A setting that a probe knows has nothing to do with an answer that never came. */
function unanswered(error: NoAnswer, probe: Probe<Target>, target: Target): Run {
  const { reason, message } = error;
  if (reason === "refused") {
    // If nobody answers, only the reason matters; the first probe of a kind asks whether its
    // target is alive.
    const [first = probe] = probesFor(target);
    const closes = `${target.name} does not answer`;
    return { ...fail(message, first.fix(target)), noAnswer: reason, closes };
  }
  const log = logOf(target);
  const fixes: Partial<Record<NoAnswerReason, string>> = {
    timeout: `It answers too late or not at all: see what it does${log || " in its log"}, then run serving doctor. If it is only slow, set a longer --timeout.`,
    closed: `It closed the connection, as a dying program does. See its log${log}, then run serving doctor.`,
  };
  return { ...fail(message, fixes[reason]), noAnswer: reason };
}
