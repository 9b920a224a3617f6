import { isOverSsh } from "./address";

/** Home directory of the operator. */
interface Operator {
  readonly home: string;
}

/**
 * Home directory on a machine: as its settings say, else the operator's here. Over ssh it is where
 * that user's home usually is, so that a plan needs no connection. The preflight compares it with
 * the machine.
 */
export function homeOn(
  { dockerHost, home }: { readonly dockerHost: string; readonly home?: string | undefined },
  operator: Operator,
): string {
  if (home !== undefined) return home;
  const user = isOverSsh({ dockerHost }) ? new URL(dockerHost).username : "";
  if (user === "") return operator.home;
  return user === "root" ? "/root" : `/home/${user}`;
}

/** A path of the stack file as it is on the machine. */
export const onMachine = (path: string, operator: Operator): string =>
  path.startsWith("~/") ? `${operator.home.replace(/\/$/, "")}/${path.slice(2)}` : path;

/** Whether a path is a folder, or lies in it. */
export const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
