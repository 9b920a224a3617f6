import { basename } from "node:path";
import type { MachinePlan } from "../../../components/plan";
import { serviceNamed } from "../../../components/services";
import type { Row } from "./rows";

type Endpoint = MachinePlan["endpoints"][number];

/** What to type, where services answer, and the APIs of servers of ours. */
export function useRow(machine: MachinePlan, most: number): Row[] {
  const { clients, endpoints } = machine;
  const launchers = clients.map(({ command }) => basename(command));
  const services = endpoints.flatMap((endpoint) => {
    const service = serviceNamed(endpoint.key);
    return service === undefined ? [] : [`${service.title} ${urlOf(endpoint)}`];
  });
  const parts = [launchers.join(", "), services.join(", "), apiText(machine)];
  const text = parts.filter(Boolean).join("; ");
  return text === "" ? [] : [{ label: "use", texts: [text], most }];
}

/** The URL for other computers where there is one, since that is right everywhere. */
const urlOf = ({ url, network }: Endpoint): string =>
  network !== undefined && URL.canParse(network) ? network : url;

/** The APIs of servers, each with its key where there are several. */
function apiText({ inferenceServers, endpoints }: MachinePlan): string {
  const urls = inferenceServers.flatMap(({ key }) =>
    endpoints
      .filter((endpoint) => endpoint.key === key)
      .map((endpoint) => `${urlOf(endpoint)}${inferenceServers.length > 1 ? ` (${key})` : ""}`),
  );
  return urls.length === 0 ? "" : `API ${urls.join(", ")}`;
}
