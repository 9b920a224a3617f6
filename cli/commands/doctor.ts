import { existsSync } from "node:fs";
import { basename } from "node:path";
import { command } from "@local-serving/base/commandLine/command";
import { refusalIn, WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { type Format, say } from "@local-serving/base/commandLine/output";
import { canAsk, oneOf, saysYes } from "@local-serving/base/commandLine/saysYes";
import { defined } from "@local-serving/base/faults/defined";
import {
  type Fault,
  FaultyInput,
  faultLine,
  UnreadableInput,
} from "@local-serving/base/faults/fault";
import { isHere } from "@local-serving/machines/address";
import { type Command, Option } from "commander";
import type { MachinePlan } from "../../components/plan";
import { serversOn } from "../../components/planned";
import { emptyNotes, fromFiles, GIVEN, type GivenFiles } from "../doctor/read/fromFiles";
import {
  cutShortNotes,
  fromMachine,
  type ReadStack,
  readMachineStack,
} from "../doctor/read/fromMachine";
import { readUpdate } from "../doctor/read/readUpdate";
import { ownOf } from "../engine/ownOf";
import { firstGroup, type Picture, type Stack } from "../rules/picture";
import { reportsOf } from "../rules/report";
import { doctorText } from "../rules/reportText";
import { gpuText } from "../sees/gpu";
import type { LogReading } from "../sees/log/scanLog";
import { STARTED_MODEL, STARTED_WITH } from "../sees/log/sign";
import { nothingApplied } from "../stack/nothingApplied";
import { readStack } from "../stack/readStack";
import {
  askedStack,
  impliedStack,
  machineOption,
  type StackFileOptions,
  sampleMeant,
  stackFile,
  stackFileOptions,
  stacksHere,
} from "../stack/stackFile";

interface DoctorOptions extends StackFileOptions, GivenFiles {
  readonly format: Format;
  readonly machine?: string;
  readonly server?: string;
}

export function doctorCommand(): Command {
  return command({
    name: "doctor",
    options: [
      ...stackFileOptions(),
      new Option("--log <file...>", "log to read instead of the machine; - is stdin"),
      new Option("--meminfo <file>", "copy of /proc/meminfo"),
      new Option("--dmesg <file>", "copy of the kernel's log"),
      new Option("--inspect <file>", "what `docker inspect CONTAINER...` printed"),
      new Option("--listeners <file>", "what `ss -lntp` printed"),
      new Option("--verify <file>", "what `serving verify --format json` printed"),
      machineOption(),
      new Option("--server <key>", "server of the stack file that the given log belongs to"),
    ],
    notes: `Without files it reads the machine: containers and their logs, the kernel's log, memory, listening sockets, and what
\`serving verify\` last found.
With files it reads them and the stack file, and nothing of this machine. If the stack file has faults, it says so and
judges the files without it. \`docker logs vllm-model-8001 2>&1 | serving doctor --log -\` reads a log from a pipe.

On a terminal it asks which of several machines is meant, and whether this computer is the machine if its memory differs.

Exit code: 0 no trouble, 1 diagnoses, 2 wrong use or an unreadable file.`,
    example: "doctor --file stack.yaml --log server.log --meminfo meminfo.txt --dmesg dmesg.txt",
    run: async (asked: DoctorOptions) => {
      const fromAfar = (["log", ...GIVEN] as const).some((name) => asked[name] !== undefined);
      const options = fromAfar ? asked : await ofOneMachine(asked);
      const { unreadable, faults, without, ...known } = fromAfar
        ? stackFromAfar(options)
        : { stack: stackOf(options), without: undefined };
      const { facts: read, notes: readNotes } =
        fromAfar || known.stack === undefined
          ? await fromGivenFiles(options)
          : await fromMachine(known.stack, await before(known.stack, options));
      const given = { ...read, ...known, ...defined({ serverKey: options.server }) };
      const { facts, foreign } = fromAfar
        ? ofItsOwnStack(given, options)
        : { facts: given, foreign: [] };
      const meant =
        fromAfar || known.stack === undefined
          ? []
          : await whichMachine(known.stack, facts, options);
      const unread = [...meant, ...readNotes, ...foreign];
      const notes = [...unread, ...(without === undefined ? [] : [without])];
      for (const note of notes) say(note);
      const diagnoses = reportsOf(facts, options);
      const looked = lookedAt(facts);
      return {
        result: { diagnoses, looked, notes, ...defined({ faults }) },
        text: doctorText(diagnoses, looked, unread),
        failed: unreadable ?? diagnoses.some(({ severity }) => severity === "trouble"),
      };
    },
  });
}

/** What is known of a stack before its machine is read. */
async function before(stack: ReadStack, options: DoctorOptions) {
  const { machines } = stack;
  const nothing = await nothingApplied(machines, options);
  const { isNew } = ownOf(machines, options);
  const update = await readUpdate(stack, isNew);
  return { ...defined({ nothingApplied: nothing }), isNew, update };
}

/** Share of its memory by which a machine may differ from what its stack file says. */
const SAME_MEMORY = 0.03;

/** The options with the machine that a person names, where the stack file has several. */
async function ofOneMachine(options: DoctorOptions): Promise<DoctorOptions> {
  if (options.machine !== undefined || !canAsk(options)) return options;
  const file = stackFile(options);
  const [first, ...others] = readStack(file).plan.machines.map(({ name }) => name);
  if (first === undefined || others.length === 0) return options;
  const machine = await endingInOrder((signal) =>
    oneOf(`${basename(file)} has several machines.`, [first, ...others], signal, first),
  );
  return { ...options, machine };
}

/**
 * Says which machine is meant where that isn't clear, and asks a person: of several the first is
 * looked at, and a `dockerHost` of this computer makes any computer the machine.
 */
async function whichMachine(
  { plan, machines, file }: Stack,
  { meminfo }: Picture,
  options: DoctorOptions,
): Promise<string[]> {
  const name = basename(file);
  const others = machines.filter((each) => each.name !== plan.name).map((each) => each.name);
  const total = plan.ledger.totalGiB;
  const asks = canAsk(options);
  const isAnother =
    isHere(plan) &&
    meminfo !== undefined &&
    Math.abs(meminfo.totalGiB - total) > SAME_MEMORY * total;
  if (isAnother && asks) {
    const question = `This computer has ${meminfo.totalGiB.toFixed(1)} GiB of memory, and ${plan.name} of ${name} has ${total.toFixed(1)}. Is it ${plan.name} all the same?`;
    if (!(await endingInOrder((signal) => saysYes(question, signal))))
      throw new WrongUse(
        `Nothing was diagnosed. To look at ${plan.name}, run this there, ${FROM_HERE}`,
      );
  }
  return [
    ...(others.length === 0 || asks
      ? []
      : [`Looked at ${plan.name} of ${name}; name another with --machine: ${others.join(", ")}.`]),
    ...(isAnother && !asks
      ? [
          `This computer was taken for ${plan.name} of ${name}, since its \`dockerHost\` is a socket here. If ${plan.name} is another computer, run this there, ${FROM_HERE}`,
        ]
      : []),
  ];
}

/** How a machine is looked at from another computer. */
const FROM_HERE =
  "set `dockerHost: ssh://USER@HOST`, or give copies of its logs and files (`--log`, `--meminfo`).";

/** What is known of the stack file. */
interface Known extends Pick<Picture, "stackProblem"> {
  readonly stack?: ReadStack;
  /** It isn't YAML at all. */
  readonly unreadable?: "unreadable";
  readonly faults?: readonly Fault[];
  /** Why there is no stack file, as a sentence for people. */
  readonly without?: string;
}

/** By what files are judged without a stack file. */
const judgedBy = ({ log }: DoctorOptions): string =>
  log === undefined ? "the files were judged by themselves" : "the log's own settings were used";

/**
 * With given files, the stack file may be faulty, or absent if nobody asked for it: the files are
 * judged anyway.
 */
function stackFromAfar(options: DoctorOptions): Known {
  const without = whyNoStack(options);
  if (without !== undefined) return { without };
  const file = stackFile(options);
  try {
    return { stack: stackOf(options) };
  } catch (error) {
    const isUnreadable = error instanceof UnreadableInput && existsSync(file);
    const faults = refusalIn(error)?.faults;
    if (faults === undefined || !(isUnreadable || error instanceof FaultyInput)) throw error;
    const lines = faults.map((fault) => faultLine(fault, basename(file)));
    return {
      stackProblem: { file, faults: lines },
      faults,
      ...(isUnreadable ? { unreadable: "unreadable" } : {}),
    };
  }
}

/** Says of given files why they are judged without a stack file, where nobody named one. */
function whyNoStack(options: DoctorOptions): string | undefined {
  const { file, machine, server } = options;
  if ([file, askedStack(options), machine, server].some((each) => each !== undefined))
    return undefined;
  const names = stacksHere();
  const stack = names.length === 0 ? undefined : impliedStack();
  if (names.length > 1 && stack === undefined)
    return `Which stack file belongs to the log isn't clear (${names.join(", ")}): name it with --stack. Until then ${judgedBy(options)}.`;
  if (stack !== undefined && sampleMeant(options) === undefined) return undefined;
  const sample = stack === undefined ? "" : " (that of this clone is a sample)";
  return `There is no stack file to compare with${sample}: ${judgedBy(options)}.`;
}

function stackOf(options: DoctorOptions): ReadStack {
  const file = stackFile(options);
  const stack = readMachineStack(file, options.machine);
  const servers = Object.keys(stack.settings.inferenceServers);
  if (options.server !== undefined && !servers.includes(options.server))
    throw new WrongUse(
      `--server ${options.server}: ${basename(file)} has ${servers.join(", ") || "none"}.`,
    );
  return stack;
}

/**
 * A log from somewhere is held against the stack file that was named for it. The project's own is
 * only a guess, which a log of another model proves wrong.
 */
function ofItsOwnStack(facts: Picture, options: DoctorOptions) {
  const { machine, server, file } = options;
  const isNamed = [file, askedStack(options), machine, server].some((each) => each !== undefined);
  if (isNamed || facts.stack === undefined) return { facts, foreign: [] };
  const { stack, ...afar } = facts;
  const log = facts.logs.find((each) => isForeign(each, stack.plan));
  if (log === undefined) return { facts: { ...facts, stackIsAGuess: true as const }, foreign: [] };
  const note = `${log.name} is from another model than those of ${basename(stack.file)}, so that stack file was left out: name the log's own with --stack or --file.`;
  return { facts: afar, foreign: [note] };
}

async function fromGivenFiles(files: GivenFiles) {
  const facts = await fromFiles(files);
  return { facts, notes: [...cutShortNotes(facts.logs), ...emptyNotes(facts.logs)] };
}

function lookedAt({
  logs,
  meminfo,
  containers,
  sockets,
  stack,
  gpu,
  probes = [],
  staleProbes,
}: Picture): string[] {
  const ended = (wanted: string) => probes.filter(({ status }) => status === wanted).length;
  return [
    ...logs.map(({ name, kind, lines }) =>
      kind === "probes"
        ? `${name} (${ended("pass")} passed, ${ended("fail")} failed)`
        : `${name} (${lines} lines)`,
    ),
    ...(staleProbes === undefined
      ? []
      : [`serving verify (not used: its ${staleProbes} results are older than what runs now)`]),
    ...(containers === undefined ? [] : [`${containers.length} containers`]),
    ...(meminfo === undefined ? [] : ["meminfo"]),
    ...(gpu === undefined ? [] : [gpuText(gpu)]),
    ...(sockets === undefined ? [] : ["listening sockets"]),
    ...(stack === undefined ? [] : [stack.file]),
  ];
}

/** Whether a log says that it is of a model that no server of the plan has. */
function isForeign({ hits }: LogReading, plan: MachinePlan): boolean {
  const args = hits.get(STARTED_WITH)?.groups[0];
  const named = args && /'model(?:_tag)?': '([^']+)'/.exec(args)?.[1];
  const shown = hits.get(STARTED_MODEL);
  const model = named ?? (shown && firstGroup(shown));
  return model !== undefined && !serversOn(plan).some((each) => each.model.id === model);
}
