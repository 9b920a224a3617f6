import { join } from "node:path";
import { NO_REASON } from "@local-serving/base/faults/lastWords";
import { isOverSsh } from "../address";
import { scriptText } from "../shell";

/** What of a service's data is copied before another image takes them. */
export interface DataToCopy {
  /** The volume, by its part of the service. */
  readonly part: string;
  /** Its database: a file of SQLite in that volume, and the columns that may hold its revision. */
  readonly database: { readonly file: string; readonly revision: readonly string[] };
}

/** Folder of the state on a machine below which each service has its copies. */
export const COPIES_FOLDER = "copies";

/** The copies of one service's data on one machine. */
export interface DataCopies {
  readonly service: string;
  /** Folder of the copies, on the machine. */
  readonly folder: string;
  readonly dockerHost: string;
  /** Image that is planned for the service. */
  readonly image: string;
  readonly container: string;
  readonly volume: string;
  readonly label: string;
  readonly database: DataToCopy["database"];
}

/** What is read of a planned machine. */
interface MachineWithData {
  readonly dockerHost: string;
  readonly files: readonly { readonly role: string; readonly path: string }[];
  readonly containers: readonly {
    readonly resource: string;
    readonly name: string;
    readonly image: string;
    readonly labels: Readonly<Record<string, string>>;
  }[];
}

interface ServiceWithData {
  readonly name: string;
  readonly resource: string;
  readonly volumes: readonly { readonly part: string; readonly name: string }[];
}

/** How many copies of a service's data stay. */
const COPIES_KEPT = 3;

/**
 * Where the copies of a service's data are and what makes them; `undefined` if it has no data of
 * its own. `label` names the label that each container of the machine has.
 */
export function dataCopiesOf(
  { dockerHost, files, containers }: MachineWithData,
  { name, resource, volumes }: ServiceWithData,
  data: DataToCopy | undefined,
  label: string,
): DataCopies | undefined {
  const applied = files.find(({ role }) => role === "applied-plan");
  const container = containers.find((each) => each.resource === resource);
  const volume = volumes.find(({ part }) => part === data?.part);
  if (!data || !applied || !container || !volume) return undefined;
  return {
    service: name,
    // Beside the applied plan.
    folder: applied.path.replace(/[^/]*$/, `${COPIES_FOLDER}/${name}`),
    dockerHost,
    image: container.image,
    container: container.name,
    volume: volume.name,
    label: `${label}=${container.labels[label] ?? ""}`,
    database: data.database,
  };
}

const SCRIPT = scriptText(join(__dirname, "dataCopies.sh"));

/**
 * Variables of the script, which dataCopies.sh explains; over ssh Docker is the machine's own.
 * Previews show the script uncommented.
 */
export function copiesEnvironment(copies: DataCopies): Record<string, string> {
  const { service, folder, dockerHost, image, volume, label, database } = copies;
  return {
    COPIES: folder,
    COPIES_SCRIPT: SCRIPT,
    DATABASE: [database.file, ...database.revision].join(" "),
    IMAGE: image,
    KEEP: `${COPIES_KEPT}`,
    LABEL: label,
    NO_REASON,
    READ_REVISION: scriptText(join(__dirname, "readRevision.py")),
    SERVICE: service,
    VOLUME: volume,
    ...(isOverSsh({ dockerHost }) ? {} : { DOCKER_HOST: dockerHost }),
  };
}

/** The command that runs the script before the container is touched. */
export const BEFORE_COMMAND = 'sh -c "$COPIES_SCRIPT" data-copies before';

/** The words that run the script with these arguments. */
export const copiesWords = (args: readonly string[]): string[] => [
  "sh",
  "-c",
  SCRIPT,
  "data-copies",
  ...args,
];
