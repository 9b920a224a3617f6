import "@local-serving/base/faults/interpretSchemas";
import { commandLineOf } from "./commandLineOf";
import { planCommand } from "./commands/plan";
import { main } from "./main";
import { PLAN_DESCRIPTION } from "./planDescription";

// `serving plan` alone, which starts faster without the code of the other commands.
const COMMANDS = { plan: { description: PLAN_DESCRIPTION, load: planCommand } };

void main((words) => commandLineOf(COMMANDS, words), process.argv.slice(2));
