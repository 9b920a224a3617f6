import { basename } from "node:path";
import { isIn } from "@local-serving/machines/home";
import type { InferenceServerSettings } from "./inferenceServer";
import type { AdapterSettings } from "./ownModels";

/** Folders of ours inside a server's container. */
export const INSIDE = {
  /** Where vLLM looks for models (HF_HOME is unset there, the server runs as root). */
  modelCache: "/root/.cache/huggingface",
  jitCache: "/jit-cache",
  adapters: "/adapters",
  models: "/models",
} as const;

type OwnModel = Pick<InferenceServerSettings, "model" | "mounts">;

/**
 * The folder on the machine that a server's model is, as the stack file writes it; `undefined` for
 * a model of the hub, and for a path that is inside the container already.
 */
export function folderOfModel({ model, mounts }: OwnModel): string | undefined {
  const { id } = model;
  if (model.inImage || !/^(\/|~\/)/.test(id)) return undefined;
  return [INSIDE.modelCache, ...mounts.map(({ to }) => to)].some((folder) => isIn(id, folder))
    ? undefined
    : id;
}

/** The model as vLLM is given it: its hub id, or its path inside the container. */
export function modelInside(server: OwnModel): string {
  const folder = folderOfModel(server);
  return folder === undefined ? server.model.id : `${INSIDE.models}/${basename(folder)}`;
}

/**
 * An adapter's path inside the container. vLLM takes no revision for one, so one of the hub is
 * named by its snapshot in the model cache, as huggingface_hub lays it out.
 */
export const adapterInside = ({ name, id, revision }: AdapterSettings): string =>
  id === undefined
    ? `${INSIDE.adapters}/${name}`
    : `${INSIDE.modelCache}/hub/models--${id.replaceAll("/", "--")}/snapshots/${revision ?? ""}`;

/** What tells an adapter of one machine from any other: its folder, or its commit on the hub. */
export const placeOfAdapter = ({
  path,
  id,
  revision,
}: Pick<AdapterSettings, "path" | "id" | "revision">): string => path ?? `${id}@${revision}`;
