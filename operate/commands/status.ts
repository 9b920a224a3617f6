import { type Command, Option } from "commander";
import { command, type Outcome } from "../../commandLine/command";
import { WrongUse } from "../../commandLine/exit";
import { endingInOrder } from "../../commandLine/interrupt";
import { columns, type Format, styled } from "../../commandLine/output";
import type { MachinePlan } from "../../components/plan";
import { connectionProblem } from "../../components/preflight";
import { dateText } from "../../units/dateText";
import { type GpuState, gpuText } from "../sees/gpu";
import { keptTunnels, type OpenTunnel, tunnelTo } from "../sees/tunnel";
import { baseUrlOption } from "../stack/baseUrl";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import type { ItemStatus } from "../status/itemStatus";
import type { OnDemandStatus } from "../status/onDemandStatus";
import { type SinceVerify, sinceVerify, sinceVerifyText } from "../status/sinceVerify";
import type { MachineStatus } from "../status/status";
import { driftLine } from "./drift";

export function statusCommand(): Command {
  return command({
    name: "status",
    description: "Show each server and service, the memory, and what they do, on one screen.",
    options: [
      ...stackFileOptions(),
      new Option("--watch", "look again every 2 seconds, until Ctrl-C"),
      baseUrlOption("show only the inference server at this address; it needs no stack file"),
    ],
    notes: `Tokens a second are counted between two readings, prefix hits since the server's start. Nothing is changed.
For servers behind llama-swap it says what runs, which requests wait for which server, and which start failed.
It also says if the machine has booted since the last \`serving verify\`, or has another kernel, driver, Docker or container toolkit.

Exit code: 0 everything declared is ready, 1 something isn't, or a machine can't be read, 2 wrong use.`,
    example: "status --format json | jq '.machines[].items[] | {key, state}'",
    run: async (options: StatusOptions) => {
      const isWatched = options.watch === true;
      if (isWatched && options.format === "json")
        throw new WrongUse("--watch shows screens until Ctrl-C: leave out --format json.");
      if (options.baseUrl === undefined)
        await expectApplied(plannedStack(options).machines, options);
      if (!isWatched) return statusOutcome(options, tunnelTo);
      await watched(options);
      return { result: {}, text: "" };
    },
  });
}

interface StatusOptions extends StackFileOptions {
  readonly watch?: true;
  readonly baseUrl?: string;
  readonly format: Format;
}

async function watched(options: StatusOptions): Promise<void> {
  const { watch } = await import("../status/watch");
  const tunnels = keptTunnels();
  const look = async () => (await statusOutcome(options, tunnels.open)).text;
  await endingInOrder((interrupt) => watch(look, process.stdout, interrupt).finally(tunnels.close));
}

async function statusOutcome(options: StatusOptions, open: OpenTunnel): Promise<Outcome> {
  if (options.baseUrl !== undefined) {
    const { foundStatus } = await import("../status/foundStatus");
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
  const { statusOf } = await import("../status/status");
  const { driftOf } = await import("../drift/drift");
  const { readSystem } = await import("../sees/system");
  const { keptStarts } = await import("../verify/keptStarts");
  const { lastVerify, verifiedSystem } = await import("../verify/lastVerify");
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
  return [
    styled("bold", machine),
    ...(problem === undefined ? [] : [`  ${problem}`]),
    ...(memory === null ? [] : [`  ${memoryText(memory)}`]),
    ...(gpu === null ? [] : [`  ${gpuLine(gpu)}`]),
    ...(problem !== undefined && items.length === 0
      ? []
      : columns(shown).map((line) => `  ${line}`)),
    ...(seen.onDemand === undefined ? [] : onDemandLines(seen.onDemand)),
    ...(drift === "" ? [] : [`  drift: ${drift}`]),
    ...(verify === null
      ? []
      : [`  last verify: ${verify.pass} passed, ${verify.fail} failed, at ${dateText(verify.at)}`]),
    ...(since === null ? [] : sinceVerifyText(since).map((line) => `  ${line}`)),
  ].join("\n");
}

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
  const starts = `${swaps} ${swaps === 1 ? "start" : "starts"} in the last hour`;
  const many = swaps > most ? styled("red", ` (above swapsPerHour: ${most})`) : "";
  const now = running.length === 0 ? "nothing runs" : `${running.join(", ")} now`;
  return [
    `  on demand: ${now}; ${starts}${many}`,
    ...waiting.map(({ says, requests }) => {
      const count = `${requests} ${requests === 1 ? "request" : "requests"}`;
      return `  ${says} (${count})`;
    }),
    ...orphans.map((name) => styled("red", `  ${name} runs, but llama-swap doesn't know it`)),
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
