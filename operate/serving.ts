import { main } from "./main";
import { COMMANDS } from "./servingCommand";

void main(COMMANDS);
