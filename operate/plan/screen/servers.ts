import { styled } from "../../../commandLine/output";
import { INSTANCE_A } from "../../../components/fields";
import { startVerdictOf } from "../../../components/memory";
import { type MachinePlan, serversOn } from "../../../components/plan";
import { setsWith } from "../../../components/together";
import { counted } from "../../../faults/quoting";
import { thousands } from "../../../units/thousands";
import { kvOf } from "../memoryText";
import { consumersOf } from "./memory";
import type { Row } from "./rows";

type Server = ReturnType<typeof serversOn>[number];

/** What the ledger calls instance A. */
const NAME_OF_A = "instance A";

/** Lines that a server's row has at most. */
const MOST = 2;

/** Instance A and each server in a row: what must not be missed comes first. */
export function serverRows(machine: MachinePlan): Row[] {
  return [...instanceARow(machine), ...serversOn(machine).map((each) => serverRow(machine, each))];
}

/** Names in the ledger of what has a row of its own. */
export const withRows = (machine: MachinePlan): string[] => [
  NAME_OF_A,
  ...serversOn(machine).map(({ container }) => container.name),
];

function serverRow(machine: MachinePlan, server: Server): Row {
  const { key, container, servedModelName, serve } = server;
  const kv = kvOf(machine, container.name);
  const facts = [
    servedModelName,
    ...doubts(machine, server),
    takenText(machine, container.name),
    `window ${thousands(serve.maxModelLen)}`,
    ...(kv?.agents[0] === undefined ? [] : [`${counted(kv.agents[0].atOnce, "agent")} at once`]),
    ...rankFacts(server),
    ...startFacts(machine, server),
    ...urlOf(machine, key),
  ];
  return { label: labelOf(machine, container.name, key), texts: [facts.join(", ")], most: MOST };
}

/** What may keep a server from starting. */
function doubts(machine: MachinePlan, { key, container }: Server): string[] {
  const kv = kvOf(machine, container.name);
  const verdict = kv == null ? "not planned" : startVerdictOf(kv);
  const said = {
    starts: [],
    "may start": [styled("yellow", "MAY NOT START")],
    "cannot start": [styled("red", "WOULD NOT START")],
    "not planned": ["its start is not judged"],
  };
  const { together } = machine;
  const isApart = together?.servers.some((each) => each.key === key) ?? false;
  const neverFits = isApart && setsWith(together?.sets ?? [], key).length === 0;
  return [...said[verdict], ...(neverFits ? [styled("red", "NEVER FITS")] : [])];
}

/** What a server takes: its lines of the ledger, or what it would add to them on request. */
function takenText(machine: MachinePlan, name: string): string {
  const gib =
    consumersOf(machine).find((each) => each.name === name)?.gib ??
    machine.together?.servers.find(({ container }) => container === name)?.takenGiB;
  return gib === undefined ? "memory not known" : `${gib.toFixed(2)} GiB`;
}

const rankFacts = ({ rank }: Server): string[] =>
  rank === undefined ? [] : [`rank ${rank.index} of ${rank.nodes.length}`];

const startFacts = ({ onDemand }: MachinePlan, { container }: Server): string[] =>
  container.start !== "onRequest"
    ? []
    : [onDemand === undefined ? "starts on request" : "started by requests"];

function instanceARow(machine: MachinePlan): Row[] {
  if (machine.hostInstance === "none") return [];
  const facts = [
    takenText(machine, NAME_OF_A),
    "not ours, never touched",
    ...urlOf(machine, INSTANCE_A),
  ];
  return [{ label: labelOf(machine, NAME_OF_A, NAME_OF_A), texts: [facts.join(", ")], most: MOST }];
}

/** A name behind its mark in the bar. */
function labelOf(machine: MachinePlan, consumer: string, name: string): string {
  const mark = consumersOf(machine).find((each) => each.name === consumer)?.mark ?? "-";
  return `${mark} ${name}`;
}

const urlOf = ({ endpoints }: MachinePlan, key: string): string[] =>
  endpoints.flatMap((each) => (each.key === key ? [each.url] : []));
