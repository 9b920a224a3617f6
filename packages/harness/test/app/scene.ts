import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { bundledHarness } from "../../../../test/cli/harness/bundledServing";
import { freePort } from "../../../../test/layers/freePort";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { endProcessesWith, type Finished, type Started, start } from "../processes";

const markers: string[] = [];
afterAll(() => {
  // Only a test that failed has left any.
  for (const marker of markers) endProcessesWith(marker);
});

export const SERVER = join(__dirname, "../fixtures/app/server.cjs");
export interface Scene {
  readonly directory: string;
  readonly marker: string;
  readonly url: string;
  readonly port: number;
}

/**
 * A directory with a config whose app is the fixture server, marked so that its processes can be
 * found.
 */
export async function scene(options: string, app: Record<string, unknown> = {}): Promise<Scene> {
  const directory = temporaryFolder("app-run-");
  const port = await freePort();
  const marker = `marker-${port}-${Date.now()}`;
  markers.push(marker);
  const url = `http://127.0.0.1:${port}/healthz`;
  const config = {
    verification: {
      app: {
        command: `exec node ${SERVER} ${marker} ${port} ${options}`,
        stop_timeout_sec: 1,
        ready: { url, timeout_sec: 8 },
        ...app,
      },
    },
  };
  writeFileSync(join(directory, "automation.json"), JSON.stringify(config));
  return { directory, marker, url, port };
}

/** Starts `serving harness app run` with an evaluator. */
export function run({ directory }: Scene, ...evaluator: string[]): Started {
  const args = [
    bundledHarness(),
    "app",
    "run",
    "--config",
    "automation.json",
    "--format",
    "json",
    "--",
    ...evaluator,
  ];
  return start("node", args, directory);
}

export function report(finished: Finished) {
  const parsed = JSON.parse(finished.stdout);
  return { ...parsed, states: parsed.states.map(({ state }: { state: string }) => state) };
}

export function appGroup({ directory }: Scene): number | undefined {
  try {
    const events = readFileSync(join(directory, ".hx/ledger/events.jsonl"), "utf8")
      .trim()
      .split("\n");
    return events.map((line) => JSON.parse(line)).find(({ event }) => event === "launched")?.pgid;
  } catch {
    return undefined;
  }
}

/** An evaluator that says when it runs, and then takes its time. */
export function slowEvaluator({ directory, marker }: Scene): string[] {
  return ["sh", "-c", `touch ${directory}/evaluating; sleep 60; : ${marker}`];
}

export function evaluating({ directory }: Scene): boolean {
  return existsSync(join(directory, "evaluating"));
}

/** Rewrites the app's block of a scene. */
export function changeApp({ directory }: Scene, change: Record<string, unknown>): void {
  const file = join(directory, "automation.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  Object.assign(config.verification.app, change);
  writeFileSync(file, JSON.stringify(config));
}
