import { knownMap, list, type Read, text, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { containerName, type DeclaredResource } from "./container";
import type { MachineGroup } from "./machines";

/** What a program says of an inference server that its arguments don't: the model's kind and who uses it. */
export interface ServerRecord {
  readonly resource: DeclaredResource;
  /** Name of its container. */
  readonly container: Read<string>;
  readonly modelId: Read<string>;
  readonly kind: Read<string>;
  /** Whether the model has a thinking mode; `undefined` when nothing says so. */
  readonly thinking: boolean | undefined;
  readonly codingClients: readonly string[];
}

function serverRecord(resource: DeclaredResource): ServerRecord {
  const model = knownMap(resource.props.model);
  const clients = list(resource.props.codingClients);
  return {
    resource,
    container: text(resource.props.container),
    modelId: text(model.id),
    kind: text(model.kind),
    thinking: typeof model.thinking === "boolean" ? model.thinking : undefined,
    codingClients: clients === UNKNOWN ? ["a client that is not known yet"] : clients.map(String),
  };
}

/** Each record of a machine with the container that it speaks of, where that is declared. */
export function recordsWithContainers(
  group: MachineGroup,
): { record: ServerRecord; container: DeclaredResource | undefined }[] {
  return group.serverRecords.map(serverRecord).map((record) => ({
    record,
    container: group.containers.find(
      (container) => containerName(container) === record.container || container.name === record.container,
    ),
  }));
}
