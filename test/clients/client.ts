import { fileOf, planned } from "../fixtures/services";

export const clientText = (
  role: string,
  clients: Record<string, unknown>,
  machine: Record<string, unknown> = {},
): string => fileOf(planned({ clients, ...machine }), role).text;

/** The lines of a client's launcher that Codex's, which has a golden text, lacks. */
export function launcherLines(client: string, clients: Record<string, unknown>): string[] {
  const golden = new Set(clientText("launcher-codex", { codex: {} }).split("\n"));
  return clientText(`launcher-${client}`, clients)
    .split("\n")
    .filter((line) => !golden.has(line));
}
