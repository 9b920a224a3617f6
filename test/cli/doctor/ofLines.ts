import { SIGNS } from "../../../cli/rules/registry";
import { reportsOf } from "../../../cli/rules/report";
import { scanLog } from "../../../cli/sees/log/scanLog";

/** What doctor says of these lines of a log, without a stack file. */
export async function ofLines(...lines: readonly string[]) {
  const log = await scanLog({ name: "server.log", kind: "file" }, [`${lines.join("\n")}\n`], SIGNS);
  return reportsOf({ logs: [log] });
}
