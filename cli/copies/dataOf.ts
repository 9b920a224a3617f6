import { WrongUse } from "@local-serving/base/commandLine/exit";
import { type DataCopies, dataCopiesOf } from "@local-serving/machines/copies/dataCopies";
import type { MachinePlan } from "../../components/plan";
import { LABEL } from "../../components/planned";
import { SERVICES, serviceNamed } from "../../components/services";
import { named } from "../stack/named";

/** A service's copies, with the machine that they are on. */
export interface DataOn {
  readonly machine: MachinePlan;
  readonly copies: DataCopies;
}

/** The copies of a service on a machine; `undefined` for one without data, and for a server. */
export function dataOn(machine: MachinePlan, service: string): DataOn | undefined {
  const planned = machine.services.find(({ name }) => name === service);
  if (planned === undefined) return undefined;
  const copies = dataCopiesOf(machine, planned, serviceNamed(service)?.data, LABEL.machine);
  return copies && { machine, copies };
}

/** Everything on these machines whose data are copied. */
export const allData = (machines: readonly MachinePlan[]): DataOn[] =>
  machines.flatMap((machine) =>
    machine.services.flatMap(({ name }) => dataOn(machine, name) ?? []),
  );

/** Names of the services whose data are copied. */
export const WITH_DATA = SERVICES.filter(({ data }) => data !== undefined).map(({ name }) => name);

/** The data of what somebody names. Throws `WrongUse` where it has none that is copied. */
export function dataNamed(machines: readonly MachinePlan[], name: string): DataOn {
  const { machine, key } = named(machines, name);
  const found = dataOn(machine, key);
  if (found !== undefined) return found;
  throw new WrongUse(`${key} keeps no data to copy: name ${WITH_DATA.join(" or ")}.`);
}
