import { type Command, Option } from "commander";
import { command } from "../../commandLine/command";
import { WrongUse } from "../../commandLine/exit";
import { endingInOrder, pause, untilInterrupted } from "../../commandLine/interrupt";
import { columns, forTerminal, type ProgressStream, styled } from "../../commandLine/output";
import { connectionProblem } from "../../components/preflight/connection";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";
import type { ItemStatus, Looks, MachineStatus } from "../status/status";
import type { Tunnel } from "../verify/reach";
import { driftLine } from "./drift";

interface StatusOptions extends StackFileOptions {
  readonly watch?: boolean;
  readonly format: string;
}

/** What `status` says of a machine. */
type Seen = MachineStatus & { readonly drift: string; readonly verify: Verified | null };
type Verified = { readonly at: string; readonly pass: number; readonly fail: number };

const WATCH_MILLISECONDS = 2000;

/** What is compared with the applied plan changes rarely, and takes longer to read. */
const DRIFT_MILLISECONDS = 60_000;

/** Another screen of the terminal, which leaves the first as it was; home, and erased from there (xterm's control sequences). */
const [OTHER_SCREEN, FIRST_SCREEN, AT_HOME] = ["\u001b[?1049h", "\u001b[?1049l", "\u001b[H\u001b[J"];

export function statusCommand(): Command {
  return command({
    name: "status",
    description: "Show each server and service, the memory, and what they do, on one screen.",
    options: [...stackFileOptions(), new Option("-w, --watch", "look again and again, until Ctrl-C")],
    notes: `Tokens a second are counted between two looks; prefix hits since the server's start. Nothing is changed.
Where no terminal is, --watch prints one block a look.

Exit code: 0 everything declared is ready, 1 something isn't, or a machine can't be read, 2 wrong use.`,
    example: "status --format json | jq '.machines[].items[] | {key, state}'",
    run: async (options: StatusOptions) => {
      if (options.watch && options.format === "json")
        throw new WrongUse("--watch shows one look after the other: leave out --format json.");
      const look = await looker(options);
      try {
        if (options.watch) await endingInOrder((signal) => watch(look.once, signal));
        const machines = await look.once();
        const failed = machines.some(({ problem, items }) => problem !== undefined || items.some(({ well }) => !well));
        return { result: { machines }, text: statusText(machines), failed };
      } finally {
        look.close();
      }
    },
  });
}

/** What looks at every machine; ways to those that are elsewhere stay open until it is closed. */
async function looker(options: StatusOptions) {
  const { statusOf } = await import("../status/status");
  const { driftOf } = await import("../drift/drift");
  const { tunnelTo } = await import("../verify/reach");
  const { lastVerify } = await import("../verify/lastVerify");
  const tunnels = new Map<string, Tunnel>();
  const looks: Looks = new Map();
  const drifts = new Map<string, { readonly at: number; readonly line: string }>();
  const file = stackFile(options);
  const { machines } = plannedStack(options);
  const one = async (machine: (typeof machines)[number]): Promise<Seen> => {
    const { name } = machine;
    const away = await connectionProblem(machine);
    const nothing = { machine: name, memory: null, items: [], drift: "", verify: null };
    if (away !== undefined) return { ...nothing, problem: away.message };
    const tunnel = tunnels.get(name) ?? (await tunnelTo(machine));
    tunnels.set(name, tunnel);
    const known = drifts.get(name);
    const old = known === undefined || Date.now() - known.at > DRIFT_MILLISECONDS;
    const [status, drift, kept] = await Promise.all([
      statusOf(machine, tunnel, looks),
      old ? driftOf(machine).then((found) => ({ at: Date.now(), line: driftLine(found) })) : known,
      lastVerify({ stackFile: file, machine: name }),
    ]);
    drifts.set(name, drift);
    const count = (wanted: string) => kept.filter((each) => each.status === wanted).length;
    const at = kept
      .map((each) => each.at)
      .sort()
      .at(-1);
    const verify = at === undefined ? null : { at, pass: count("pass"), fail: count("fail") };
    return { ...status, drift: drift.line, verify };
  };
  const close = () => {
    for (const tunnel of tunnels.values()) tunnel.close();
  };
  return { once: () => Promise.all(machines.map(one)), close };
}

/** Shows one look after the other: on a terminal on a screen of its own, of which the last stays. */
export async function watch(
  once: () => Promise<readonly Seen[]>,
  signal: AbortSignal,
  out: ProgressStream = process.stdout,
): Promise<void> {
  let last = "";
  if (out.isTTY) out.write(OTHER_SCREEN);
  try {
    while (!signal.aborted) {
      const machines = await untilInterrupted(once(), signal);
      if (machines === undefined) break;
      last = `${forTerminal(`${new Date().toISOString()}\n${statusText(machines)}`)}\n`;
      out.write(out.isTTY ? `${AT_HOME}${last}` : `${last}\n`);
      await pause(WATCH_MILLISECONDS, signal);
    }
  } finally {
    if (out.isTTY) out.write(`${FIRST_SCREEN}${last}`);
  }
}

function statusText(machines: readonly Seen[]): string {
  return machines.map(machineText).join("\n\n");
}

const HEADS = ["", "state", "for", "KV", "running", "waiting", "tokens/s", "prefix hits", ""];

function machineText({ machine, memory, items, drift, verify, problem }: Seen): string {
  const rows = items.map(({ key, state, seconds, figures, note = "" }: ItemStatus) => {
    const { kvUse = null, running = "", waiting = "", tokensPerSecond = null, prefixHits = null } = figures ?? {};
    const speed = tokensPerSecond === null ? "" : tokensPerSecond.toFixed(1);
    const age = seconds === undefined ? "" : ageText(seconds);
    return [key, state, age, percent(kvUse), String(running), String(waiting), speed, percent(prefixHits), note];
  });
  const used = HEADS.map((_, column) => column < 2 || rows.some((row) => row[column] !== ""));
  const shown = [HEADS, ...rows].map((row) => row.filter((_, column) => used[column]));
  return [
    styled("bold", machine),
    ...(problem === undefined ? [] : [`  ${problem}`]),
    ...(memory === null ? [] : [`  ${memoryText(memory)}`]),
    ...(problem !== undefined && items.length === 0 ? [] : columns(shown).map((line) => `  ${line}`)),
    ...(drift === "" ? [] : [`  drift: ${drift}`]),
    ...(verify === null ? [] : [`  last verify: ${verify.pass} passed, ${verify.fail} failed, at ${verify.at}`]),
  ].join("\n");
}

function memoryText({ availableGiB, totalGiB, floorGiB }: NonNullable<MachineStatus["memory"]>): string {
  const floor = floorGiB === 0 ? "" : `; start gates stop a server below ${floorGiB.toFixed(1)}`;
  const text = `MemAvailable ${availableGiB.toFixed(1)} of ${totalGiB.toFixed(1)} GiB${floor}`;
  return availableGiB < floorGiB ? styled("red", text) : text;
}

const percent = (share: number | null): string => (share === null ? "" : `${Math.round(share * 100)} %`);

const DAY_SECONDS = 86_400;

/** `41 s`, `12 min`, `3 h`, `5 days`. */
function ageText(seconds: number): string {
  const units: [number, string][] = [
    [DAY_SECONDS, "days"],
    [3600, "h"],
    [60, "min"],
  ];
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}
