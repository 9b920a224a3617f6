import { existsSync } from "node:fs";
import { WrongUse } from "../../commandLine/exit";
import { readJsonFile } from "../../faults/jsonDocument";
import type { AnalyticsSources } from "../analytics/configuration";
import { readDotenv, repositoryDotenv } from "../analytics/dotenv";
import { harnessFile } from "../harness";
import type { HarnessOptions } from "./harnessOptions";

/** Where the command line says that the layers are. */
export interface AnalyticsOptions extends HarnessOptions {
  readonly config?: string;
  readonly dotenv?: string;
  readonly set?: readonly string[];
}

/** Reads the layers. A file that is named must be there; the user's own file and the repository's `.env` need not. */
export function readAnalyticsSources(options: AnalyticsOptions): AnalyticsSources {
  const settings = (options.set ?? []).map(parted);
  const own = harnessFile(options.home, "analytics");
  const file = options.config ?? (existsSync(own) ? own : undefined);
  const dotenv = options.dotenv ?? repositoryDotenv(process.cwd());
  return {
    prefix: options.prefix,
    document: file === undefined ? undefined : readJsonFile(file),
    dotenv: dotenv === undefined ? undefined : { file: dotenv, variables: readDotenv(dotenv) },
    environment: process.env,
    settings,
  };
}

function parted(setting: string): { key: string; value: string } {
  const equals = setting.indexOf("=");
  // The setting is not repeated: it might be a secret that was meant for another place.
  if (equals < 1) throw new WrongUse("--set takes KEY=VALUE, such as --set embedding.workers=2");
  return { key: setting.slice(0, equals), value: setting.slice(equals + 1) };
}

/** For options that can be given several times. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}
