import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import { readHost } from "../../../cli/sees/computer/computer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { madeMachine } from "./madeMachine";

/** What `serving init --facts` prints on a made machine, as a file; returns its path. */
export async function madeFacts(): Promise<string> {
  const { sources, env } = madeMachine({});
  vi.stubEnv("PATH", env.PATH ?? "");
  const file = join(temporaryFolder("init-facts-"), "facts.json");
  writeFileSync(file, JSON.stringify(await readHost(sources)));
  vi.unstubAllEnvs();
  return file;
}
