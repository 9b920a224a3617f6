import { defined } from "../../faults/defined";
import { type JsonObject, textOr } from "../../faults/json";

/** An entry of /v1/models. */
export interface ServedModel {
  readonly id: string;
  /** The model behind the name, as the server was started with it. */
  readonly root?: string;
  /** The model that an adapter belongs to. */
  readonly parent?: string;
  readonly window?: number;
}

export const servedModel = ({
  id,
  root,
  parent,
  max_model_len: window,
}: JsonObject): ServedModel => ({
  id: textOr(id),
  ...defined({
    root: textOr(root) || undefined,
    parent: textOr(parent) || undefined,
    window: typeof window === "number" ? window : undefined,
  }),
});

/** `owner/name`; a path has more slashes, or begins with one, a dot or a tilde. */
const HUB_ID = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;

/**
 * The model that is served in the place of the declared one. Only where both are hub ids: a folder,
 * a path in the cache, an adapter, or a proxy that repeats the name say nothing.
 */
export function otherModel(declared: string, entries: readonly ServedModel[]): string | undefined {
  const same = (id: string) => id.toLowerCase() === declared.toLowerCase();
  const roots = entries.flatMap(({ id, root, parent }) =>
    root === undefined || parent !== undefined || root === id ? [] : [root],
  );
  const [root] = roots;
  if (root === undefined || !HUB_ID.test(root) || !HUB_ID.test(declared)) return undefined;
  return roots.some(same) ? undefined : root;
}
