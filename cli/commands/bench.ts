import { randomBytes, randomInt } from "node:crypto";
import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { Failed, SeveralMeant, WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder, interruption } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { runShown } from "@local-serving/base/commandLine/run";
import { wholeNumber } from "@local-serving/base/commandLine/values";
import { defined } from "@local-serving/base/faults/defined";
import { today } from "@local-serving/base/units/dateText";
import { docker, dockerCommand } from "@local-serving/machines/docker/docker";
import { Argument, type Command, Option } from "commander";
import { readRecipe } from "../../components/catalogue";
import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import { isPooling } from "../../components/planned";
import { type BenchFigures, benchText, figuresOf, slowedIn } from "../bench/figures";
import {
  type BenchRun,
  type BenchShape,
  benchArguments,
  runsOf,
  secondsOf,
  shapeFor,
} from "../bench/runs";
import { Api } from "../sees/api";
import { whileWatched } from "../sees/gpu";
import { hostOf } from "../sees/host";
import { cacheCounters } from "../sees/metrics";
import { hasOnDemand, llamaSwapOf } from "../sees/onDemand/onDemand";
import { stoppedServers } from "../sees/onRequest";
import { expectConnection, originFromHere, tunnelTo } from "../sees/tunnel";
import { expectApplied } from "../stack/nothingApplied";
import { type OneMachine, readOneMachine } from "../stack/readStack";
import {
  machineOption,
  projectOrProgram,
  type StackFileOptions,
  stackFile,
  stackFileOptions,
} from "../stack/stackFile";
import type { EditValue } from "../stackEdit/applyEdits";
import { editStackFile } from "../stackEdit/writeStackFile";

type BenchOptions = StackFileOptions &
  Parameters<typeof shapeFor>[1] & {
    machine?: string;
    record?: true;
    swaps?: string;
  };

/** Answered until the next release. */
const SWAPS_GONE =
  "`--swaps` is gone. `serving status` shows MemAvailable: compare it before and after some starts and stops.";

export function benchCommand(): Command {
  return command({
    name: "bench",
    arguments: [
      new Argument(
        "[server]",
        "key of inferenceServers (b, dgx1.b; default: the only one that writes text)",
      ),
    ],
    options: benchOptions(),
    notes: `Clients get slower answers for several minutes. It starts \`vllm bench serve\` in the server's container; Ctrl-C
ends it there, too. With --record the old file is kept beside it as FILE.bak.

Exit code: 0 measured, 1 the server doesn't answer or a request failed, 2 wrong use.`,
    example: "bench b --agents 2 --record",
    run: benchOutcome,
  });
}

function benchOptions(): Option[] {
  const option = (flag: string, what: string, least = 2) =>
    new Option(flag, what).argParser(wholeNumber(least));
  return [
    ...stackFileOptions(),
    machineOption(),
    option("--prompt <tokens>", "prompt of each call").default(30_000),
    option(
      "--new <tokens>",
      "new tokens of each prompt; the rest is the same in all of them",
    ).default(2000),
    option("--answer <tokens>", "length of each answer").default(1024),
    option(
      "--cold <tokens>",
      "length of one prompt with nothing in the cache (default: 131072, or what the window holds)",
    ),
    option("--agents <n>", "most agents at once (default: 4, or maxNumSeqs)", 1),
    option("--calls <n>", "calls of each agent", 1).default(3),
    new Option(
      "--record",
      "write the rates into the stack file (measuredSpeeds), for the plan and `models`",
    ),
    new Option("--swaps <n>").hideHelp(),
    new Option("-y, --yes").hideHelp(),
  ];
}

async function benchOutcome(options: BenchOptions, key?: string): Promise<Outcome> {
  if (options.swaps !== undefined) throw new WrongUse(SWAPS_GONE);
  const file = stackFile(options);
  const read = readOneMachine(file, options.machine);
  const { machine, server } = serverToMeasure(read, options.machine, key);
  const shape = shapeFor(server.serve, options);
  await expectConnection(machine);
  await expectApplied(read.plan.machines, options);
  const recipe = readRecipe(projectOrProgram(), server.model.id);
  const published = recipe?.speeds ?? [];
  const settings = read.stack.machines[machine.name];
  const own = settings?.inferenceServers[server.key]?.measuredSpeeds;
  const rate = (of: "prefill" | "decode", guess: number) =>
    own?.[of] ?? published.find(({ what }) => what === of)?.tokensPerSecond ?? guess;
  const minutes = Math.ceil(secondsOf(shape, rate("prefill", 2000), rate("decode", 30)) / 60);
  const { name, image } = server.container;
  const told = `Clients of ${name} will notice this for about ${minutes} to ${2 * minutes} minutes. Ctrl-C ends it.`;
  const runs = await endingInOrder((interrupt) =>
    inUse(machine, server, () => measure(server, shape, machine, { told, interrupt })),
  );
  const text = [
    `${name}: prompts of ${shape.prompt} tokens, ${shape.new} of them new; answers of ${shape.answer}`,
    "",
    ...benchText(runs, published),
  ];
  const disturbed = runs.some((run) => run.disturbed);
  if (disturbed)
    text.push(
      "Clients used the server meanwhile, so nothing is recorded: without them it is faster.",
    );
  const slowed = slowedIn(runs);
  if (slowed !== undefined)
    text.push(
      `The GPU was held back by ${slowed}, so nothing is recorded: these aren't the speeds of the machine (serving doctor).`,
    );
  const [{ prefill = 0 } = {}, { decode = null } = {}] = runs;
  if (decode === null)
    text.push("Answers came in one piece, so nothing is recorded: ask for longer ones (--answer).");
  const result = { machine: machine.name, server: server.key, shape, runs, published };
  const isUsual = !disturbed && slowed === undefined;
  if (options.record === undefined || !isUsual || decode === null)
    return { result, text: text.join("\n") };
  const path = ["machines", machine.name, "inferenceServers", server.key, "measuredSpeeds"];
  const at = today();
  const value = { prefill, decode, at, image: image.replace(/^.*@/, "") };
  const { diff, backup } = record(file, machine, path, value);
  text.push("", diff.trimEnd());
  text.push(backup === "" ? "" : `${file} is written; the old file is ${backup}.`);
  return { result: { ...result, diff, backup }, text: text.join("\n") };
}

/**
 * The server that is named (`b`, `dgx1.b`), or the only one of the machine that writes text. Throws
 * `SeveralMeant` for a name that more than one machine has, where none of them is `wanted`.
 */
function serverToMeasure({ machine: first, plan }: OneMachine, wanted?: string, name?: string) {
  const machines = wanted === undefined && name !== undefined ? plan.machines : [first];
  const writing = machines.flatMap((machine) =>
    machine.inferenceServers
      .filter(({ model }) => !isPooling(model.kind))
      .map((server) => ({ machine, server, fullName: `${machine.name}.${server.key}` })),
  );
  const found = writing.filter(
    ({ server, fullName }) => name === undefined || [server.key, fullName].includes(name),
  );
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined && name !== undefined)
    throw new SeveralMeant(
      name,
      `${name} is on several machines`,
      found.map(({ fullName }) => fullName),
    );
  const names = writing.map(({ server, fullName }) =>
    machines.length === 1 ? server.key : fullName,
  );
  throw new WrongUse(`Which server? These write text: ${names.join(", ") || "none"}.`);
}

/** Writes the rates into the stack file in the place of any that are there. */
function record(file: string, machine: MachinePlan, path: readonly string[], value: EditValue) {
  // Read anew: it may have been edited in these minutes.
  const { text } = readOneMachine(file, machine.name);
  return editStackFile(file, text, [
    { path, value: undefined },
    { path, value },
  ]);
}

/** What the client runs in: the hub is never asked, and a key of the server stays inside. */
const BEGIN =
  'echo $$ > "$0/pid" && export HF_HUB_OFFLINE=1 OPENAI_API_KEY="$VLLM_API_KEY" && cd "$0" && exec "$@"';

/**
 * Docker leaves a program running whose caller went away. One that is only about to begin ends
 * without its folder.
 */
const END = 'mv "$0" "$0.over" && { kill -KILL "-$(cat "$0.over/pid")"; rm -rf "$0.over"; }';

/**
 * Measures with llama-swap told that the server is in use, where it starts it: the client asks the
 * server from inside its container, which llama-swap doesn't see, and would stop it in mid-run.
 */
async function inUse<Result>(
  machine: MachinePlan,
  server: InferenceServerPlan,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!hasOnDemand(machine) || server.container.start !== "onRequest") return work();
  const tunnel = await tunnelTo(machine);
  try {
    const swap = await llamaSwapOf(machine, tunnel);
    if ((await swap.states()).get(server.key) !== "ready")
      throw new Failed(
        `${server.key} doesn't run, or llama-swap doesn't know it: \`serving start ${server.key}\` first.`,
      );
    const release = swap.hold(server.key);
    return await work().finally(release);
  } finally {
    tunnel.close();
  }
}

/**
 * All runs, one after another, with vLLM's own words on stderr. Throws `Failed` where one doesn't
 * come to its end.
 */
async function measure(
  server: InferenceServerPlan,
  shape: BenchShape,
  machine: MachinePlan,
  { told, interrupt }: { readonly told: string; readonly interrupt: AbortSignal },
) {
  const { name } = server.container;
  const tunnel = await tunnelTo({ ...machine, reach: [server.reach] });
  const api = new Api(originFromHere(machine, server.reach, tunnel).url ?? "");
  const counters = () =>
    cacheCounters(api).catch(async (error: Error) => {
      const stopped = (await stoppedServers(machine, hostOf(machine.dockerHost))).get(name);
      throw new Failed(
        stopped === undefined
          ? `${name} does not answer: ${error.message}. Follow its start: serving status --wait`
          : `${stopped}.`,
      );
    });
  const figures: BenchFigures[] = [];
  try {
    // Nothing is announced of a server that doesn't answer.
    await counters();
    say(told);
    for (const run of runsOf(shape)) {
      const first = await counters();
      say(`Run ${figures.length + 1} of ${shape.agents + 1}: ${run.title}`);
      const { result, gpu } = await whileWatched(hostOf(machine.dockerHost), () =>
        resultOf(run, server, machine, interrupt),
      );
      figures.push({ ...figuresOf(run, result, first, await counters()), ...defined({ gpu }) });
    }
  } finally {
    tunnel.close();
  }
  return figures;
}

/** What vLLM's client saved of one run, in a folder of its own inside the server's container. */
async function resultOf(
  run: BenchRun,
  server: InferenceServerPlan,
  { dockerHost }: MachinePlan,
  interrupt: AbortSignal,
) {
  const { name } = server.container;
  const inside = (...words: string[]) => docker(["exec", name, ...words], dockerHost);
  const folder = `/tmp/local-serving-bench-${randomBytes(6).toString("hex")}`;
  await inside("mkdir", folder);
  let ended: Promise<string> | undefined;
  const end = () => (ended ??= inside("sh", "-c", END, folder).catch(() => ""));
  interrupt.addEventListener("abort", end, { once: true });
  try {
    // Another seed for each: nothing of an earlier run is in the cache.
    const argv = benchArguments(server, run, randomInt(2 ** 31), folder);
    const { words, env } = dockerCommand(
      ["exec", name, "sh", "-c", BEGIN, folder, ...argv],
      dockerHost,
    );
    const environment = { ...process.env, ...env };
    const code = interrupt.aborted
      ? 1
      : await runShown(words, { env: environment, stdio: ["ignore", 2, 2] });
    if (interrupt.aborted) throw new Failed(`The measurement was ${interruption(interrupt)}.`);
    if (code !== 0)
      throw new Failed(
        `\`vllm bench serve\` failed in ${name} (exit code ${code}); it says why above.`,
      );
    return await inside("cat", `${folder}/result.json`);
  } finally {
    await end();
  }
}
