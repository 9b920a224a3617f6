import type { Outcome } from "@local-serving/base/commandLine/command";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { headed, terminalWidth } from "@local-serving/base/commandLine/layout";
import { type Format, printResult } from "@local-serving/base/commandLine/output";
import { canAsk, saysYes } from "@local-serving/base/commandLine/saysYes";
import { planScreen } from "../../plan/screen/planScreen";
import type { OneMachine } from "../../stack/readStack";
import { stackOf } from "../../stack/stackFile";
import { forStack, typedFor } from "../../stack/typed";
import { writeStackFile } from "../../stackEdit/writeStackFile";
import { notesText } from "../command/notes";
import type { Added } from "./addServers";

/** How a change is agreed to. */
interface Agreeing {
  readonly yes: boolean;
  readonly format: Format;
  /** How the change is made by somebody who wasn't asked. */
  readonly again: string;
}

/** Shows what a stack file gets, and writes it after a yes. */
export async function addOutcome(
  into: OneMachine,
  added: Added,
  { yes, format, again }: Agreeing,
): Promise<Outcome> {
  const shown = changeText(into, added);
  const asks = !yes && canAsk({ format });
  if (asks) printResult("text", undefined, shown);
  const agreed = yes || (asks && (await endingInOrder((end) => saysYes("Write it?", end))));
  const backup = agreed ? writeStackFile(into.file, into.text, added.after) : "";
  const { keys, model, diff, told, mend, refused, lasting } = added;
  const result = {
    file: into.file,
    server: keys[0] ?? "",
    servers: keys,
    model,
    diff,
    written: agreed,
    backup,
    mend,
    refused,
    command: told,
  };
  const end = endText(into, { agreed, backup, again });
  return {
    result,
    text: asks ? end : `${shown}\n\n${end}`,
    failed: !agreed || mend.length > 0 || lasting.length > 0,
  };
}

/** The change, what became of the command, and the plan that comes of it. */
function changeText({ file }: OneMachine, added: Added): string {
  const { diff, told, mend, planned, policies } = added;
  const typed = typedFor({ stack: stackOf(file) ?? "" });
  const screen = planScreen(planned.plan, policies, {
    width: terminalWidth(process.stdout),
    typed,
  });
  return [
    diff.trimEnd(),
    ...notesText(told),
    ...(mend.length === 0 ? [] : ["", "Fix first:", ...mend.map((each) => `  - ${each}`)]),
    "",
    "The plan is then:",
    screen,
  ].join("\n");
}

interface Ending {
  readonly agreed: boolean;
  readonly backup: string;
  readonly again: string;
}

function endText({ file }: OneMachine, { agreed, backup, again }: Ending): string {
  if (!agreed) return `Nothing is written. To write it: ${again}`;
  const next = forStack("serving up", { stack: stackOf(file) ?? "" });
  return [`${file} is written; the old file is ${backup}.`, headed("Next:", [next])].join("\n");
}
