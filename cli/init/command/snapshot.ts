/** A model of the hub, by the path that it has in the hub's cache. */
export interface Snapshot {
  readonly id: string;
  /** Its commit; absent where the path has none with 40 digits. */
  readonly revision?: string;
  /** The cache's folder, where it has the form that every program gives it. */
  readonly cache?: string;
}

const PATH = /^(.*)\/models--([\w.-]+?)--([\w.-]+)(?:\/snapshots\/([^/]+))?\/?$/;

/** The model whose folder in the hub's cache a path is; `undefined` for any other path. */
export function hubSnapshot(path: string): Snapshot | undefined {
  const [, folder = "", organization, name, commit = ""] = PATH.exec(path) ?? [];
  if (organization === undefined) return undefined;
  const [, cache] = /^(.+)\/hub$/.exec(folder) ?? [];
  return {
    id: `${organization}/${name}`,
    ...(/^[0-9a-f]{40}$/.test(commit) ? { revision: commit } : {}),
    ...(cache === undefined ? {} : { cache }),
  };
}
