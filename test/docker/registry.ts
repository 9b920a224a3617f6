import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../layers/freePort";

/** Where Debian's package docker-registry puts its program. */
const PROGRAM = "/usr/bin/docker-registry";

export function registryMissing(): string | undefined {
  return existsSync(PROGRAM)
    ? undefined
    : `${PROGRAM} is not installed (Debian package docker-registry)`;
}

export interface Registry {
  /** `localhost:PORT`, as it begins an image's name. */
  readonly address: string;
  stop(): void;
}

/** Starts a registry of images on a free port of loopback, with its files under `folder`. */
export async function startRegistry(folder: string): Promise<Registry> {
  const port = await freePort();
  const config = join(folder, "registry.json");
  const log = join(folder, "registry.log");
  // The program reads YAML, of which JSON is a part.
  writeFileSync(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: "warn" },
      storage: { filesystem: { rootdirectory: join(folder, "registry") } },
      http: { addr: `127.0.0.1:${port}` },
    }),
  );
  const output = openSync(log, "w");
  const child = spawn(PROGRAM, ["serve", config], { stdio: ["ignore", output, output] });
  const stop = () => void child.kill();
  process.once("exit", stop);
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/v2/`).catch(() => undefined);
    if (answer?.ok) return { address: `localhost:${port}`, stop };
    await sleep(100);
  }
  stop();
  throw new Error(`${PROGRAM} did not answer within 10 s:\n${readFileSync(log, "utf8")}`);
}
