import { join } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { plainText } from "@local-serving/base/faults/plainText";
import { refuseOtherProgram } from "@local-serving/base/faults/sameProgram";
import { fingerprintOfConfig } from "@local-serving/machines/update/fingerprint";
import { NEW_STACK_VARIABLE } from "@local-serving/machines/update/variables";
import type { Container } from "@pulumi/docker";
import {
  type ComponentResourceOptions,
  getRootDirectory,
  log,
  type Output,
  runtime,
} from "@pulumi/pulumi";
import { judge } from "../../policies/judge";
import { LEVELS_FILE, LEVELS_VARIABLE, PACK_VARIABLE, readLevels } from "../../policies/levels";
import { changesOf, lossText, neverStartedText } from "../change";
import { readAppliedPlans, readEvidence } from "../evidence";
import { type MachinePlan, type Plan, plan } from "../plan";
import { preflight, readBootIds } from "../preflight";
import { placeOf, type StackSettings } from "../settings";
import type { Settled } from "./knownSettings";
import {
  type BootIds,
  declaredResources,
  type LeftGiB,
  leftGiBOf,
  Machine,
  type MachineOutputs,
  machineOutputs,
  neededFirst,
} from "./machine";
import { previewHost } from "./previewHost";
import { type Refusal, refuse, userInput } from "./refusal";
import { requestsEnd, takenAway, WAITS_VARIABLE } from "./runningRequests";
import { saidByPreview, tellAll } from "./tellAll";

/** Options of a program that declares machines. */
export interface DeclareOptions {
  /**
   * Folder with `models/`, which holds what is known of models. Default: that of the Pulumi
   * project.
   */
  readonly project?: string;
  /** Name of the component that they are machines of, in somebody's program. */
  readonly component?: string;
}

/** What is known of declared machines; an endpoint is known once its machine is applied. */
export type DeclaredOutputs = Omit<MachineOutputs, "endpoints"> & {
  readonly endpoints: Readonly<Record<string, Output<MachineOutputs["endpoints"][string]>>>;
};

/**
 * Declares every machine of a stack. It reads the evidence, plans and judges all machines together,
 * and only then makes a `Machine` of each. A preview says what an update would refuse. A refused
 * update ends before the first resource.
 */
export async function declareMachines(
  settings: StackSettings,
  options: DeclareOptions = {},
): Promise<StackOutputs> {
  const planned = await judgeMachines(settings, options);
  const { endpoints, clients, memory } = await declareJudged(planned);
  if (planned.refusal !== undefined) throw planned.refusal.error;
  return { endpoints, clients, memory: leftGiBOf(memory) };
}

/** Outputs of the program's own stack: what a reader looks for after an update. */
export type StackOutputs = Omit<DeclaredOutputs, "memory"> & { readonly memory: LeftGiB };

/** A plan that may be declared, with what was read of the kernels of its machines. */
export type JudgedPlan = Plan & {
  readonly bootIds: BootIds;
  /** What a preview fails with, once it has shown all. */
  readonly refusal?: Refusal;
  /** Name of the component that it is of, in somebody's program. */
  readonly component?: string;
};

/** Plans and judges the machines of a stack. It throws what an update refuses. */
export async function judgeMachines(
  settings: StackSettings,
  { project = getRootDirectory(), component }: DeclareOptions = {},
): Promise<JudgedPlan> {
  userInput(() => refuseOtherProgram());
  // The machine's meminfo is not part of it: it differs from one minute to the next, and so would
  // every preview.
  const planned = userInput(() => plan(settings, readEvidence(settings, project)));
  const judged = await judgePlan(settings, planned, { project, ...defined({ component }) });
  return { ...planned, ...judged, ...defined({ component }) };
}

/** Makes a `Machine` of each machine of a plan that was judged. */
export async function declareJudged(
  planned: JudgedPlan,
  options?: ComponentResourceOptions,
): Promise<DeclaredOutputs> {
  const { applied, changes } = await changesIn(planned);
  const waits = process.env[WAITS_VARIABLE] !== undefined && !runtime.isDryRun();
  const taken = takenAway(changes, applied);
  if (taken.length > 0 && !waits)
    tellAll("note", "Running requests:", [WHO_WAITS], planned.component);
  const ended = requestsEnd(taken, planned.machines, tell);

  const outputs = machineOutputs(planned);
  const endpoints: Record<string, Output<MachineOutputs["endpoints"][string]>> = {};
  let declared: ReadonlyMap<string, Container> = new Map();
  for (const machine of neededFirst(planned.machines)) {
    const before = waits ? (container: string) => ended(container, machine.name) : undefined;
    const dockerHost = await hostOf(machine);
    const bootId = planned.bootIds.get(machine.name);
    const refused = planned.refusal?.marks;
    const made = new Machine({ machine, dockerHost, bootId, declared, before, refused }, options);
    if (refused !== undefined) await isRegistered(made);
    declared = new Map([...declared, ...made.servers]);
    // If something could not be applied, an endpoint may have nothing behind it.
    endpoints[machine.name] = made.applied.apply(() => outputs.endpoints[machine.name] ?? {});
  }
  // The engine removes what is no longer declared once this program has ended.
  if (waits)
    await Promise.all(
      taken.map(({ machine, change }) => change.kind === "removed" && ended(change.name, machine)),
    );
  return { ...outputs, endpoints };
}

/** Its applied plan depends on all that is below it; one that failed was told by the engine. */
const isRegistered = ({ applied }: Machine): Promise<unknown> =>
  (applied as unknown as Settled).isKnown.catch(() => undefined);

/**
 * Prints the plan's warnings, and lets policies and preflight refuse it. Returns the boot ids by
 * which it told which machines are one computer, and what a preview fails with.
 */
async function judgePlan(
  settings: StackSettings,
  planned: Plan,
  { project, component }: DeclareOptions & { readonly project: string },
): Promise<Pick<JudgedPlan, "bootIds" | "refusal">> {
  // The engine runs a program in the folder of its main file.
  const file = process.env[LEVELS_VARIABLE] ?? join(project, LEVELS_FILE);
  const levels = userInput(() => readLevels(file));
  if (!saidByPreview()) tellWarnings(planned, component);
  const locate = (path: readonly PropertyKey[]) => placeOf(settings, path);
  const preflightOptions = {
    locate,
    fingerprint: fingerprintOfConfig(runtime.allConfig()),
    isNew: process.env[NEW_STACK_VARIABLE] !== undefined,
    preview: runtime.isDryRun(),
  };
  const [onMachine, bootIds] = await Promise.all([
    preflight(planned, preflightOptions),
    readBootIds(planned.machines),
  ]);
  const refusal = refuse({
    policies: judge(declaredResources(planned, bootIds), levels, locate),
    onMachine,
    packSpeaks: process.env[PACK_VARIABLE] !== undefined,
    ...defined({ component }),
  });
  return { bootIds, ...defined({ refusal }) };
}

function tellWarnings({ warnings }: Plan, component: string | undefined): void {
  const said = (isNote: boolean) =>
    warnings
      .filter(({ note = false }) => note === isNote)
      .map(({ machine, message }) => `${machine}: ${message}`);
  tellAll("warning", "From the plan:", said(false), component);
  tellAll("note", "Notes of the plan:", said(true), component);
}

/** Reads what was applied, compares it with the plan, and prints what clients lose. */
async function changesIn(planned: JudgedPlan) {
  const { component } = planned;
  const read = await readAppliedPlans(planned.machines);
  const applied = read.flatMap((each) => ("plan" in each ? [each.plan] : []));
  const changes = changesOf(applied, planned.machines);
  if (saidByPreview()) return { applied, changes };
  const unread = read.flatMap((each) => ("missing" in each && each.isThere ? [each.missing] : []));
  tellAll("warning", "What was applied is not known:", unread, component);
  const losses = changes.flatMap((each) =>
    each.losses.map((loss) => `${each.machine}: ${lossText(loss)}`),
  );
  tellAll("warning", "What clients lose:", losses, component);
  const neverStarted = changes.flatMap((each) => neverStartedText(each) ?? []);
  tellAll("note", "Servers that only requests start:", neverStarted, component);
  return { applied, changes };
}

/** The engine to talk to. A preview goes on where none answers. */
async function hostOf(machine: MachinePlan): Promise<string> {
  if (!runtime.isDryRun()) return machine.dockerHost;
  const { host, reason } = await previewHost(machine);
  if (reason !== undefined)
    tellAll("warning", "No Docker engine:", [
      `${machine.name}: previewed without a Docker engine (${reason}).`,
    ]);
  return host;
}

const WHO_WAITS =
  "`serving up` waits for running requests before it replaces or removes their server, for up to `waitForRequestsMinutes`. Plain `pulumi up` cuts them off.";

function tell(sentence: string, kind: "passing" | "note" | "warning"): void {
  const said = plainText(sentence);
  void (kind === "warning"
    ? log.warn(said)
    : log.info(said, undefined, undefined, kind === "passing"));
}
