import { main } from "./main";

// `serving plan` alone, which starts faster without the code of the other commands.
void main({ plan: async () => (await import("./commands/plan")).planCommand() });
