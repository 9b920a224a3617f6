import {
  type ClientFacts,
  clientFacts,
  nameForClients,
} from "@local-serving/vllm/argv/clientFacts";
import { processArguments } from "@local-serving/vllm/argv/processArguments";
import type { MachinePlan } from "../../components/plan";
import type { Host } from "./host";

/** Variable of the operator's shell with instance A's key, where none is declared. */
export const INSTANCE_A_KEY = "LOCAL_SERVING_INSTANCE_A_KEY";

/** Instance A as it is declared. */
export type DeclaredInstanceA = Exclude<MachinePlan["hostInstance"], "none">;

/** What the process on instance A's port gives clients by its argv, or why that can't be read. */
export async function startedWith(
  { listener }: Pick<Host, "listener">,
  port: number,
): Promise<ClientFacts | { readonly unread: string }> {
  const found = await listener(port);
  if (found === undefined) return { unread: `nothing listens on port ${port}` };
  const { argv } = found;
  if (argv === undefined) return { unread: "its process belongs to another user" };
  const args = processArguments(argv);
  return args === undefined ? { unread: "its argv can't be read for certain" } : clientFacts(args);
}

/** Settings of instance A that should say what it runs with, and don't. */
export function toDeclare(
  { servedModelName, toolParser, keyVariable = "none" }: DeclaredInstanceA,
  running: ClientFacts,
): [setting: string, value: string][] {
  const name = nameForClients(running.names);
  const settings: [setting: string, value: string][] = [];
  if (servedModelName === undefined && name !== undefined) settings.push(["servedModelName", name]);
  if (toolParser !== running.toolParser) settings.push(["toolParser", running.toolParser]);
  if (keyVariable === "none" && running.holdsKey) settings.push(["keyVariable", INSTANCE_A_KEY]);
  return settings;
}
