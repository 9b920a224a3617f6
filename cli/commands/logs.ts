import { command } from "@local-serving/base/commandLine/command";
import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { forTerminal, say } from "@local-serving/base/commandLine/output";
import { type End, eachLine, type StartOptions, start } from "@local-serving/base/commandLine/run";
import { wholeNumber } from "@local-serving/base/commandLine/values";
import { isOverSsh } from "@local-serving/machines/address";
import { dockerCommand } from "@local-serving/machines/docker/docker";
import { commandOn, followedOn } from "@local-serving/machines/onMachine";
import { Argument, type Command, Option } from "commander";
import type { MachinePlan } from "../../components/plan";
import { SIMPLE_SERVER } from "../../components/planned/fields";
import { SERVICES } from "../../components/services";
import { lineRedactor } from "../programs/redact";
import { followedLog } from "../sees/followedLog";
import { type Named, named, namedContainers, nameTyped, ON_DEMAND } from "../stack/named";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFileOptions } from "../stack/stackFile";

/** Lines that are shown of a log where nobody says how many. */
const LINES = 200;

/** How ssh ends where it is cut off. */
const CUT_OFF = 255;

interface LogsOptions extends StackFileOptions {
  readonly follow?: boolean;
  readonly tail: number;
  readonly format: string;
}

/** A name in this form; `nameTyped` refuses a missing one with the names that there are. */
export const nameArgument = () =>
  new Argument(
    "[name]",
    `key of a server (b, dgx1.b), ${SERVICES.map(({ name }) => name).join(", ")}, or the name of a container`,
  );

export function logsCommand(): Command {
  return command({
    name: "logs",
    arguments: [nameArgument()],
    options: [
      ...stackFileOptions(),
      new Option(
        "-f, --follow",
        "then print new lines as they are written, also after a restart, until Ctrl-C",
      ),
      new Option("--tail <lines>", "newest lines").argParser(wholeNumber(1)).default(LINES),
    ],
    notes:
      "Exit code: 0 printed, 1 there is no such container, or its log can't be read, 2 wrong use.",
    example: "logs b --tail 50",
    run: async (options: LogsOptions, typed?: string) => {
      if (options.follow && options.format === "json")
        throw new WrongUse("--follow prints lines as they come: leave out --format json.");
      const { machines } = plannedStack(options);
      const found = named(machines, nameTyped(machines, typed));
      const sources = sourcesOf(found, machines, options);
      if (found.container !== undefined) await expectApplied(machines, options);
      const logs = sources.map((source) =>
        readLog(source, options, sources.length === 1 ? "" : `${source.machine}: `),
      );
      return { result: { logs: await Promise.all(logs) }, text: "" };
    },
  });
}

/** The lines of one log, without secrets; but for JSON they are printed, each behind the mark. */
async function readLog(
  source: Source,
  { format, follow }: LogsOptions,
  mark: string,
): Promise<{ readonly machine: string; readonly name: string; readonly lines: string[] }> {
  const { machine, name } = source;
  const lines: string[] = [];
  let last = "";
  const redact = lineRedactor();
  const { code } = await source.read((text) => {
    const shown = redact(text);
    if (/\S/.test(shown)) last = shown;
    if (format === "json") lines.push(shown);
    else process.stdout.write(`${forTerminal(`${mark}${shown}`)}\n`);
  });
  if (code === 0) {
    if (follow) say(`${mark}${name} isn't running: its log ends here.`);
    return { machine, name, lines };
  }
  if (follow && code === CUT_OFF && isOverSsh(source))
    throw new Failed(`The connection to ${machine} was lost: run this again.`);
  const gone = /No such container/.test(last) ? " `serving up --refresh` makes it." : "";
  throw new Failed(`The log of ${name} can't be read: ${last}.${gone}`);
}

/** A log of a machine, which is read line by line to its end. */
interface Source {
  readonly machine: string;
  readonly dockerHost: string;
  readonly name: string;
  read(line: (text: string) => void): Promise<End>;
}

/** What prints the logs of a thing. Throws `WrongUse` for one whose log nobody here knows. */
function sourcesOf(
  found: Named,
  machines: readonly MachinePlan[],
  options: LogsOptions,
): readonly Source[] {
  const { machine, key, container } = found;
  if (container)
    return namedContainers(found, machines).map(({ machine, container: { name } }) => ({
      machine: machine.name,
      dockerHost: machine.dockerHost,
      name,
      read: (line) => containersLog(machine.dockerHost, name, options, line),
    }));
  const { simpleServer, onDemand } = machine;
  if (onDemand !== undefined && key === ON_DEMAND)
    return [journal(machine, ["--user", "--unit", onDemand.unit], options)];
  if (simpleServer.mode !== "host" || key !== SIMPLE_SERVER)
    throw new WrongUse("Instance A isn't ours: whoever starts it knows where its log is.");
  return [journal(machine, ["--unit", simpleServer.unit], options)];
}

function containersLog(
  dockerHost: string,
  name: string,
  { follow, tail }: LogsOptions,
  line: (text: string) => void,
): Promise<End> {
  if (follow) return followedLog({ name, dockerHost, tail }, line);
  const { words, env } = dockerCommand(["logs", "--tail", `${tail}`, name], dockerHost);
  return printed(words, { env }, line);
}

/** The journal of a unit of systemd. */
function journal(
  { name: machine, dockerHost }: MachinePlan,
  unit: readonly string[],
  { follow = false, tail }: LogsOptions,
): Source {
  const going = follow ? ["--follow"] : [];
  const all = ["journalctl", "--no-pager", ...unit, "--lines", `${tail}`, ...going];
  const words = (follow ? followedOn : commandOn)({ dockerHost }, all);
  const name = unit.at(-1) ?? "";
  return { machine, dockerHost, name, read: (line) => printed(words, { held: follow }, line) };
}

/** Hands each line on that a program prints, to its end. */
function printed(
  words: readonly string[],
  options: StartOptions,
  line: (text: string) => void,
): Promise<End> {
  const { stdout, ended } = start(words, { ...options, merged: true });
  eachLine(stdout, line);
  return ended;
}
