import { basename } from "node:path";
import type { MachinePlan } from "../../../components/plan";
import { serviceNamed } from "../../../components/services";
import type { Row } from "./rows";

/** What to type, and where services answer. Where servers answer, their own rows say. */
export function useRow({ clients, endpoints }: MachinePlan): Row[] {
  const launchers = clients.map(({ command }) => basename(command));
  const services = endpoints.flatMap(({ key, url, network }) => {
    const service = serviceNamed(key);
    if (service === undefined) return [];
    const outside = network?.startsWith("http") ? ` (network: ${network})` : "";
    return [`${service.title} ${url}${outside}`];
  });
  const texts = [launchers, services].filter(({ length }) => length > 0);
  return texts.length === 0 ? [] : [{ label: "use", texts: texts.map((each) => each.join(", ")) }];
}
