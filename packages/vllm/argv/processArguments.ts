import { readServerArguments, type ServerArguments } from "./serverArguments";
import { serverInvocations } from "./serverInvocations";

/** The arguments of the server that an argv starts, where it starts one and is read for certain. */
export function processArguments(argv: readonly string[]): ServerArguments | undefined {
  const [server] = serverInvocations(argv, new Map()).servers;
  const args = server && readServerArguments(server);
  return args?.unreadable.length === 0 ? args : undefined;
}
