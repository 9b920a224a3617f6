import { commandLineOf } from "./commandLineOf";
import { main } from "./main";

// `serving plan` alone, which starts faster without the code of the other commands.
const COMMANDS = { plan: async () => (await import("./commands/plan")).planCommand() };

void main((words) => commandLineOf(COMMANDS, words), process.argv.slice(2));
