import { existsSync } from "node:fs";
import { basename } from "node:path";
import { Command, Option } from "commander";
import { EXIT, WrongUse } from "../../commandLine/exit";
import { type Format, formatOption, printResult, say } from "../../commandLine/output";
import { FaultyInput, faultLine, UnreadableInput } from "../../faults/fault";
import { diagnose } from "../doctor/diagnose";
import { doctorText } from "../doctor/doctorText";
import type { Facts, Stack } from "../doctor/facts";
import { fromFiles, type GivenFiles } from "../doctor/read/fromFiles";
import { cutShortNotes, fromMachine, type MachineReading } from "../doctor/read/fromMachine";
import { readStack } from "../doctor/read/stack";
import { type StackFileOptions, stackFile, stackPath, withStackFile } from "../stackFile";

interface DoctorOptions extends StackFileOptions, GivenFiles {
  readonly format: Format;
  readonly machine?: string;
  readonly server?: string;
}

/** `serving doctor`: what is wrong, how it is known, and what to change. Reads only. */
export function doctorCommand(): Command {
  return withStackFile(new Command("doctor"))
    .description("Say what is wrong with a machine and which line of the stack file mends it. Reads only.")
    .addOption(new Option("--log <file...>", "log to read instead of the machine; - is stdin"))
    .option("--meminfo <file>", "copy of /proc/meminfo")
    .option("--dmesg <file>", "copy of the kernel's log")
    .option("--inspect <file>", "what `docker inspect CONTAINER...` printed")
    .option("--listeners <file>", "what `ss -lntp` printed")
    .option("--verify <file>", "what `serving verify --format json` printed")
    .option("--machine <name>", "machine of the stack file (default: the first)")
    .option("--server <key>", "server of the stack file that the given log belongs to")
    .addOption(formatOption())
    .addHelpText(
      "after",
      [
        "",
        "Without files it reads this machine: containers and their logs, the kernel's log, memory, listening sockets, and what",
        "`serving verify` last found.",
        "With files it reads them and the stack file, and nothing of this machine. A stack file with faults is said to have",
        "them, and the files are judged without it.",
        "",
        "Examples:",
        "  serving doctor",
        "  docker logs vllm-model-8001 2>&1 | serving doctor --log -",
        "  serving doctor --file stack.yaml --log server.log --meminfo meminfo.txt --dmesg dmesg.txt",
        "",
        "Exit code: 0 no trouble, 1 diagnoses, 2 wrong use or an unreadable file.",
      ].join("\n"),
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const files: GivenFiles = options;
      const fromAfar = [
        files.log,
        files.meminfo,
        files.dmesg,
        files.inspect,
        files.listeners,
        files.verify,
      ].some((each) => each !== undefined);
      const said = command.getOptionValueSource("stack") === "cli" || options.file !== undefined;
      const { unreadable, ...known } = fromAfar ? stackFromAfar(options, said) : { stack: stackOf(options) };
      const reading =
        fromAfar || known.stack === undefined
          ? await fromGivenFiles(files)
          : await fromMachine(known.stack.plan, known.stack.file);
      for (const note of reading.notes) say(note);
      const facts: Facts = {
        ...reading.facts,
        ...known,
        ...(options.server === undefined ? {} : { serverKey: options.server }),
      };
      const chosen = {
        ...(options.file === undefined ? {} : { file: options.file }),
        ...(said ? { stack: options.stack } : {}),
      };
      const diagnoses = diagnose(facts, chosen);
      const looked = lookedAt(facts);
      printResult(options.format, { diagnoses, looked, notes: reading.notes }, () =>
        doctorText(diagnoses, looked, reading.notes),
      );
      if (unreadable === true) process.exitCode = EXIT.wrongUse;
      else if (diagnoses.some(({ severity }) => severity === "trouble")) process.exitCode = EXIT.faults;
    });
}

/** What is known of the stack file. */
interface Known extends Pick<Facts, "stack" | "stackProblem"> {
  /** It is no YAML at all. */
  readonly unreadable?: true;
}

/** From afar the stack file may be faulty, and absent as long as nobody asked for it: the given files are judged all the same. */
function stackFromAfar(options: DoctorOptions, said: boolean): Known {
  if (!said && !existsSync(stackPath(options.stack))) return {};
  const file = stackFile(options);
  try {
    return { stack: stackOf(options) };
  } catch (error) {
    if (error instanceof FaultyInput) {
      return {
        stackProblem: { file, faults: error.faults.map((fault) => faultLine(fault, basename(file))) },
      };
    }
    if (error instanceof UnreadableInput && existsSync(file))
      return { stackProblem: { file, faults: [error.message] }, unreadable: true };
    throw error;
  }
}

/** The stack file and its plan. */
function stackOf(options: DoctorOptions): Stack {
  const file = stackFile(options);
  const stack = readStack(file, options.machine);
  const servers = Object.keys(stack.settings.inferenceServers);
  if (options.server !== undefined && !servers.includes(options.server))
    throw new WrongUse(`--server ${options.server}: ${basename(file)} has ${servers.join(", ") || "none"}.`);
  return stack;
}

async function fromGivenFiles(files: GivenFiles): Promise<MachineReading> {
  const facts = await fromFiles(files);
  return { facts, notes: cutShortNotes(facts.logs) };
}

function lookedAt({ logs, meminfo, containers, sockets, stack }: Facts): string[] {
  return [
    ...logs.map(({ name, lines }) => `${name} (${lines} lines)`),
    ...(containers === undefined ? [] : [`${containers.length} containers`]),
    ...(meminfo === undefined ? [] : ["meminfo"]),
    ...(sockets === undefined ? [] : ["listening sockets"]),
    ...(stack === undefined ? [] : [stack.file]),
  ];
}
