import { commandLineOf } from "./commandLineOf";
import { planCommand } from "./commands/plan";
import { main } from "./main";

// `serving plan` alone, which starts faster without the code of the other commands.
const COMMANDS = { plan: planCommand };

void main((words) => commandLineOf(COMMANDS, words), process.argv.slice(2));
