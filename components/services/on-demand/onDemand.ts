import { join } from "node:path";
import { originOf } from "@local-serving/machines/address";
import { scriptText, sha256 } from "@local-serving/machines/shell";
import { local } from "@pulumi/command";
import {
  ComponentResource,
  type ComponentResourceOptions,
  type CustomResourceOptions,
  type Output,
} from "@pulumi/pulumi";
import { HostFile } from "../../host";
import { type PlannedFile, TYPE } from "../../planned";
import { onDemandInputs, type PlannedMachine } from "./onDemandInputs";
import type { OnDemandPlan } from "./onDemandPlan";
import { programCommand, programEnvironment } from "./programOnMachine";

const UNIT_SCRIPT = scriptText(join(__dirname, "unitOnMachine.sh"));

const unitCommand = (word: "start" | "stop" | "forget"): string =>
  `sh -c "$UNIT_SCRIPT" unit ${word}`;

/** llama-swap listens within a second, once Docker and its address are there. */
const ANSWER_SECONDS = 60;

/** A slow line takes long for 20 MB, and servers stop within the longest grace. */
const TIMEOUT = "1h";
const customTimeouts = { create: TIMEOUT, update: TIMEOUT, delete: TIMEOUT };

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
    const facts = { ...onDemandInputs(machine) };
    super(TYPE.onDemand, name, facts, opts);
    // Made before the unit's file, so that it goes after it.
    const afterRemoval = new local.Command(
      `${name}-after-removal`,
      {
        delete: unitCommand("forget"),
        environment: { UNIT_SCRIPT, STATE: `${planned.folder}/state` },
        addPreviousOutputInEnv: false,
      },
      { parent: this },
    );
    const own = machine.files.filter(({ partOf }) => partOf === name);
    const files = own.map(
      (file) => new HostFile(file.resource, { file }, { parent: this, dependsOn: [afterRemoval] }),
    );
    // After the files, which make and remove its folder.
    const program = new local.Command(
      `${name}-program`,
      {
        create: programCommand("place"),
        delete: programCommand("remove"),
        environment: programEnvironment(planned.program),
        addPreviousOutputInEnv: false,
      },
      {
        parent: this,
        dependsOn: files,
        customTimeouts,
        replaceOnChanges: ["environment.PROGRAM"],
        deleteBeforeReplace: true,
      },
    );
    unitOf(name, { planned, own, key }, { parent: this, dependsOn: [program, ...files] });
    this.registerOutputs(facts);
  }
}

/** What the unit is made of. */
interface UnitParts {
  readonly planned: OnDemandPlan;
  readonly own: readonly PlannedFile[];
  readonly key: Output<string> | undefined;
}

function unitOf(
  name: string,
  { planned: { unit, folder, program, address, port }, own, key }: UnitParts,
  opts: CustomResourceOptions,
): void {
  const fileOf = (what: string) => own.find(({ role }) => role === `on-demand-${what}`);
  const hashOf = (what: string) => sha256(fileOf(what)?.text ?? "");
  new local.Command(
    `${name}-unit`,
    {
      create: unitCommand("start"),
      delete: unitCommand("stop"),
      environment: {
        UNIT_SCRIPT,
        UNIT: unit,
        UNIT_PATH: fileOf("unit")?.path ?? "",
        STATE: `${folder}/state`,
        URL: originOf({ address, port }),
        ANSWER_SECONDS: String(ANSWER_SECONDS),
        PROGRAM_SHA256: program.sha256 ?? "",
        WRAPPER_SHA256: hashOf("wrapper"),
        CONFIG_SHA256: hashOf("config"),
        DECLARED_SHA256: hashOf("declared"),
        UNIT_SHA256: hashOf("unit"),
      },
      // A hash of a key is a secret, too: in stdin it is one, here and over ssh.
      stdin: key?.apply(sha256) ?? "",
      addPreviousOutputInEnv: false,
    },
    {
      ...opts,
      // Another unit is stopped before this one takes its port.
      replaceOnChanges: ["environment.UNIT", "environment.UNIT_PATH"],
      deleteBeforeReplace: true,
      customTimeouts,
    },
  );
}
