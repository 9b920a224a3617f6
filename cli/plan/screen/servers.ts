import { styled } from "@local-serving/base/commandLine/output";
import { counted } from "@local-serving/base/faults/quoting";
import { thousands } from "@local-serving/base/units/thousands";
import { FEATURES } from "../../../components/features";
import { speedTexts } from "../../../components/memory";
import { mayRun, setsWith } from "../../../components/memory/together";
import type { MachinePlan } from "../../../components/plan";
import { answers, serversOn } from "../../../components/planned";
import { INSTANCE_A } from "../../../components/planned/fields";
import { plannedStart, type StartVerdict } from "../../../components/program/machine";
import { kvOf } from "../memoryText";
import { consumersOf } from "./memory";
import type { Row } from "./rows";

type Server = ReturnType<typeof serversOn>[number];

type Figure = NonNullable<NonNullable<Server["speed"]>["decode"]>;

/** What the ledger calls instance A. */
const NAME_OF_A = "instance A";

/** What its row is called. */
const LABEL_OF_A = "A";

/** Lines that a server's row has at most: one more where it ends with a command. */
const MOST = 2;
const MOST_WITH_COMMAND = 3;

/** Instance A and each server in a row: what must not be missed comes first. */
export function serverRows(machine: MachinePlan, typed: (text: string) => string): Row[] {
  const servers = serversOn(machine).map((each) => serverRow(machine, each, typed));
  return [...instanceARow(machine), ...servers];
}

/** Names in the ledger of what has a row of its own. */
export const withRows = (machine: MachinePlan): string[] => [
  NAME_OF_A,
  ...serversOn(machine).map(({ container }) => container.name),
];

/** Servers that may not start, and those of which nobody knows it, by their keys. */
export function doubtfulServers(machines: readonly MachinePlan[]) {
  const all = machines.flatMap((machine) =>
    // One container answers for all of a server.
    machine.inferenceServers.map((server) => ({
      name: machines.length > 1 ? `${machine.name}.${server.key}` : server.key,
      verdict: startOf(machine, server),
    })),
  );
  const named = (wanted: Verdict) =>
    all.filter(({ verdict }) => verdict === wanted).map(({ name }) => name);
  return { mayNotStart: named("may start"), notJudged: named("not judged") };
}

type Verdict = StartVerdict | "not judged" | "not planned";

/** Whether a server starts, as far as its weights and its KV cache are known. */
function startOf(machine: MachinePlan, { container }: Server): Verdict {
  const { name } = container;
  const kv = kvOf(machine, name);
  const verdict = plannedStart(
    { ...machine, kv: { ...machine.kv, [name]: kv ?? null } },
    container,
  );
  if (verdict !== undefined && (kv != null || verdict !== "starts")) return verdict;
  return machine.starts[name]?.unweighed === true ? "not judged" : "not planned";
}

function serverRow(machine: MachinePlan, server: Server, typed: (text: string) => string): Row {
  const { key, container, speed, serve } = server;
  const label = labelOf(machine, container.name, key);
  const text = serverText(machine, server);
  if (speed?.withDrafts === undefined) return { label, texts: [text], most: MOST };
  const which = machine.inferenceServers.length > 1 ? ` --server ${key}` : "";
  const command = typed(`serving models use ${serve.model} --drafts${which}`);
  // What sets the drafts is said behind their speed, which a server's text ends with.
  return { label, texts: [`${text}: \`${command}\``], most: MOST_WITH_COMMAND };
}

/** A server in a line: its model, doubts, memory, window, agents and speed. */
export function serverText(machine: MachinePlan, server: Server): string {
  const { container, servedModelName } = server;
  return [
    servedModelName,
    ...doubts(machine, server),
    ...(!answers(server) ? [] : shareFacts(server)),
    takenText(machine, container.name),
    ...FEATURES.flatMap((each) => each.texts.row(server)),
    ...(answers(server) ? servedFacts(server, kvOf(machine, container.name)) : []),
    ...startFacts(machine, server),
    ...speedFacts(server),
  ].join(", ");
}

/** Its window, and how many coding agents work at once. */
function servedFacts({ serve }: Server, kv: ReturnType<typeof kvOf>): string[] {
  const [agents] = kv?.fits === true ? kv.agents : [];
  return [
    `window ${thousands(serve.maxModelLen)}`,
    ...(agents === undefined ? [] : [`${counted(agents.atOnce, "agent")} at once`]),
  ];
}

/** A verdict in a row; nothing of a server that starts. */
function verdictText(verdict: Verdict): string[] {
  if (verdict === "starts") return [];
  const said = {
    "may start": styled("yellow", "MAY NOT START"),
    "cannot start": styled("red", "WOULD NOT START"),
    "not judged": "start not judged",
    "not planned": "KV cache not known",
  };
  return [said[verdict]];
}

/** What may keep a server from starting. */
function doubts(machine: MachinePlan, server: Server): string[] {
  const { together } = machine;
  const { key } = server;
  const isApart = together?.servers.some((each) => each.key === key) ?? false;
  const neverFits = isApart && setsWith(together?.sets ?? [], key).length === 0;
  return [
    ...verdictText(startOf(machine, server)),
    ...(neverFits ? [styled("red", "NEVER FITS")] : []),
  ];
}

/** Its share as an operator writes it; of a cache of a fixed size it decides nothing. */
const shareFacts = ({ memory: { utilization, kvCacheGiB } }: Server): string[] =>
  kvCacheGiB === undefined ? [`share ${utilization}`] : [];

/** What a server takes: its lines of the ledger, or what it would add to them on request. */
function takenText(machine: MachinePlan, name: string): string {
  const gib =
    consumersOf(machine).find((each) => each.name === name)?.gib ??
    machine.together?.servers.find(({ container }) => container === name)?.takenGiB;
  return gib === undefined ? "memory not known" : `${gib.toFixed(2)} GiB`;
}

/** What starts it, and which others of its machine don't run then. */
function startFacts({ onDemand, together }: MachinePlan, { key, container }: Server): string[] {
  if (container.start !== "onRequest") return [];
  const apart = (together?.servers ?? []).filter(
    (each) => each.key !== key && !mayRun(together?.sets ?? [], key, each.key),
  );
  return [
    onDemand === undefined ? "starts on request" : "started by requests",
    ...(apart.length === 0 ? [] : [`not beside ${apart.map((each) => each.key).join(", ")}`]),
  ];
}

/** Tokens in a second as this file serves it and whose figure that is, and what drafts bring. */
function speedFacts({ speed }: Server): string[] {
  if (speed === undefined) return [];
  const { decode } = speed;
  const { withDrafts } = speedTexts(speed);
  return [
    decode === null
      ? "decode not known"
      : `decode ${decode.tokensPerSecond} tokens/s (${originText(decode)})`,
    ...(withDrafts === undefined ? [] : [withDrafts]),
  ];
}

/** The first words of a source: `models show` has it whole. */
const originText = ({ source }: Figure): string => source.split(/[,;:]/)[0] ?? source;

function instanceARow(machine: MachinePlan): Row[] {
  if (machine.hostInstance === "none") return [];
  const { servedModelName } = machine.hostInstance;
  const url = machine.endpoints.flatMap((each) => (each.key === INSTANCE_A ? [each.url] : []));
  const model = servedModelName === undefined ? [] : [servedModelName];
  const facts = [`${NAME_OF_A}, which isn't ours`, ...model, takenText(machine, NAME_OF_A), ...url];
  return [
    { label: labelOf(machine, NAME_OF_A, LABEL_OF_A), texts: [facts.join(", ")], most: MOST },
  ];
}

/** A name behind its mark in the bar. */
function labelOf(machine: MachinePlan, consumer: string, name: string): string {
  const mark = consumersOf(machine).find((each) => each.name === consumer)?.mark ?? "-";
  return `${mark} ${name}`;
}
