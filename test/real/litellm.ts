import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MachinePlan } from "../../components/plan/types";
import { MASTER_KEY_VARIABLE } from "../../components/services/bridge/bridgeConfig";
import { fileOf } from "../fixtures/services";
import type { Egress } from "./egress";
import { type Serving, serveUntilReady } from "./process";

export interface LitellmOptions {
  /** The real key, where the plan takes it from a file. */
  readonly key?: string;
  readonly change?: (config: string) => string;
}

/**
 * Starts LiteLLM with the arguments, the variables and the file of a plan. Two things are other
 * than in the container: where the file lies, and that the server's name does not resolve here.
 */
export function startLitellm(
  program: string,
  machine: MachinePlan,
  folder: string,
  egress: Egress,
  { key, change = (config) => config }: LitellmOptions = {},
): Promise<Serving> {
  const { bridge } = machine;
  if (bridge === null) throw new Error("the plan has no bridge");
  const config = join(folder, "config.yaml");
  mkdirSync(folder, { recursive: true });
  writeFileSync(config, onLoopback(change(fileOf(machine, "bridge-config").text)));
  const args = bridge.container.command.map((word) =>
    word.endsWith("config.yaml") ? config : word,
  );
  return serveUntilReady(program, args, {
    env: {
      ...{ PATH: process.env.PATH ?? "", HOME: folder },
      ...bridge.container.env,
      // Its entrypoint reads the key from a file.
      ...(key === undefined ? {} : { [MASTER_KEY_VARIABLE]: key }),
      ...egress.variables,
    },
    cwd: folder,
    url: `http://127.0.0.1:${bridge.port}/health/liveliness`,
    seconds: 120,
  });
}

/** Container names stand for loopback here, and their host for an address that is none. */
export function onLoopback(text: string, host = "127.0.0.1"): string {
  return text
    .replaceAll(/http:\/\/(?!host\.docker\.internal)[\w.-]+:(\d+)/g, "http://127.0.0.1:$1")
    .replaceAll("http://host.docker.internal:", `http://${host}:`);
}
