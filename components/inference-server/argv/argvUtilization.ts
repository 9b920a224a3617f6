import { TEN_THOUSAND } from "../../planned/utilization";
import { readServerArguments } from "./serverArguments";
import { serverInvocations } from "./serverInvocations";
import { shareOf } from "./utilization";

/**
 * The share of memory that a process's argv asks for, as vLLM reads it: its default where the flag is missing.
 * `undefined` where the argv starts no inference server, or one that can't be read for certain.
 */
export function utilizationOf(argv: readonly string[]): number | undefined {
  const [server] = serverInvocations(argv, new Map()).servers;
  if (server === undefined) return undefined;
  const args = readServerArguments(server);
  const share = shareOf(args);
  return share.known && args.unreadable.length === 0 ? share.tenThousandths / TEN_THOUSAND : undefined;
}
