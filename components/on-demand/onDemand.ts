import { join } from "node:path";
import { local } from "@pulumi/command";
import { ComponentResource, type ComponentResourceOptions, type Output } from "@pulumi/pulumi";
import { defined } from "../../faults/defined";
import { scriptText, sha256 } from "../../machines/shell";
import { HostFile } from "../host/hostFile";
import type { PlannedFile } from "../planned/file";
import { TYPE } from "../planned/type";
import { onDemandInputs, type PlannedMachine } from "./onDemandInputs";
import type { OnDemandPlan } from "./onDemandPlan";

/** Brings llama-swap to a machine and puts it in place; `serving fetch` runs it, too. */
export const PROGRAM_SCRIPT = scriptText(join(__dirname, "program.sh"));

const UNIT_SCRIPT = scriptText(join(__dirname, "unitInForce.sh"));

/** Where the archive of a release is kept on the machine. */
export const archivePath = ({ folder, program }: Pick<OnDemandPlan, "folder" | "program">) =>
  `${folder}/llama-swap-${program.version}.tar.gz`;

/** What `program.sh` reads. */
export const programVariables = (planned: Pick<OnDemandPlan, "folder" | "program">) => {
  const { version, from, path, sha256: pinned = "" } = planned.program;
  return {
    VERSION: version,
    FROM: from,
    SHA256: pinned,
    PROGRAM: path,
    ARCHIVE: archivePath(planned),
  };
};

/** A slow line takes long for 20 MB. */
const BRING_TIMEOUT = "30m";

export interface OnDemandArgs {
  readonly machine: PlannedMachine;
  readonly planned: OnDemandPlan;
  /** What its key is, where it has one: another one restarts its unit. */
  readonly key?: Output<string>;
}

/**
 * llama-swap as the operator's systemd user unit. The unit is told the hashes of all that it reads,
 * so nothing else ever restarts it. It depends on every container of the machine: it starts after
 * they are made, and is gone before they go.
 */
export class OnDemand extends ComponentResource {
  constructor(name: string, args: OnDemandArgs, opts?: ComponentResourceOptions) {
    const { machine, planned, key } = args;
    const facts = onDemandInputs(machine) ?? {};
    super(TYPE.onDemand, name, { ...facts }, opts);
    const own = machine.files.filter(({ partOf }) => partOf === name);
    const program = new local.Command(
      `${name}-program`,
      {
        create: 'sh -c "$PROGRAM_SCRIPT"',
        delete: 'rm -f -- "$PROGRAM" "$ARCHIVE"',
        environment: { PROGRAM_SCRIPT, ...programVariables(planned) },
        addPreviousOutputInEnv: false,
      },
      { parent: this, customTimeouts: { create: BRING_TIMEOUT, update: BRING_TIMEOUT } },
    );
    // Made before the unit's file, so that it goes after it: then systemd forgets the unit.
    const forget = new local.Command(
      `${name}-after-removal`,
      {
        delete: doing("forget"),
        environment: { UNIT_SCRIPT, UNIT: planned.unit },
        addPreviousOutputInEnv: false,
      },
      { parent: this },
    );
    const files = own.map(
      (file) => new HostFile(file.resource, { file }, { parent: this, dependsOn: [forget] }),
    );
    new local.Command(
      `${name}-unit`,
      {
        create: doing("start"),
        delete: doing("end"),
        environment: {
          UNIT_SCRIPT,
          UNIT: planned.unit,
          URL: planned.url,
          STATE: `${planned.folder}/state`,
          READS: hashOf(own, planned),
        },
        // It reads none: another key is another input.
        ...defined({ stdin: key?.apply(sha256) }),
        addPreviousOutputInEnv: false,
      },
      { parent: this, dependsOn: [program, ...files] },
    );
    this.registerOutputs({ ...facts });
  }
}

/** Command that does this with the unit. */
const doing = (what: "start" | "end" | "forget"): string => `DO=${what} sh -c "$UNIT_SCRIPT"`;

/** A hash of everything that the unit reads but its key. */
const hashOf = (files: readonly PlannedFile[], { program }: OnDemandPlan): string =>
  sha256(
    [...files.map(({ path, text }) => `${path}\n${text}`), JSON.stringify(program)].join("\n"),
  );
