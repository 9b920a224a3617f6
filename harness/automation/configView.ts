import { valueAt } from "../../faults/schemaFaults";

/**
 * A config that its schema may have refused, read key by key: a rule about one block still speaks when another block
 * is broken, so that all faults come at once. A value of the wrong type reads as absent; the schema has said so.
 */
export interface ConfigView {
  /** Whether anything at all stands at a path. */
  has(path: readonly string[]): boolean;
  isMap(path: readonly string[]): boolean;
  text(path: readonly string[]): string | undefined;
  number(path: readonly string[]): number | undefined;
  texts(path: readonly string[]): { readonly index: number; readonly text: string }[];
}

export function configView(config: unknown): ConfigView {
  const at = (path: readonly string[]) => valueAt(config, path);
  return {
    has: (path) => at(path) !== undefined,
    isMap: (path) => {
      const value = at(path);
      return typeof value === "object" && value !== null && !Array.isArray(value);
    },
    text: (path) => {
      const value = at(path);
      return typeof value === "string" && value !== "" ? value : undefined;
    },
    number: (path) => {
      const value = at(path);
      return typeof value === "number" && Number.isFinite(value) ? value : undefined;
    },
    texts: (path) => {
      const value = at(path);
      if (!Array.isArray(value)) return [];
      return value.flatMap((text: unknown, index) => (typeof text === "string" ? [{ index, text }] : []));
    },
  };
}
