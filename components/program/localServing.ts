import { isAbsolute, resolve } from "node:path";
import { errorAt, FaultyInput } from "@local-serving/base/faults/fault";
import { objectOr } from "@local-serving/base/faults/json";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import {
  ComponentResource,
  type ComponentResourceOptions,
  getRootDirectory,
  type Input,
  type Output,
  output,
  type Resource,
} from "@pulumi/pulumi";
import { TYPE } from "../planned";
import { parseGiven } from "../settings";
import {
  type DeclaredOutputs,
  declareJudged,
  type JudgedPlan,
  judgeMachines,
} from "./declareMachines";
import { componentsOfProgram, declaredBy } from "./inProgram";
import { knownSettings, type Settled } from "./knownSettings";
import type { MachineOutputs } from "./machine";
import { userInput } from "./refusal";
import { tellingOurBugs } from "./tellingBugs";

/** What a program says of its machines. */
export interface LocalServingArgs {
  /** Machines by name: what stands under `machines` in a stack file. */
  readonly settings: Input<Readonly<Record<string, unknown>>>;
  /**
   * Folder with `models/` and `policies/levels.json`; relative ones are below the program's own.
   * Default: that of the Pulumi project. An inline program of the Automation API has none.
   */
  readonly baseDirectory?: string;
}

/** Outputs of a component, by machine. */
export interface LocalServingOutputs {
  readonly endpoints: Output<MachineOutputs["endpoints"]>;
  readonly memory: Output<MachineOutputs["memory"]>;
  readonly clients: Output<MachineOutputs["clients"]>;
}

/** Machines of somebody's program that are planned and judged, and may be declared. */
interface Judged {
  readonly given: Readonly<Record<string, unknown>>;
  readonly planned: JudgedPlan;
}

/**
 * Plans and judges the machines of a component before anything is registered. Settings may hold
 * outputs, as long as their values are known.
 */
async function judgedBefore(
  name: string,
  { settings, baseDirectory }: LocalServingArgs,
): Promise<Judged> {
  const source = `settings of ${name}`;
  const project = userInput(() => ownFolder(name, baseDirectory));
  const components = componentsOfProgram();
  const earlier = [...components];
  // A promise or output of the program's own may fail, which is no bug of ours.
  const given = knownSettings(source, settings).catch(asUserInput);
  const parsed = given.then((known) =>
    tellingOurBugs(async () => {
      const elsewhere = await declaredBy(earlier);
      return userInput(() => parseGiven(source, known, elsewhere));
    }),
  );
  // Before anything is awaited, so that the next component of the program knows of this one.
  components.push({ name, settings: parsed.catch(() => undefined) });
  const sound = await parsed;
  const planned = await tellingOurBugs(() => judgeMachines(sound, { project, component: name }));
  return { given: objectOr(await given), planned };
}

/** Folder with the program's own `models/` and `policies/levels.json`. */
function ownFolder(name: string, given: string | undefined): string {
  const root = getRootDirectory();
  if (isAbsolute(root)) return resolve(root, given ?? ".");
  // The engine tells neither a plugin nor an inline program the project's folder. Ours has no such
  // files.
  if (given === undefined) return PROGRAM_FOLDER;
  if (isAbsolute(given)) return given;
  throw new FaultyInput(`LocalServing ${name}`, [
    errorAt("baseDirectory", "impossible_value", NOT_ABSOLUTE),
  ]);
}

const NOT_ABSOLUTE =
  "Expected an absolute path: a plugin or an inline program doesn't know the project's folder. In YAML it is `pulumi.cwd`, in Python `os.getcwd()`, in TypeScript `__dirname`.";

const asUserInput = (error: unknown): never =>
  userInput(() => {
    throw error;
  });

/**
 * Marks a promise whose failure the component's registration reports: Node would warn of it a second
 * time.
 */
function reportedElsewhere<Kept extends Promise<unknown>>(promise: Kept): Kept {
  promise.catch(() => undefined);
  return promise;
}

type DependsOn = ComponentResourceOptions["dependsOn"];

/**
 * Both of two dependencies. The SDK reads lists within lists and promises of lists, which its types
 * leave out; its own `mergeOptions` makes outputs of them, and Node warns of those that fail.
 */
const bothOf = (one: DependsOn, other: DependsOn): Resource[] =>
  [one, other] as unknown as Resource[];

/**
 * The machines of one component: what to register it with, and its outputs once its machines are
 * declared below it. Its registration waits until they are judged, and with it all that is below.
 */
export class Serving {
  /** Inputs of the component: its settings, without outputs. */
  readonly inputs: { readonly settings: Promise<Readonly<Record<string, unknown>>> };
  readonly options: ComponentResourceOptions;
  private readonly judged: Promise<Judged>;

  constructor(name: string, args: LocalServingArgs, opts?: ComponentResourceOptions) {
    this.judged = judgedBefore(name, args);
    this.inputs = { settings: reportedElsewhere(this.judged.then(({ given }) => given)) };
    // A dependency that fails is reported in its own words, an input with the SDK's before them.
    const isJudged = reportedElsewhere(this.judged.then((): Resource[] => []));
    this.options = { ...opts, dependsOn: bothOf(isJudged, opts?.dependsOn) };
  }

  /** Declares the machines. Those that are refused are shown by a preview, which fails then. */
  async declareBelow(parent: ComponentResource): Promise<DeclaredOutputs> {
    const { outputs, refusal } = await this.declare(parent);
    if (refusal !== undefined) throw refusal.error;
    return outputs;
  }

  /** Does the same in somebody's program, whose other resources are shown, too. */
  async declareBeside(parent: ComponentResource): Promise<DeclaredOutputs> {
    const { outputs, refusal } = await this.declare(parent);
    // Nobody waits for it: the SDK tells it, and ends the program with its own exit code.
    if (refusal !== undefined) void Promise.reject(refusal.error);
    return outputs;
  }

  private async declare(parent: ComponentResource) {
    const { planned } = await this.judged;
    const outputs = await tellingOurBugs(() => declareJudged(planned, { parent }));
    return { outputs, refusal: planned.refusal };
  }

  /** Outputs of the component, out of what it declares. */
  outputsOf(declared: Promise<DeclaredOutputs>): LocalServingOutputs {
    const { endpoints, memory, clients } = output(declared);
    for (const { isKnown, isSecret } of [endpoints, memory, clients] as unknown as Settled[])
      [isKnown, isSecret].forEach(reportedElsewhere);
    return { endpoints, memory, clients };
  }
}

/**
 * Every machine of a Pulumi program: `settings` are checked, planned and judged as those of a stack
 * file. If they are refused, an update ends before the first resource of this component.
 */
export class LocalServing extends ComponentResource<DeclaredOutputs> {
  /** URLs by machine, then by the keys of servers and services; known once its machine is applied. */
  readonly endpoints: Output<MachineOutputs["endpoints"]>;
  /** How the memory of each machine adds up, in GiB. */
  readonly memory: Output<MachineOutputs["memory"]>;
  /** The command that starts each client, by machine. */
  readonly clients: Output<MachineOutputs["clients"]>;
  private readonly serving: Serving;

  constructor(name: string, args: LocalServingArgs, opts?: ComponentResourceOptions) {
    const serving = new Serving(name, args, opts);
    super(TYPE.localServing, name, serving.inputs, serving.options);
    this.serving = serving;
    const { endpoints, memory, clients } = serving.outputsOf(this.getData());
    this.endpoints = endpoints;
    this.memory = memory;
    this.clients = clients;
  }

  /** The SDK calls it from its constructor, and what depends on this component waits for it. */
  protected override async initialize(): Promise<DeclaredOutputs> {
    await Promise.resolve();
    const { serving, endpoints, memory, clients } = this;
    await serving.inputs.settings;
    // Registered outputs keep an inline program running until all is declared. Those of a component
    // that is refused would keep it running for ever.
    this.registerOutputs({ endpoints, memory, clients });
    return serving.declareBeside(this);
  }
}
