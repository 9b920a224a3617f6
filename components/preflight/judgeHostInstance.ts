import { GIB_PER_GB } from "@local-serving/base/units/memory";
import type { Listener } from "@local-serving/machines/listeners";
import {
  type ClientFacts,
  clientFacts,
  nameForClients,
} from "@local-serving/vllm/argv/clientFacts";
import { demandOfProcess } from "@local-serving/vllm/argv/memoryDemand";
import { processArguments } from "@local-serving/vllm/argv/processArguments";
import { shareToDeclare, takenGiB, takesItsShare } from "@local-serving/vllm/utilization";
import { codingAtInstanceA } from "../clients";
import { type PreflightFinding, refused, warned } from "../features/kind";
import type { MachinePlan } from "../plan";
import type { HostInstanceFacts } from "../planned";
import type { MachineFacts } from "./types";

/** What is read of a machine to judge its instance A. */
type Read = Pick<MachineFacts, "listeners" | "memory">;

/**
 * Instance A is only ever read. The ledger and the clients are right only if instance A runs with
 * the declared arguments.
 */
export function hostInstanceFindings(
  { hostInstance, ledger, clients }: Pick<MachinePlan, "hostInstance" | "ledger" | "clients">,
  { listeners, memory }: Read,
): PreflightFinding[] {
  if (hostInstance === "none") return [];
  const { port, gpuMemoryUtilization } = hostInstance;
  const listener = listeners.find((each) => each.port === port);
  if (listener === undefined) {
    const message = `Nothing listens on port ${port}: instance A is not running. Its declared share of ${gpuMemoryUtilization} stays reserved; write \`instanceA: none\` if it is gone for good.`;
    return [warned(message, "instanceA", "none")];
  }
  const isAsked = codingAtInstanceA(clients).length > 0;
  return [
    ...shareFindings(hostInstance, listener, memory?.totalGiB ?? ledger.totalGiB),
    ...clientFindings(hostInstance, listener, isAsked),
  ];
}

const A_SHARE = "instanceA.gpuMemoryUtilization";

function shareFindings(
  hostInstance: HostInstanceFacts,
  listener: Listener,
  totalGiB: number,
): PreflightFinding[] {
  const { port, gpuMemoryUtilization } = hostInstance;
  const demand = listener.argv === undefined ? undefined : demandOfProcess(listener.argv);
  if (demand === undefined) {
    const why = listener.argv === undefined ? ", since it belongs to another user" : "";
    const message = `How instance A (port ${port}) was started can't be read${why}: its declared utilization of ${gpuMemoryUtilization} is used.`;
    return [warned(message)];
  }
  const actual = demand.utilization;
  if (!takesItsShare(demand)) {
    const { weightsGB } = hostInstance;
    const outside = weightsGB === undefined ? {} : { outsideGiB: weightsGB * GIB_PER_GB };
    const taken = takenGiB({ ...demand, ...outside }, totalGiB);
    const share = shareToDeclare({ ...demand, ...outside }, totalGiB);
    if (taken <= gpuMemoryUtilization * totalGiB) return [];
    const less = weightsGB === undefined ? " (less, once `instanceA.weightsGB` is declared)" : "";
    const message = `Instance A on port ${port} runs with utilization ${actual} and memory beside it (\`--kv-cache-memory-bytes\`, offloading or swap): it takes up to ${taken.toFixed(2)} GiB, but ${gpuMemoryUtilization} is declared. Declare \`instanceA.gpuMemoryUtilization: ${share}\`${less}, or restart instance A yourself without those flags.`;
    return [refused(message, A_SHARE, share)];
  }
  if (Math.abs(actual - gpuMemoryUtilization) < 1e-6) return [];
  const message = `Instance A on port ${port} runs with utilization ${actual}, but ${gpuMemoryUtilization} is declared. Declare the actual value (\`instanceA.gpuMemoryUtilization\`), or restart instance A yourself with the declared value.`;
  return [refused(message, A_SHARE, actual)];
}

/**
 * Where instance A gives clients something else than is declared. It stops an update only if a
 * coding client is pointed at it, and could not work.
 */
function clientFindings(
  hostInstance: HostInstanceFacts,
  { argv = [] }: Listener,
  isAsked: boolean,
): PreflightFinding[] {
  const args = processArguments(argv);
  if (args === undefined) return [];
  const { port, servedModelName, toolParser, keyVariable } = hostInstance;
  const running = clientFacts(args);
  const says = isAsked ? refused : warned;
  const who = `Instance A on port ${port}`;
  const findings: PreflightFinding[] = [];
  if (toolParser !== undefined && toolParser !== running.toolParser) {
    const message = `${who} runs ${parserWords(running)}, but \`toolParser: ${toolParser}\` is declared. Declare the actual parser (\`instanceA.toolParser: ${running.toolParser}\`), or restart instance A yourself.`;
    const lacksOne = running.toolParser === "none";
    const found = lacksOne ? says : warned;
    findings.push(found(message, "instanceA.toolParser", running.toolParser));
  }
  const name = nameForClients(running.names);
  // An adapter has a name of its own.
  const isTold = name !== undefined && !args.options.has("lora-modules");
  if (servedModelName !== undefined && isTold && !running.names.includes(servedModelName)) {
    const served = running.names.map((each) => `\`${each}\``).join(", ");
    const message = `${who} serves ${served}, but \`servedModelName: ${servedModelName}\` is declared. Declare the actual name (\`instanceA.servedModelName: ${name}\`), or restart instance A yourself.`;
    findings.push(says(message, "instanceA.servedModelName", name));
  }
  if (keyVariable === "none" && running.holdsKey) {
    const message = `${who} asks for a key (\`--api-key\`), but \`keyVariable: none\` is declared. Declare the variable of your shell that holds it (\`instanceA.keyVariable: NAME\`).`;
    findings.push(says(message, "instanceA.keyVariable"));
  }
  return findings;
}

const parserWords = ({ toolParser }: ClientFacts): string =>
  toolParser === "none"
    ? "without `--enable-auto-tool-choice --tool-call-parser`"
    : `with \`--tool-call-parser ${toolParser}\``;
