import { kvFacts } from "../memory/kvFacts";
import { hundredths } from "../memory/ledger";
import type { MachinePlan, Plan } from "../plan/types";
import { AGGREGATE_LIMIT, utilizationText } from "../planned/utilization";

/** Outputs of the stack: where things are, how each client is started and how the memory adds up. Nothing secret is among them. */
export function stackOutputs(plan: Plan) {
  const ofEach = <T>(table: (machine: MachinePlan) => T) =>
    Object.fromEntries(plan.machines.map((machine) => [machine.name, table(machine)]));
  return {
    endpoints: ofEach(({ endpoints }) => Object.fromEntries(endpoints.map(({ name, url }) => [name, url]))),
    clients: ofEach(({ clients }) => Object.fromEntries(clients.map((each) => [each.client, each.command]))),
    memory: ofEach(memoryTable),
    kvCache: ofEach(kvTable),
  };
}

/** The engine shows keys in the order of their letters, capitals first: so what matters comes first. */
function memoryTable({ ledger }: MachinePlan): Record<string, string> {
  const { totalGiB, sumGiB } = ledger;
  const left = hundredths(hundredths(totalGiB) - sumGiB);
  const rest = left < 0 ? `${(-left).toFixed(2)} MISSING: does not fit` : `${left.toFixed(2)} left`;
  return {
    SUM: `${sumGiB.toFixed(2)} of ${totalGiB.toFixed(2)} GiB, ${rest}`,
    ...Object.fromEntries(
      ledger.lines.map((line) => [line.name, `${line.gib.toFixed(2)} GiB (${line.basis}: ${line.source})`]),
    ),
    "aggregate utilization": `${utilizationText(ledger.aggregateUtilization)} (limit ${utilizationText(AGGREGATE_LIMIT)})`,
    ...Object.fromEntries(
      Object.entries(ledger.largestUtilization).map(([name, { bySum, byAggregate }]) => [
        `${name}: largest utilization`,
        `${Math.min(bySum, byAggregate).toFixed(2)} (${bySum.toFixed(2)} by the sum, ${byAggregate.toFixed(2)} by the limit)`,
      ]),
    ),
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
