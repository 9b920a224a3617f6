import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromFiles } from "../../../operate/doctor/read/fromFiles";
import { reportsOf } from "../../../operate/rules/report";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT, stackOf } from "../../operate/doctor/stack";

/** What doctor says of a log, by the names of its diagnoses. */
export async function told(log: string): Promise<string[]> {
  const file = join(temporaryFolder("log-"), "server.log");
  writeFileSync(file, log);
  const facts = await fromFiles({ log: [file] });
  return reportsOf({ ...facts, stack: stackOf(STACK_TEXT) }).map(({ id }) => id);
}
