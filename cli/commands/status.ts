import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { headed } from "@local-serving/base/commandLine/layout";
import { columns, type Format, styled } from "@local-serving/base/commandLine/output";
import { wholeNumber } from "@local-serving/base/commandLine/values";
import { counted } from "@local-serving/base/faults/quoting";
import { dateText } from "@local-serving/base/units/dateText";
import { thousands } from "@local-serving/base/units/thousands";
import { Argument, type Command, Option } from "commander";
import type { MachinePlan } from "../../components/plan";
import { connectionProblem } from "../../components/preflight";
import { driftOf } from "../drift/drift";
import { type GpuState, gpuText } from "../sees/gpu";
import { readSystem } from "../sees/system";
import { keptTunnels, type OpenTunnel, tunnelTo } from "../sees/tunnel";
import { baseUrlOption } from "../stack/baseUrl";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { foundStatus } from "../status/foundStatus";
import type { ItemStatus } from "../status/itemStatus";
import type { OnDemandStatus } from "../status/onDemandStatus";
import { type SinceVerify, sinceVerify, sinceVerifyText } from "../status/sinceVerify";
import { type MachineStatus, statusOf } from "../status/status";
import { watch } from "../status/watch";
import { keptStarts } from "../verify/keptStarts";
import { lastVerify, verifiedSystem } from "../verify/lastVerify";
import { START_SECONDS } from "../wait/startSeconds";
import { driftLine, driftOutcome } from "./drift";
import { leftoversOutcome, versionsOutcome } from "./inventory";
import { type WaitOptions, waitOutcome } from "./wait";

export function statusCommand(): Command {
  return command({
    name: "status",
    arguments: [new Argument("[server]", "the server to wait for, with --wait")],
    options: [
      ...stackFileOptions(),
      new Option("--watch", "look again every 2 seconds, until Ctrl-C"),
      new Option(
        "--wait",
        "follow the start of the inference servers until they are ready, or say why one died",
      ),
      new Option(
        "--warm",
        "with --wait: then send each server a tool call and a long prompt, before a client does",
      ),
      new Option(
        "--timeout <seconds>",
        `with --wait: longest wait (default: ${START_SECONDS})`,
      ).argParser(wholeNumber(1)),
      new Option("-y, --yes", "nothing is asked any more").hideHelp(),
      new Option("--server <key>", "the same as the argument").hideHelp(),
      new Option(
        "--against <plan>",
        "compare each machine with the plan that was applied to it, or last passed `serving verify`, and say what fixes the difference",
      ).choices(["applied", "verified"]),
      new Option(
        "--versions",
        "list containers and venvs with their versions, and the record that the stack file should keep",
      ),
      new Option(
        "--leftovers",
        "list what `down` or an earlier stack file left, and how to remove it",
      ),
      new Option(
        "--machine <name>",
        "with --versions or --leftovers: machine of the stack file (default: the first)",
      ),
      baseUrlOption(
        "show, watch or wait for only the inference server at this address; it needs no stack file",
      ),
    ],
    notes: NOTES,
    example: "status --format json | jq '.machines[].items[] | {key, state}'",
    run: (options: Options, server?: string) => {
      const given = server === undefined ? options : { ...options, server };
      return questionOf(given).answer(given);
    },
  });
}

const NOTES = `Tokens a second are counted between two readings, prefix hits since the server's start.
For servers behind llama-swap it says what runs, which requests wait for which server, and which start failed.
It also says if the machine has booted since the last \`serving verify\`, or has another kernel, driver, Docker or container toolkit.

--wait only looks at the containers, and doesn't wait for services: its last line names those that are still starting.
Nor does it wait for a stopped server that starts on request: \`serving start NAME\` starts that server and waits.
If llama-swap starts it (\`onDemand\`), \`serving status --wait NAME\` starts it and waits, too.

--against compares containers (what really runs, its image, arguments, variables and ports), files and launchers,
Ollama's environment, llama-swap with its unit, how instance A was started, and the machine's memory.
For a file that holds a secret, only the mode is compared.

--versions reads a venv's packages with its own interpreter, an inference server's in a short-lived container of its image,
without network. Nothing is imported or pulled; a package that isn't there is shown as MISSING.

Nothing is changed, but \`--wait NAME\` may start that server.
Exit code: 0 everything declared is ready, was read, or is as it was applied; 1 something isn't, a server died, a machine
can't be read, or nothing is applied; 2 wrong use or an unreadable file.`;

interface Options extends StackFileOptions, Partial<Omit<WaitOptions, keyof StackFileOptions>> {
  readonly watch?: true;
  readonly wait?: true;
  readonly against?: "applied" | "verified";
  readonly versions?: true;
  readonly leftovers?: true;
  readonly machine?: string;
  readonly format: Format;
}

interface Question {
  /** Options that it takes beside those of every question. */
  readonly takes: readonly (keyof Options)[];
  answer(options: Options): Promise<Outcome>;
}

const NOW: Question = {
  takes: ["baseUrl"],
  answer: async (options) => {
    await expectSomething(options);
    return statusOutcome(options, tunnelTo);
  },
};

/** What else may be asked, each by its option. */
const QUESTIONS = {
  watch: {
    takes: ["baseUrl"],
    answer: async (options) => {
      if (options.format === "json")
        throw new WrongUse("--watch shows screens until Ctrl-C: leave out --format json.");
      await expectSomething(options);
      await watched(options);
      return { result: {}, text: "" };
    },
  },
  wait: {
    takes: ["server", "warm", "timeout", "yes", "baseUrl"],
    answer: (options) => waitOutcome({ timeout: START_SECONDS, ...options }),
  },
  against: { takes: [], answer: driftOutcome },
  versions: {
    takes: ["machine"],
    answer: versionsOutcome,
  },
  leftovers: {
    takes: ["machine"],
    answer: leftoversOutcome,
  },
} as const satisfies Partial<Record<keyof Options, Question>>;

/** What every question takes. */
const EVERY = ["stack", "file", "format"];

/** The question that these options ask. Throws `WrongUse` for two, and for what only another takes. */
function questionOf(options: Options): Question {
  const words = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[];
  const [word, other] = words.filter((each) => options[each] !== undefined);
  if (other !== undefined)
    throw new WrongUse(`--${word} and --${other} are two questions: ask one at a time.`);
  const question: Question = word === undefined ? NOW : QUESTIONS[word];
  const takes: readonly (string | undefined)[] = [...EVERY, word, ...question.takes];
  const others = Object.keys(options).filter((key) => !takes.includes(key));
  if (others.length === 0) return question;
  const asked = word === undefined ? "serving status" : `serving status --${word}`;
  const shown = others.map((key) => SHOWN[key] ?? `--${key}`).join(", ");
  throw new WrongUse(
    `\`${asked}\` takes no ${shown}: \`serving status --help\` says what goes with what.`,
  );
}

/** How options are written whose names differ. */
const SHOWN: Readonly<Record<string, string>> = { baseUrl: "--base-url", server: "server" };

async function expectSomething(options: Options): Promise<void> {
  if (options.baseUrl === undefined) await expectApplied(plannedStack(options).machines, options);
}

async function watched(options: Options): Promise<void> {
  const tunnels = keptTunnels();
  const look = async () => (await statusOutcome(options, tunnels.open)).text;
  await endingInOrder((interrupt) => watch(look, process.stdout, interrupt).finally(tunnels.close));
}

async function statusOutcome(options: Options, open: OpenTunnel): Promise<Outcome> {
  if (options.baseUrl !== undefined) {
    return foundStatus(options.baseUrl);
  }
  const file = stackFile(options);
  const planned = plannedStack(options).machines;
  const machines = await Promise.all(planned.map((machine) => lookAt(machine, file, open)));
  const failed = machines.some(
    ({ problem, items }) => problem !== undefined || items.some(({ well }) => !well),
  );
  const text = forStack(machines.map(machineText).join("\n\n"), options);
  return { result: { machines }, text, failed };
}

/** What `status` says of a machine. */
interface Seen extends MachineStatus {
  readonly drift: string;
  /** What `verify` last found, and when: of all results that are kept, the newest. */
  readonly verify: { readonly at: string; readonly pass: number; readonly fail: number } | null;
  /** How the machine's system differs from that time; `null` where it doesn't, or isn't known. */
  readonly sinceVerify: SinceVerify | null;
}

async function lookAt(machine: MachinePlan, file: string, open: OpenTunnel): Promise<Seen> {
  const { name } = machine;
  const away = await connectionProblem(machine);
  if (away)
    return {
      machine: name,
      memory: null,
      gpu: null,
      items: [],
      drift: "",
      verify: null,
      sinceVerify: null,
      problem: away.message,
    };
  const verified = { stackFile: file, machine: name };
  const [kept, then] = [await lastVerify(verified), await verifiedSystem(verified)];
  const [status, drift, since] = await Promise.all([
    statusOf(machine, keptStarts(file, name), open),
    driftOf(machine, open),
    then && readSystem(machine.dockerHost).then((now) => sinceVerify(then, now)),
  ]);
  const count = (wanted: string) => kept.filter((each) => each.status === wanted).length;
  const at = kept
    .map((each) => each.at)
    .sort()
    .at(-1);
  const verify = at === undefined ? null : { at, pass: count("pass"), fail: count("fail") };
  return { ...status, drift: driftLine(drift), verify, sinceVerify: since ?? null };
}

const HEADS = ["", "state", "for", "KV", "running", "waiting", "tokens/s", "prefix hits", ""];

function machineText(seen: Seen): string {
  const { machine, memory, gpu, items, drift, verify, sinceVerify: since, problem } = seen;
  const rows = items.map(({ key, state, seconds, figures, note = "" }: ItemStatus) => {
    const { kvUse = null, tokensPerSecond = null, prefixHits = null } = figures ?? {};
    const told = (figure: number | null | undefined) =>
      figure === undefined ? "" : `${figure ?? "not told"}`;
    const speed = tokensPerSecond?.toFixed(1) ?? "";
    const age = seconds === undefined ? "" : ageText(seconds);
    return [
      key,
      state,
      age,
      percent(kvUse),
      told(figures?.running),
      told(figures?.waiting),
      speed,
      percent(prefixHits),
      note,
    ];
  });
  const used = HEADS.map((_, column) => column < 2 || rows.some((row) => row[column] !== ""));
  const shown = [HEADS, ...rows].map((row) => row.filter((_, column) => used[column]));
  return headed(styled("bold", machine), [
    ...(problem === undefined ? [] : [problem]),
    ...(memory === null ? [] : [memoryText(memory)]),
    ...(gpu === null ? [] : [gpuLine(gpu)]),
    ...(problem !== undefined && items.length === 0 ? [] : columns(shown)),
    ...tokenLines(seen),
    ...(seen.onDemand === undefined ? [] : onDemandLines(seen.onDemand)),
    ...(drift === "" ? [] : [`drift: ${drift}`]),
    ...(verify === null
      ? []
      : [`last verify: ${verify.pass} passed, ${verify.fail} failed, at ${dateText(verify.at)}`]),
    ...(since === null ? [] : sinceVerifyText(since)),
  ]);
}

/** Tokens of each server, and of each client as far as the bridge tells them apart. */
function tokenLines({ items, tokensByClient: by }: Seen): string[] {
  const servers = items.flatMap(({ key, figures }) => {
    const { tokensRead: read, tokensWritten: written } = figures ?? {};
    return typeof read === "number" && typeof written === "number" && read + written > 0
      ? [tokensText(key, { read, written })]
      : [];
  });
  const clients =
    by === undefined || "unread" in by
      ? []
      : by.map((each) => tokensText(each.client || "clients without a name", each));
  return [
    ...(servers.length === 0 ? [] : [`tokens since the start: ${servers.join("; ")}`]),
    ...(clients.length === 0 ? [] : [`by client, since the bridge started: ${clients.join("; ")}`]),
    ...(by !== undefined && "unread" in by
      ? [`tokens by client: not read from the bridge, ${by.unread}`]
      : []),
  ];
}

const tokensText = (
  name: string,
  { read, written }: { readonly read: number; readonly written: number },
): string => `${name} ${thousands(read)} read, ${thousands(written)} written`;

/** What llama-swap runs, who waits, and how often servers were started. */
function onDemandLines({
  problem,
  running,
  waiting,
  orphans,
  swapsInLastHour: swaps,
  swapsPerHour: most,
}: OnDemandStatus): string[] {
  if (problem !== null) return [];
  const many = swaps > most ? styled("red", ` (more than ${most})`) : "";
  const now = running.length === 0 ? "nothing runs" : `${running.join(", ")} now`;
  return [
    `on demand: ${now}; ${counted(swaps, "start")} in the last hour${many}`,
    ...waiting.map(({ says, requests }) => `${says} (${counted(requests, "request")})`),
    ...orphans.map((name) => styled("red", `${name} runs, but llama-swap doesn't know it`)),
  ];
}

function memoryText({
  availableGiB,
  totalGiB,
  floorGiB,
}: NonNullable<MachineStatus["memory"]>): string {
  const floor = floorGiB === 0 ? "" : `; start gates stop a server below ${floorGiB.toFixed(1)}`;
  const text = `MemAvailable ${availableGiB.toFixed(1)} of ${totalGiB.toFixed(1)} GiB${floor}`;
  return availableGiB < floorGiB ? styled("red", text) : text;
}

const gpuLine = (gpu: GpuState): string =>
  gpu.slowedBy === null ? gpuText(gpu) : styled("red", gpuText(gpu));

const percent = (share: number | null): string =>
  share === null ? "" : `${Math.round(share * 100)} %`;

/** `41 s`, `12 min`, `3 h`, `5 days`. */
function ageText(seconds: number): string {
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)} days`;
  if (seconds >= 2 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return seconds >= 2 * 60 ? `${Math.floor(seconds / 60)} min` : `${seconds} s`;
}
