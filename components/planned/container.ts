import type { DataOf } from "@local-serving/base/data/dataOf";
import type { containerSchema } from "./schema/container";

/** A container with every value explicit; nothing is left to the daemon's defaults. */
export type PlannedContainer = DataOf<typeof containerSchema>;

export type Mount = PlannedContainer["mounts"][number];

/** The labels of our containers. */
export const LABEL = {
  /** Every container of ours has it; its value is the machine's name in the stack file. */
  machine: "local-serving.machine",
  /** The server's key in the stack file. */
  server: "local-serving.server",
  /** `onRequest` on a container that nothing starts but `serving start`. */
  start: "local-serving.start",
  /** A fingerprint of the configuration that the container was started with. */
  config: "local-serving.config",
  /** Fingerprints of the operator's own folders that a server was started with: `NAME=HASH ...`. */
  folders: "local-serving.folders",
} as const;

/** Fingerprints of the operator's own folders that a server was started with, by what each is. */
export function folderHashes({ labels }: Pick<PlannedContainer, "labels">): Map<string, string> {
  const words = (labels[LABEL.folders] ?? "").split(" ").map((word) => word.split("="));
  const of = (name: string) =>
    name === "model.id" ? "the model's folder" : `the folder of the adapter ${name}`;
  return new Map(
    words.flatMap(([name = "", hash]) => (hash === undefined ? [] : [[of(name), hash]])),
  );
}

/** The network of a container that has the machine's own addresses. */
export const HOST_NETWORK = "host";

/** The variables of a container in one order, whoever named them. */
export const inNameOrder = (variables: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1)));
