import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { EngineLayer } from "./layer";

type Found = Extract<EngineLayer, { pulumi: string }>;

/**
 * Variables of the test runner or of the person at the keyboard that would change what the engine
 * does.
 */
const TAKEN_AWAY = /^(PULUMI_|VITEST|NODE_OPTIONS$|NODE_ENV$|XDG_|NO_COLOR$|FORCE_COLOR$)/;

/**
 * Makes the folders of an engine that keeps everything under `root`, and returns its environment:
 * no account, no update check, no passphrase to ask.
 */
export function engineEnvironment(root: string, engine: Found): Record<string, string | undefined> {
  for (const folder of ["home", "pulumi", "state"]) mkdirSync(join(root, folder));
  symlinkSync(engine.plugins, join(root, "pulumi/plugins"));
  const cleared = Object.keys(process.env).filter((name) => TAKEN_AWAY.test(name));
  return {
    ...Object.fromEntries(cleared.map((name) => [name, undefined])),
    HOME: join(root, "home"),
    // The language host is beside the CLI, which need not be on PATH itself.
    PATH: `${join(engine.pulumi, "..")}:${process.env.PATH ?? ""}`,
    PULUMI_HOME: join(root, "pulumi"),
    PULUMI_BACKEND_URL: pathToFileURL(join(root, "state")).href,
    PULUMI_CONFIG_PASSPHRASE: "",
    // No test asks the hub.
    HF_ENDPOINT: "http://127.0.0.1:9",
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_CI_DETECTION: "true",
    // `--event-log`, which the Automation API too reads events from, is a flag only with this.
    PULUMI_DEBUG_COMMANDS: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
  };
}
