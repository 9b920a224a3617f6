import { readFileSync } from "node:fs";
import { join } from "node:path";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { sha256 } from "@local-serving/machines/shell";
import { local } from "@pulumi/command";
import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import { type PlannedFile, TYPE } from "../planned";
import { HostFile } from "./hostFile";

/**
 * Prints systemd's complaints about a drop-in. Its exit code is unreliable; the script says why.
 */
export const SYSTEMD_CHECK = readFileSync(join(__dirname, "systemdCheck.sh"), "utf8");

export interface SystemdDropInArgs {
  /** Unit that the drop-in belongs to, such as `ollama.service`. */
  readonly unit: string;
  readonly file: PlannedFile;
  /** Words before a command that needs root, such as `sudo -n`. */
  readonly elevate: readonly string[];
}

/**
 * A drop-in of a systemd unit: checked, put in place, then the unit is restarted. The restart is
 * told the text's hash, so nothing else ever restarts the unit. When the drop-in goes, the unit is
 * restarted once more without it.
 */
export class SystemdDropIn extends ComponentResource {
  constructor(name: string, args: SystemdDropInArgs, opts?: ComponentResourceOptions) {
    const { unit, file, elevate } = args;
    const facts = { unit, path: file.path, elevate: [...elevate] };
    super(TYPE.systemdDropIn, name, facts, opts);
    const restart = restartCommand(elevate);
    const common = { environment: { UNIT: unit }, addPreviousOutputInEnv: false };

    // Made before the file, so that it goes after the file: then systemd reads what is left.
    const afterRemoval = new local.Command(
      `${name}-after-removal`,
      { ...common, delete: restart },
      { parent: this },
    );
    const check = new local.Command(
      `${name}-check`,
      {
        create: 'sh -c "$SYSTEMD_CHECK"',
        stdin: file.text,
        environment: { SYSTEMD_CHECK },
        addPreviousOutputInEnv: false,
      },
      { parent: this },
    );
    const written = new HostFile(
      name,
      { file, elevate },
      { parent: this, dependsOn: [check, afterRemoval] },
    );
    new local.Command(
      `${name}-restart`,
      {
        ...common,
        create: restart,
        environment: { UNIT: unit, DROP_IN_SHA256: sha256(file.text) },
      },
      { parent: this, dependsOn: [written] },
    );
    this.registerOutputs(facts);
  }
}

function restartCommand(elevate: readonly string[]): string {
  const systemctl = shellWords([...elevate, "systemctl"]);
  return `${systemctl} daemon-reload && ${systemctl} restart -- "$UNIT"`;
}
