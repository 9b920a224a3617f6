import { expectTerminal } from "@local-serving/base/commandLine/saysYes";
import { SAYS_YES } from "../engine/drive";

/** Throws `WrongUse` where nobody can say yes, and nobody said it before. */
export function mayAsk(options: readonly string[]): void {
  if (!options.some((option) => SAYS_YES.test(option))) expectTerminal();
}
