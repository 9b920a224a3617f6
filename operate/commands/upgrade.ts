import { Argument, type Command, Option } from "commander";
import { command, type Outcome } from "../../commandLine/command";
import { WrongUse } from "../../commandLine/exit";
import { PACKAGE } from "../packages/pin";
import { type StackFileOptions, stackFileOptions } from "../stack/stackFile";

interface UpgradeOptions extends StackFileOptions {
  readonly write?: true;
  readonly install: boolean;
}

export function upgradeCommand(): Command {
  return command({
    name: "upgrade",
    description:
      "Find a newer release of this program, or of a server's or service's image, show what it would change here, and pin it.",
    arguments: [
      new Argument(
        "[name]",
        "server or service whose image to look up: `b`, `bridge`, `chat-ui`; left out, the program itself and a list of the images",
      ),
    ],
    options: [
      ...stackFileOptions(),
      new Option(
        "--write",
        "pin the newest release in package.json, and run `npm install`; with a name, in the stack file, once the image was pulled and read",
      ),
      new Option("--no-install", "with --write: print `npm install` instead of running it"),
    ],
    notes: `Until this program is on npm, it asks npm nothing, says how to take a newer release, and lists the images.
Once it is, this command asks the registry in your npm settings, installs the newer release in a folder of its own, and prints
that release's plan against what is applied here. Nothing on the machine changes before \`serving up\`. UPGRADE.md says what each release restarts.

With a name it asks the registry of its image, without Docker and without a key, and prints what the newest release that isn't
denied would change: flags, parsers and variables that its vLLM lacks, the KV cache, what is replaced and for how long, findings.
--write pulls the image, reads the versions inside it, and writes as \`serving pin --write\` does, unless the result is refused.

Exit code: 0 it is the newest, or what a newer one would change; 1 npm or a registry can't say, or the newer one is refused; 2 wrong use.`,
    example: "upgrade b --write && serving up --verified",
    run: upgradeOutcome,
  });
}

async function upgradeOutcome(options: UpgradeOptions, name?: string): Promise<Outcome> {
  if (name === undefined) {
    const { upgradeProgram } = await import("../upgrade/upgradeProgram");
    return upgradeProgram(options);
  }
  if (!options.install)
    throw new WrongUse(`--no-install belongs to ${PACKAGE} itself: leave out ${name}.`);
  const { upgradeImage } = await import("../upgrade/upgradeImage");
  return upgradeImage(name, options);
}
