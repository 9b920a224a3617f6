import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { MachinePlan } from "../../components/plan/types";
import { dropInVariables } from "../simple-server/realOllama";
import type { Egress } from "./egress";
import { type Serving, serveUntilReady } from "./process";

/**
 * Starts `ollama serve` with the variables of the planned drop-in, or with others where it is not
 * applied; it answers at `at`.
 */
export function startOllama(
  program: string,
  machine: MachinePlan,
  folder: string,
  egress: Egress,
  otherwise: Readonly<Record<string, string>> = {},
  at?: string,
): Promise<Serving> {
  const { simpleServer } = machine;
  if (simpleServer.mode !== "host") throw new Error("the plan has no Ollama on the host");
  mkdirSync(join(folder, "home"), { recursive: true });
  return serveUntilReady(program, ["serve"], {
    env: {
      ...{ PATH: process.env.PATH ?? "", HOME: join(folder, "home") },
      ...dropInVariables(machine),
      ...egress.variables,
      ...otherwise,
    },
    cwd: folder,
    url: at ?? simpleServer.baseUrl,
    seconds: 30,
  });
}
