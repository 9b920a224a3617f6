import type { MachineSettings } from "../settings/machine";

/** What an operator should know of the simple server before it runs, each with its code. */
export function simpleServerWarnings(machine: MachineSettings): [code: string, message: string][] {
  const { simpleServer, elevate } = machine;
  if (simpleServer.mode !== "host") return [];
  const warnings: [string, string][] = [];
  const listen = simpleServer.listen ?? machine.listen;
  if (elevate === "none") {
    warnings.push([
      "simple-server-by-hand",
      "Ollama's drop-in needs root and `elevate` is `none`: it is skipped. Run the commands that `serving plan` prints, or set `elevate: [sudo, -n]`.",
    ]);
  }
  if (!listen.startsWith("127.")) {
    warnings.push([
      "simple-server-on-lan",
      `Ollama listens on ${listen}:${simpleServer.port}: everyone on the local network can use it, and it asks for no key.`,
    ]);
  }
  if (simpleServer.keepAlive.startsWith("-") && simpleServer.residentModelsGiB === undefined) {
    warnings.push([
      "simple-server-uncounted",
      `\`keepAlive: ${simpleServer.keepAlive}\` keeps Ollama's models in memory for good, and the memory ledger has no line for them: set \`residentModelsGiB\`.`,
    ]);
  }
  return warnings;
}
