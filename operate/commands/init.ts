import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { command } from "../../commandLine/command";
import { explainWriting, WrongUse } from "../../commandLine/exit";
import { createFile, replaceFile } from "../../commandLine/replaceFile";
import { operatorHome } from "../../components/evidence";
import { newKey } from "../../components/planned";
import { declaresNothing, machine } from "../../components/settings";
import { pinnedServer } from "../../components/supply";
import { defined } from "../../faults/defined";
import { readJsonFile } from "../../faults/jsonDocument";
import { plainJson } from "../../faults/plainText";
import { valueBy } from "../../faults/schemaFaults";
import { readTextFile } from "../../faults/textFile";
import { isOverSsh } from "../../machines/address";
import { choose } from "../init/choose";
import { found } from "../init/found";
import { atTerminal } from "../init/questions";
import { BRIDGE_KEY, machineName, type Wanted } from "../init/settings";
import { readHost } from "../sees/computer/computer";
import { type HostFacts, hostFacts } from "../sees/computer/facts";
import { computerAt, thisComputer } from "../sees/computer/sources";
import { askedStack, impliedStack, projectFolder, stackNames, stackPath } from "../stack/stackFile";

type InitOptions = Readonly<
  Partial<Record<"name" | "from" | "on", string> & Record<"facts" | "yes", true>>
>;

export function initCommand(): Command {
  return command({
    name: "init",
    description: "Look at a machine and write its stack file, each value with its reason.",
    options: [
      new Option(
        "--name <name>",
        "stack, whose file is to be Pulumi.<name>.yaml (default: $LOCAL_SERVING_STACK, else dgx)",
      ),
      new Option(
        "--on <address>",
        "look at another machine, as ssh://user@host, instead of this one",
      )
        .argParser(machineOverSsh)
        .conflicts("from"),
      new Option(
        "--from <file>",
        "write it from what --facts printed on another machine, and don't look at this one",
      ),
      new Option("--facts", "print what was found as JSON, and write nothing"),
      new Option(
        "-y, --yes",
        "ask nothing: the model that fits best, this machine alone, the clients on PATH",
      ),
    ],
    notes: `Only the stack file is written, in one step, and only where none is yet. Nothing on the machine is changed or started. A
server's argv is read without its keys.

Exit code: 0 written, 1 written but refused by a policy until something is mended, 2 wrong use, an unreadable file, or one that
is there already.`,
    example: "init --name spark",
    run: async (options: InitOptions) => {
      const { name = askedStack() ?? "dgx", from, on } = options;
      const file = stackPath({ stack: name });
      if (options.facts !== true) keptIn(file);
      const look = async () => readHost(on === undefined ? thisComputer() : await computerAt(on));
      const facts =
        from === undefined ? await look() : valueBy(hostFacts, from, readJsonFile(from));
      if (options.facts === true) return { result: facts, text: plainJson(facts) };
      // What lies on this computer says nothing of another one.
      const home = from === undefined && on === undefined ? operatorHome() : undefined;
      const asks = options.yes !== true && process.stdin.isTTY === true;
      const place = { name, project: projectFolder(), ...defined({ home }) };
      const choice = asks
        ? await atTerminal((ask) => choose(facts, place, ask))
        : await choose(facts, place);
      write(file, choice.text);
      const { model, mend, refused } = choice;
      const next = nextCommands(choice.wanted);
      const result = { file, model, facts, mend, refused, next };
      return { result, text: report(facts, file, mend, next), failed: refused.length > 0 };
    },
  });
}

function machineOverSsh(dockerHost: string): string {
  if (isOverSsh({ dockerHost }) && machine.shape.dockerHost.safeParse(dockerHost).success)
    return dockerHost;
  throw new InvalidArgumentError("Expected ssh://user@host, or ssh://user@host:port.");
}

/**
 * What Pulumi keeps of its own in a file that may be written. Throws `WrongUse` where it declares
 * something.
 */
function keptIn(path: string): string {
  const text = existsSync(path) ? readTextFile(path) : "";
  if (text === "" || declaresNothing(path, text)) return text.replace(/^config:.*$/m, "").trim();
  const own = machineName({ name: hostname() });
  const other = stackNames().includes(own) ? `${own}-2` : own;
  throw new WrongUse(
    `${path} is there already and stays as it is. Write another stack with \`serving init --name ${other}\`, or move that file away.`,
  );
}

/** Writes the text above what Pulumi keeps there. Somebody may have written the file meanwhile. */
function write(file: string, text: string): void {
  const kept = keptIn(file);
  try {
    if (kept !== "") replaceFile(file, `${text}${kept}\n`);
    else if (existsSync(file)) replaceFile(file, text);
    else if (!createFile(file, text)) keptIn(file);
  } catch (error) {
    explainWriting(file, error);
  }
}

/** What to run next, in order, from the project's folder. */
function nextCommands({ name, server, network }: Wanted): string[] {
  return [
    ...(impliedStack() === name ? [] : [`export LOCAL_SERVING_STACK=${name}`]),
    "serving plan",
    ...(server === undefined ? [] : [`serving pin ${pinnedServer().image.split("@")[0]} --write`]),
    ...(network === undefined ? [] : [newKey(BRIDGE_KEY)]),
    ...(server === undefined ? [] : ["serving fetch"]),
    "serving up",
    ...(server === undefined ? [] : ["serving wait"]),
    "serving verify",
  ];
}

function report(
  facts: HostFacts,
  file: string,
  mend: readonly string[],
  next: readonly string[],
): string {
  return [
    `Found on ${facts.host}:`,
    ...found(facts).map((each) => `  - ${each}`),
    "",
    `${file} is written: each value has its reason above it.`,
    ...(mend.length === 0 ? [] : ["", "Mend first:", ...mend.map((each) => `  - ${each}`)]),
    "",
    "Next:",
    ...next.map((each) => `  ${each}`),
  ].join("\n");
}
