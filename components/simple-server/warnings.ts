import { isLoopback } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";
import { simpleServerMemory, uncountedModels } from "./memory";

/** What an operator should know of the simple server before it runs, each with its code. */
export function simpleServerWarnings(machine: MachineSettings): [code: string, message: string][] {
  const { simpleServer, elevate } = machine;
  const warnings: [string, string][] = [...uncounted(machine)];
  if (simpleServer.mode !== "host") return warnings;
  if (elevate === "none") {
    warnings.push([
      "simple-server-by-hand",
      "Ollama's drop-in needs root and `elevate` is `none`: it is skipped. Run the commands that `serving plan` prints, or set `elevate: [sudo, -n]`.",
    ]);
  }
  if (!isLoopback(simpleServer.listen)) {
    warnings.push([
      "simple-server-on-lan",
      `Ollama listens on ${simpleServer.listen}:${simpleServer.port}: everyone on the local network can use it, and it asks for no key.`,
    ]);
  }
  return warnings;
}

function uncounted({ simpleServer }: MachineSettings): [code: string, message: string][] {
  const models = uncountedModels(simpleServer);
  const kept = simpleServer.mode === "host" && simpleServer.keepAlive.startsWith("-");
  if (models.length > 0)
    return [
      [
        "simple-server-uncounted",
        `The memory ledger does not count ${models.join(", ")} of Ollama: say in \`loadedGiB\` what each takes once it is loaded (\`ollama ps\`).${kept ? " `keepAlive` keeps them in memory for good." : ""}`,
      ],
    ];
  if (!kept || simpleServerMemory(simpleServer).length > 0) return [];
  return [
    [
      "simple-server-uncounted",
      `\`keepAlive: ${simpleServer.keepAlive}\` keeps Ollama's models in memory for good, and the memory ledger has no line for them: declare \`models\` and their \`loadedGiB\`.`,
    ],
  ];
}
