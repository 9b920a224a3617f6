import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { onMachine } from "@local-serving/machines/home";
import { contentHash } from "@local-serving/machines/shell";
import { LABEL, type Mount } from "../planned";
import type { inferenceServerSchema } from "../planned/schema";
import {
  adapterInside,
  folderOfModel,
  type InferenceServerSettings,
  modelInside,
} from "../settings";

/** An adapter as the plan has it. */
export type PlannedAdapter = NonNullable<DataOf<typeof inferenceServerSchema>["adapters"]>[number];

/** The adapters of a server, with their paths on the machine and inside the container. */
export const plannedAdapters = (
  { adapters }: InferenceServerSettings,
  home: string,
): PlannedAdapter[] =>
  adapters.map((adapter) => ({
    name: adapter.name,
    ...defined({
      path: adapter.path && onMachine(adapter.path, { home }),
      id: adapter.id,
      revision: adapter.revision,
    }),
    target: adapterInside(adapter),
    ...defined({ rank: adapter.rank, trainedOn: adapter.trainedOn }),
  }));

/** What a server's plan says of its operator's own models, where there is anything to say. */
export const ownModelFields = (
  { allowPickle, maxLoraRank, maxLoras }: InferenceServerSettings,
  adapters: readonly PlannedAdapter[],
) => ({
  ...(adapters.length === 0
    ? {}
    : {
        adapters,
        adapterSlots: { ...defined({ rank: maxLoraRank }), count: maxLoras ?? adapters.length },
      }),
  ...(allowPickle ? { allowPickle: true as const } : {}),
});

/** Mounts of the folders that a server reads, none of which it can write. */
export function folderMounts(
  server: InferenceServerSettings,
  adapters: readonly PlannedAdapter[],
  home: string,
): Mount[] {
  const model = folderOfModel(server);
  const mount = (source: string, target: string): Mount => ({
    type: "bind",
    source: onMachine(source, { home }),
    target,
    readOnly: true,
  });
  return [
    ...(model === undefined ? [] : [mount(model, modelInside(server))]),
    ...adapters.flatMap(({ path, target }) => (path === undefined ? [] : [mount(path, target)])),
    ...server.mounts.map(({ from, to }) => mount(from, to)),
  ];
}

/**
 * A label that changes when the files of a server's own folders do, so that an update replaces its
 * container: a fingerprint behind the name of each. Nothing else would tell: the path is the same after another training run. What the
 * hub has under a commit stays as it is.
 */
export function foldersLabel(
  server: InferenceServerSettings,
  digestOf: (place: string) => string | undefined,
): Readonly<Record<string, string>> {
  const model = folderOfModel(server);
  const adapters = server.adapters.flatMap(({ name, path }) =>
    path === undefined ? [] : [[name, path] as const],
  );
  const places = [...(model === undefined ? [] : [["model.id", model] as const]), ...adapters];
  const known = places.flatMap(([name, place]) => {
    const digest = digestOf(place);
    return digest === undefined ? [] : [`${name}=${contentHash(digest)}`];
  });
  return known.length === 0 ? {} : { [LABEL.folders]: known.join(" ") };
}
