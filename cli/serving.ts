import "@local-serving/base/faults/interpretSchemas";
import { todaysWords } from "./earlierWords";
import { main } from "./main";
import { serving } from "./servingCommand";

void main(serving, todaysWords(process.argv.slice(2)));
