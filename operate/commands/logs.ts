import { Argument, type Command, Option } from "commander";
import { command } from "../../commandLine/command";
import { Failed, WrongUse } from "../../commandLine/exit";
import { forTerminal } from "../../commandLine/output";
import { eachLine, start } from "../../commandLine/run";
import { wholeNumber } from "../../commandLine/values";
import { SIMPLE_SERVER } from "../../components/fields";
import type { MachinePlan } from "../../components/plan";
import { SERVICES } from "../../components/services";
import { dockerCommand } from "../../machines/docker/docker";
import { commandOn, followedOn } from "../../machines/onMachine";
import { lineRedactor } from "../programs/redact";
import { type Named, named, namedContainers, nameTyped, ON_DEMAND } from "../stack/named";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFileOptions } from "../stack/stackFile";

/** Lines that are shown of a log where nobody says how many. */
const LINES = 200;

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
      new Option("-f, --follow", "then print new lines as they are written, until Ctrl-C"),
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
  { machine, name, words, env }: ReturnType<typeof sourcesOf>[number],
  { format, follow }: LogsOptions,
  mark: string,
) {
  const lines: string[] = [];
  let last = "";
  const redact = lineRedactor();
  const { stdout, ended } = start(words, { env, merged: true, held: follow === true });
  eachLine(stdout, (text) => {
    const shown = redact(text);
    if (/\S/.test(shown)) last = shown;
    if (format === "json") lines.push(shown);
    else process.stdout.write(`${forTerminal(`${mark}${shown}`)}\n`);
  });
  if ((await ended).code === 0) return { machine, name, lines };
  const gone = /No such container/.test(last) ? " `serving up --refresh` makes it." : "";
  throw new Failed(`The log of ${name} can't be read: ${last}.${gone}`);
}

/** What prints the logs of a thing. Throws `WrongUse` for one whose log nobody here knows. */
function sourcesOf(found: Named, machines: readonly MachinePlan[], { follow, tail }: LogsOptions) {
  const on = follow ? followedOn : commandOn;
  const going = follow ? ["--follow"] : [];
  const { machine, key, container } = found;
  if (container)
    return namedContainers(found, machines).map(
      ({ machine: { name: machine, dockerHost }, container: { name } }) => ({
        machine,
        name,
        ...dockerCommand(["logs", "--tail", `${tail}`, ...going, name], dockerHost, on),
      }),
    );
  const { simpleServer, onDemand } = machine;
  const journal = (unit: string, words: readonly string[]) => {
    const all = [...words, unit, "--lines", `${tail}`, ...going];
    return [{ machine: machine.name, name: unit, words: on(machine, all), env: {} }];
  };
  if (onDemand !== undefined && key === ON_DEMAND)
    return journal(onDemand.unit, ["journalctl", "--no-pager", "--user", "--unit"]);
  if (simpleServer.mode !== "host" || key !== SIMPLE_SERVER)
    throw new WrongUse("Instance A isn't ours: whoever starts it knows where its log is.");
  return journal(simpleServer.unit, ["journalctl", "--no-pager", "--unit"]);
}
