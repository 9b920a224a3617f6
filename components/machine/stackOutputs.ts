import { kvFacts } from "../plan/kvFacts";
import { AGGREGATE_LIMIT, utilizationText } from "../plan/ledger/utilization";
import type { MachinePlan, Plan } from "../plan/types";

/** Outputs of the stack: where things are, how each client is started and how the memory adds up. Nothing secret is among them. */
export function stackOutputs(plan: Plan) {
  return {
    endpoints: Object.fromEntries(
      plan.machines.map((machine) => [
        machine.name,
        Object.fromEntries(machine.endpoints.map((endpoint) => [endpoint.name, endpoint.url])),
      ]),
    ),
    clients: Object.fromEntries(
      plan.machines.map((machine) => [
        machine.name,
        Object.fromEntries(machine.clients.map((client) => [client.client, client.command])),
      ]),
    ),
    memory: Object.fromEntries(plan.machines.map((machine) => [machine.name, memoryTable(machine)])),
    kvCache: Object.fromEntries(plan.machines.map((machine) => [machine.name, kvTable(machine)])),
  };
}

function memoryTable({ ledger }: MachinePlan): Record<string, string> {
  return {
    ...Object.fromEntries(
      ledger.lines.map((line) => [line.name, `${line.gib.toFixed(2)} GiB (${line.basis})`]),
    ),
    sum: `${ledger.sumGiB.toFixed(2)} of ${ledger.totalGiB.toFixed(2)} GiB`,
    "aggregate utilization": `${utilizationText(ledger.aggregateUtilization)} (limit ${utilizationText(AGGREGATE_LIMIT)})`,
  };
}

function kvTable({ kv }: MachinePlan): Record<string, Record<string, string> | string> {
  return Object.fromEntries(
    Object.entries(kv).map(([container, planned]) => [
      container,
      planned === null ? "not known" : Object.fromEntries(kvFacts(planned)),
    ]),
  );
}
