import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { programOnPath } from "@local-serving/base/commandLine/run";
import { pulumiHome } from "../stack/selectedStack";

/** Seconds between two signs of life while the engine is being installed. */
const SIGN_OF_LIFE_SECONDS = 5;

/**
 * The Pulumi CLI: on PATH, in ~/.pulumi/bin, or installed by the Automation API's own installer.
 */
export async function findPulumi(): Promise<string> {
  const found = installedPulumi(process.env);
  if (found !== undefined) return found;
  const { PulumiCommand } = await import("@pulumi/pulumi/automation");
  say(
    "No Pulumi CLI on PATH or in ~/.pulumi/bin: installing the version for this project below ~/.pulumi/versions.",
  );
  const started = Date.now();
  const sayHowLong = () =>
    say(`  still installing, ${Math.round((Date.now() - started) / 1000)} s`);
  const progress = setInterval(sayHowLong, SIGN_OF_LIFE_SECONDS * 1000);
  try {
    const installation = await PulumiCommand.install();
    say(`  installed ${installation.version?.toString() ?? "Pulumi"}`);
    return installation.command;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new Failed(
      `The Pulumi CLI could not be installed (${reason}). Install it as https://www.pulumi.com/docs/install/ says, then run this again.`,
    );
  } finally {
    clearInterval(progress);
  }
}

/** The Pulumi CLI that is there already. Its installer goes by HOME, the CLI itself doesn't. */
export function installedPulumi(env: NodeJS.ProcessEnv): string | undefined {
  const homes = [pulumiHome(env), join(env.HOME ?? homedir(), ".pulumi")];
  const folders = homes.map((home) => join(home, "bin"));
  return programOnPath(["pulumi"], [env.PATH, ...folders].join(delimiter));
}

/** PATH for the engine: its language host lies beside it. */
export const pathWith = (command: string, env: NodeJS.ProcessEnv): string =>
  [dirname(command), env.PATH ?? ""].filter(Boolean).join(delimiter);
