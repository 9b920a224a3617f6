import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { docker } from "@local-serving/machines/docker/docker";
import { parseMeminfo } from "@local-serving/machines/memory";
import { type Command, Option } from "commander";
import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import type { PlannedContainer } from "../../components/planned";
import { INSTANCE_A, SIMPLE_SERVER } from "../../components/planned/fields";
import { untilIdle } from "../../components/program";
import { freshBudget } from "../onRequest/freshBudget";
import { noRoom } from "../onRequest/noRoom";
import { type OnDemandServer, startByRequest } from "../onRequest/startByRequest";
import { noContainer, sayNothingIsAsked, stoppedText } from "../onRequest/startTexts";
import { stopByRequest } from "../onRequest/stopByRequest";
import { hostOf } from "../sees/host";
import { offNetworksOn } from "../sees/network";
import { hasOnDemand } from "../sees/onDemand/onDemand";
import { expectConnection } from "../sees/tunnel";
import { type Named, named, namedContainers, nameTyped, ON_DEMAND } from "../stack/named";
import { expectApplied } from "../stack/nothingApplied";
import { type OnMachine, onItsMachines } from "../stack/onMachines";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFileOptions } from "../stack/stackFile";
import { forStack, typedOn } from "../stack/typed";
import { nameArgument } from "./logs";

type Word = "start" | "stop";

interface TurnOptions extends StackFileOptions {
  readonly yes?: true;
  readonly again?: true;
}

/** Seconds for Docker's answer, beside the time that a container gets to end. */
const ANSWER_SECONDS = 60;

export const stopCommand = (): Command =>
  turn(
    "stop",
    `It stays stopped when Docker or the machine starts again, until \`serving start\`, or until an update replaces it.
A server's running requests get \`waitForRequestsMinutes\` to end first, and then its \`stopGraceSeconds\`. With llama-swap
(\`onDemand\`), that stops the servers that it starts, and waits for no request.`,
  );

export const startCommand = (): Command =>
  turn(
    "start",
    `\`serving status --wait\` follows the start of a server. A server with \`start: onRequest\` that doesn't fit beside
what runs isn't started: the command says what to stop first. With llama-swap (\`onDemand\`), that makes room, and the
command waits until the server is ready.`,
    [
      new Option("-y, --yes", "nothing is asked any more").hideHelp(),
      new Option(
        "--again",
        "let the start gate of a server forget its failed starts (`startsPerHour`)",
      ),
    ],
  );

function turn(word: Word, notes: string, options: readonly Option[] = []): Command {
  return command({
    name: word,
    arguments: [nameArgument()],
    options: [...stackFileOptions(), ...options],
    notes: `${notes}\nExit code: 0 done, 1 it failed, or that is not ours to start or stop, 2 wrong use.`,
    example: `${word} b`,
    run: (options: TurnOptions, typed?: string) => turnNamed(word, options, typed),
  });
}

/** Starts or stops what is named, by whoever may. */
async function turnNamed(word: Word, options: TurnOptions, typed?: string): Promise<Outcome> {
  sayNothingIsAsked(options);
  const { machines } = plannedStack(options);
  const name = nameTyped(machines, typed);
  const found = named(machines, name);
  const theirs = notForUs(found, word);
  if (theirs !== undefined) throw new Failed(theirs);
  await expectApplied(machines, options);
  if (found.server?.container.start === "onRequest") {
    const { machine, server } = found;
    if (word === "start") await expectNetworks(machine, server.container, options);
    if (hasOnDemand(machine)) return turnOnDemand(word, { machine, server }, { options, name });
    if (word === "start") await expectRoom({ machine, server }, options);
  }
  const results = await turnContainers(word, found, { machines, options });
  const lines = results.map((each) =>
    word === "start"
      ? `${each.container} is started.`
      : stoppedText(each.container, each.availableGiB),
  );
  if (word === "stop")
    lines.push(`\`${forStack(`serving start ${name}`, options)}\` starts it again.`);
  else if (found.server)
    lines.push(`\`${forStack("serving status --wait", options)}\` follows it.`);
  return { result: { [word]: results }, text: lines.join("\n") };
}

/** Starts or stops the containers of what is named, each on its machine. */
async function turnContainers(
  word: Word,
  found: Named,
  { machines, options }: { machines: readonly MachinePlan[]; options: TurnOptions },
) {
  const containers = namedContainers(found, machines);
  // A head without its workers waits; workers without their head have nobody to ask them.
  const all = word === "start" ? [...containers].reverse() : containers;
  for (const { machine } of all) await expectConnection(machine);
  if (word === "stop" && found.server) await requestsEnd(found.machine, found.server, machines);
  const results = [];
  for (const { machine, container } of all) {
    const { dockerHost } = machine;
    const seconds = ANSWER_SECONDS + container.stopGraceSeconds;
    if (options.again) await freshBudget(dockerHost, container.name);
    await docker([word, container.name], dockerHost, seconds).catch((error) => {
      throw whyNotDone(error, word, { machine, container }, options);
    });
    const { availableGiB = null } = parseMeminfo(await hostOf(dockerHost).meminfo()) ?? {};
    results.push({ machine: machine.name, container: container.name, availableGiB });
  }
  return results;
}

/** What is said where Docker doesn't start or stop a container. */
function whyNotDone(
  error: unknown,
  word: Word,
  { machine, container }: ReturnType<typeof namedContainers>[number],
  options: TurnOptions,
): unknown {
  if (!(error instanceof Failed)) return error;
  if (/No such container/i.test(error.message))
    return noContainer(container.name, machine.name, options);
  const doctor = forStack("serving doctor", options);
  return word === "stop"
    ? error
    : new Failed(`${error.message}. \`${doctor}\` looks for the cause.`);
}

/** Throws `Failed` where nothing would reach a server that starts: it isn't on its network. */
async function expectNetworks(
  machine: MachinePlan,
  container: PlannedContainer,
  options: TurnOptions,
): Promise<void> {
  await expectConnection(machine);
  const [off] = await offNetworksOn(hostOf(machine.dockerHost), [container]);
  if (off === undefined || off.runs) return;
  const is = off.removed ? `its network ${off.network} was removed` : `it isn't on ${off.network}`;
  throw new Failed(
    `${container.name} can't be reached once it runs: ${is}. \`${forStack("serving status --against applied", options)}\` says what fixes it. Nothing was changed.`,
  );
}

/** Throws `Failed` where a server that starts on request doesn't fit beside what runs. */
async function expectRoom({ machine, server }: OnMachine, options: TurnOptions): Promise<void> {
  const { name } = server.container;
  const seen = await hostOf(machine.dockerHost).containers();
  const own = seen.find((each) => each.name === name);
  if (own === undefined) throw noContainer(name, machine.name, options);
  const why = own.status === "running" ? "" : noRoom(machine, server.key, seen);
  if (why !== "") throw new Failed(`${forStack(why, options)} Nothing was changed.`);
}

/** Lets the requests at a server end, or those at its head. */
async function requestsEnd(
  machine: MachinePlan,
  server: InferenceServerPlan,
  machines: readonly MachinePlan[],
): Promise<void> {
  const [head] = onItsMachines({ machine, server }, machines);
  if (head === undefined) return;
  await untilIdle(head, head.machine.waitForRequestsMinutes, (sentence, kind) => {
    if (kind !== "passing" || process.stderr.isTTY === true) say(sentence);
  });
}

/** Has llama-swap start or stop a server: it must know, or it would take it for what it isn't. */
async function turnOnDemand(
  word: Word,
  one: OnDemandServer,
  { options, name }: { readonly options: TurnOptions; readonly name: string },
): Promise<Outcome> {
  await expectConnection(one.machine);
  if (word === "stop") return stopOnDemand(one, options, name);
  return startByRequest(one, options);
}

/** Has llama-swap stop a server, and says what starts it again. */
async function stopOnDemand(
  one: OnDemandServer,
  options: TurnOptions,
  name: string,
): Promise<Outcome> {
  const stopped = await stopByRequest(one);
  const { model } = one.machine.onDemand.servers.find(({ key }) => key === one.server.key) ?? {};
  const again = `The next request for ${model} starts it again, and so does \`${forStack(`serving start ${name}`, options)}\`.`;
  return {
    result: { stop: [stopped] },
    text: `${stoppedText(stopped.container, stopped.availableGiB)}\n${again}`,
  };
}

/** Why something isn't ours to start or stop, and how it is done. */
function notForUs({ machine, key, container }: Named, word: Word): string | undefined {
  const { simpleServer, onDemand } = machine;
  if (key === ON_DEMAND)
    return `llama-swap is the operator's unit, and ${word === "stop" ? "stopping it stops every server that it starts" : "systemd starts it"}: run \`${typedOn(machine, ["systemctl", "--user", word, onDemand?.unit ?? ""])}\`.`;
  if (key === INSTANCE_A)
    return "Instance A isn't ours: nothing here starts or stops it. Whoever runs it does that.";
  if (key !== SIMPLE_SERVER) return undefined;
  if (container)
    return `Ollama runs inside ${container.name}: \`serving ${word} chat-ui\` ${word}s both.`;
  if (simpleServer.mode !== "host") return undefined;
  return `Ollama is systemd's: run \`${typedOn(machine, ["sudo", "systemctl", word, simpleServer.unit])}\`.`;
}
