import { WrongUse } from "../../commandLine/exit";
import { SAYS_YES } from "../engine/drive";

/** Throws `WrongUse` where nobody can say yes. */
export function mayAsk(options: readonly string[]): void {
  if (!options.some((option) => SAYS_YES.test(option)) && process.stdin.isTTY !== true)
    throw new WrongUse("Without a terminal nobody can say yes: add --yes.");
}
