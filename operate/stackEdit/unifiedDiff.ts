import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";

/** The difference of two texts as `git apply` and `patch -p1` take it; empty where there is none. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return "";
  const patch = structuredPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
    context: 3,
  });
  return formatPatch(patch, FILE_HEADERS_ONLY);
}
