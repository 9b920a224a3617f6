import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromFiles } from "../../../cli/doctor/read/fromFiles";
import { reportsOf } from "../../../cli/rules/report";
import { STACK_TEXT, stackOf } from "../../cli/doctor/stack";
import { temporaryFolder } from "../../layers/temporaryFolder";

/** What doctor says of a log, by the names of its diagnoses. */
export async function told(log: string): Promise<string[]> {
  const file = join(temporaryFolder("log-"), "server.log");
  writeFileSync(file, log);
  const facts = await fromFiles({ log: [file] });
  return reportsOf({ ...facts, stack: stackOf(STACK_TEXT) }).map(({ id }) => id);
}
