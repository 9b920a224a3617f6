import type { DeclaredServer } from "./service";

/**
 * Says what is wrong with naming a server whose model must be of one kind; `undefined` if nothing
 * is.
 */
export function otherKind(
  name: string | undefined,
  kind: DeclaredServer["kind"],
  servers: readonly DeclaredServer[],
): string | undefined {
  const able = servers.filter((each) => each.kind === kind).map(({ key }) => key);
  if (name === undefined || able.includes(name)) return undefined;
  const known = able.length === 0 ? "none is declared" : `there is ${able.join(", ")}`;
  return `\`${name}\` is not a server with \`model.kind: ${kind}\`: ${known}.`;
}
