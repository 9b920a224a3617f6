import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { Command, Option } from "commander";
import { declaredResources } from "../../components/machine/declaredResources";
import { judge } from "../../policies/judge";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
import { diagnose } from "../doctor/diagnose";
import { doctorText } from "../doctor/doctorText";
import type { Evidence, Stack } from "../doctor/evidence";
import { fromFiles, type GivenFiles } from "../doctor/read/fromFiles";
import { fromMachine, type MachineReading } from "../doctor/read/fromMachine";
import { EXIT, WrongUse } from "../exit";
import { type Format, formatOption, printResult, say } from "../output";
import { readOneMachine } from "../readStack";
import { projectFolder, type StackFileOptions, stackFile, withStackFile } from "../stackFile";

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
        "Without files it reads this machine: containers and their logs, the kernel's log, memory, listening sockets.",
        "With files it reads them and the stack file, and nothing of this machine.",
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
      const stack = readStack(options, fromAfar && !said);
      const reading = fromAfar ? { evidence: await fromFiles(files), notes: [] } : await readMachine(stack);
      for (const note of reading.notes) say(note);
      const evidence: Evidence = {
        ...reading.evidence,
        ...(stack === undefined ? {} : { stack }),
        ...(options.server === undefined ? {} : { serverKey: options.server }),
      };
      const diagnoses = diagnose(evidence);
      const looked = lookedAt(evidence);
      printResult(options.format, { diagnoses, looked, notes: reading.notes }, () =>
        doctorText(diagnoses, looked),
      );
      if (diagnoses.length > 0) process.exitCode = EXIT.faults;
    });
}

/** The stack file and its plan; from afar it may be absent, as long as nobody asked for it. */
function readStack(options: DoctorOptions, mayBeAbsent: boolean): Stack | undefined {
  const file = stackFile(options);
  if (mayBeAbsent && !existsSync(file)) return undefined;
  const { text, name, settings, machine, plan } = readOneMachine(file, options.machine);
  const servers = Object.keys(settings.inferenceServers);
  if (options.server !== undefined && !servers.includes(options.server))
    throw new WrongUse(`--server ${options.server}: ${basename(file)} has ${servers.join(", ") || "none"}.`);
  const refusals = judge(declaredResources(plan), readLevels(join(projectFolder(), LEVELS_FILE))).filter(
    ({ verdict }) => verdict === "refused",
  );
  return { file, text, machine: name, settings, plan: machine, refusals };
}

async function readMachine(stack: Stack | undefined): Promise<MachineReading> {
  if (stack === undefined) throw new WrongUse("There is no stack file to look the machine up in.");
  return fromMachine(stack.plan);
}

function lookedAt({ logs, meminfo, containers, sockets, stack }: Evidence): string[] {
  return [
    ...logs.map(({ name, lines }) => `${name} (${lines} lines)`),
    ...(containers === undefined ? [] : [`${containers.length} containers`]),
    ...(meminfo === undefined ? [] : ["meminfo"]),
    ...(sockets === undefined ? [] : ["listening sockets"]),
    ...(stack === undefined ? [] : [stack.file]),
  ];
}
