import { counted, lowered } from "@local-serving/base/faults/quoting";
import { doubtText, lossText, type MachineChange } from "../../components/change";
import type { MachinePlan } from "../../components/plan";
import { plannedStart } from "../../components/program/machine";
import { notTouched } from "./changeReport";
import type { FindingChanges, PlanFinding } from "./findingChanges";
import { serverText } from "./screen/servers";

/** Lines of a review: what simply happens, and what a reviewer has to ask before approving. */
export interface HeadLines {
  readonly happens: readonly string[];
  readonly asks: readonly string[];
}

/** What clients lose for good, which whoever uses it has to know. The rest comes back by itself. */
const ASKED = new Set<MachineChange["losses"][number]["what"]>([
  "fails",
  "removed",
  "names",
  "window",
  "address",
  "client",
  "server",
]);

/** What clients lose, and the memory that is left. */
export function feltLines({
  machine,
  losses,
  starts,
  containers,
  memory: { before, after },
}: MachineChange): HeadLines {
  const [asked, other] = [true, false].map((is) =>
    losses
      .filter(({ what }) => ASKED.has(what) === is)
      .map((loss) => `${machine}: ${lossText(loss)}`),
  );
  const quiet = losses.length === 0 ? [`${machine}: clients lose nothing.`] : [];
  // What fits of a server that can't start says nothing.
  const isMoot = Object.values(starts).some((each) => each.after === "cannot start");
  const isTold = after !== null && !(isMoot && after.leftGiB >= 0);
  const memory = isTold ? [`${machine}: ${memoryText(before, after)}.`] : [];
  const kept = notTouched(containers).map((text) => `${machine}: ${lowered(text)}`);
  return { asks: asked ?? [], happens: [...(other ?? []), ...quiet, ...kept, ...memory] };
}

type Figures = NonNullable<MachineChange["memory"]["after"]>;

/** The memory that is left, before and after. */
function memoryText(before: Figures | null, { leftGiB, totalGiB }: Figures): string {
  const left = (gib: number) => gib.toFixed(2);
  const total = `of ${totalGiB.toFixed(2)} GiB`;
  if (leftGiB < 0) {
    const then =
      before === null || before.leftGiB < 0 ? "" : `; ${left(before.leftGiB)} GiB were left`;
    return `memory does not fit: ${left(-leftGiB)} GiB too much for ${totalGiB.toFixed(2)} GiB${then}`;
  }
  if (before === null) return `memory fits: ${left(leftGiB)} ${total} are left`;
  if (before.leftGiB === leftGiB)
    return `memory fits: ${left(leftGiB)} ${total} are left, as before`;
  return `memory fits: ${left(before.leftGiB)} -> ${left(leftGiB)} ${total} are left`;
}

/** How a server that may not start was judged before. */
const WAS = {
  starts: " Before this change, it surely starts.",
  "may start": " Before this change, it isn't sure, either.",
  "cannot start": " Before this change, it can't.",
};

const STARTED = new Set(["created", "replaced"]);

/** A server of which it isn't sure that it starts, as a reviewer reads it. */
export interface Doubt {
  readonly machine: string;
  readonly key: string;
  readonly text: string;
  /** How it was before, as a sentence behind others; empty where nobody knows. */
  readonly was: string;
}

/**
 * Servers that an update starts and that may not start, and new ones that can't: of others a loss
 * says so.
 */
export function doubtsOf(changes: readonly MachineChange[]): Doubt[] {
  return changes.flatMap(({ machine, starts, losses, containers }) =>
    Object.entries(starts).flatMap(([key, { before, after }]): Doubt[] => {
      const doubt = doubtText(after);
      const isStarted = containers.some((each) => each.key === key && STARTED.has(each.kind));
      const isLost = losses.some((loss) => loss.key === key && loss.what === "fails");
      const isSaid = after === "cannot start" ? isLost : !isStarted;
      if (doubt === undefined || isSaid) return [];
      const was = before === null ? "" : WAS[before];
      return [{ machine, key, text: `${machine}: ${key} ${doubt}.`, was }];
    }),
  );
}

/** Servers of which a plan's screen says something else than before, in its words. */
export const servedLines = (
  before: readonly MachinePlan[],
  after: readonly MachinePlan[],
): string[] => {
  const was = before.flatMap(served);
  return after
    .flatMap(served)
    .filter((text) => !was.includes(text))
    .map((text) => `${text}.`);
};

const served = (machine: MachinePlan): string[] =>
  machine.inferenceServers.map(
    (server) => `${machine.name}: ${server.key} is then ${serverText(machine, server)}`,
  );

/** Servers that surely don't start, and that nobody wants to start anyway. */
export const failing = (machines: readonly MachinePlan[]): string[] =>
  machines.flatMap((machine) =>
    machine.inferenceServers.flatMap(({ key, container }) => {
      const isMeant = machine.starts[container.name]?.startAnyway !== undefined;
      return plannedStart(machine, container) === "cannot start" && !isMeant ? [key] : [];
    }),
  );

/** The first line of a review: what its reader may do. `why`: what stops it for sure. */
export function decisionText(asks: readonly string[], why: string | undefined): string {
  if (why !== undefined) return `Don't approve this yet: ${why}.`;
  if (asks.length === 0) return "Nothing was found to ask about before you approve this.";
  return `Ask before you approve this: ${counted(asks.length, "point")} below.`;
}

/** Whether a server that is made or replaced can't start, or may not and surely did before. */
export const isLessSure = (changes: readonly MachineChange[]): boolean =>
  changes.some(({ containers, starts }) =>
    containers.some(({ key, kind }) => {
      const { before, after } = starts[key] ?? {};
      const isDoubted = before === "starts" && after === "may start";
      return STARTED.has(kind) && (after === "cannot start" || isDoubted);
    }),
  );

/** What other computers reach only with the new plan, where, and whether it asks who they are. */
export function reachedLines(
  before: readonly MachinePlan[],
  after: readonly MachinePlan[],
  { added }: FindingChanges,
): HeadLines {
  const asks = after.flatMap(({ name, endpoints, containers }) => {
    const old = before.find((each) => each.name === name)?.endpoints ?? [];
    const guard = (key: string) => {
      const own = containers.find(({ resource }) => resource === `${name}-${key}`);
      // A container that asks nobody is a finding of its own.
      const isOpen = added.some(({ id }) => id.startsWith(`lan-exposure ${own?.resource} `));
      return own === undefined || isOpen ? "" : " It asks for a key or a login.";
    };
    return endpoints.flatMap(({ key, network }) =>
      network === undefined || old.some((each) => each.key === key && each.network !== undefined)
        ? []
        : [`${name}: ${key} is newly reachable from the network: ${network}.${guard(key)}`],
    );
  });
  return { asks, happens: asks.length > 0 ? [] : ["Nothing is newly reachable from the network."] };
}

/** New warnings, and how many notes are new and how many warnings went. Refusals stand elsewhere. */
export function countLines(
  { added, gone }: FindingChanges,
  doubts: readonly Doubt[] = [],
): HeadLines {
  const was = ({ about }: PlanFinding) =>
    doubts.find(({ machine, key }) => about === `${machine}.${key}`)?.was ?? "";
  const warnings = added.filter(({ kind }) => kind === "warning");
  const notes = added.filter(({ kind }) => kind === "note").length;
  // One that a refusal took the place of is no relief.
  const isRefused = added.some(({ kind }) => kind === "refused");
  const went = isRefused ? 0 : gone.filter(({ kind }) => kind === "warning").length;
  return {
    asks: warnings.map((each) => `New ${each.text}${was(each)}`),
    happens: [
      ...(warnings.length === 0 ? ["No warning is new."] : []),
      ...(notes === 0 ? [] : [`${counted(notes, "note is", "notes are")} new, below.`]),
      ...(went === 0 ? [] : [`${counted(went, "warning is", "warnings are")} gone.`]),
    ],
  };
}

/** Whether a container is made or replaced: one that worked may not work any more. */
export const mayBreak = (changes: readonly MachineChange[]): boolean =>
  changes.some(({ containers }) => containers.some(({ kind }) => STARTED.has(kind)));

/** The commands that apply a change: what is missing is fetched while everything still runs. */
export function appliedBy(changes: readonly MachineChange[]): string | undefined {
  const touched = changes.flatMap(({ containers, files, ollama }) => [
    ...containers.filter(({ kind }) => kind !== "unchanged"),
    ...files,
    ...(ollama === null ? [] : [ollama]),
  ]);
  if (touched.length === 0) return undefined;
  const containers = changes.flatMap((each) => each.containers);
  const fetches = containers.some(({ pulls, downloads }) => pulls !== null || downloads.length > 0);
  const starts = changes.some(({ containers, kv }) =>
    containers.some(({ key, kind }) => key in kv && STARTED.has(kind)),
  );
  return [
    ...(fetches ? ["serving fetch"] : []),
    "serving up",
    ...(starts ? ["serving status --wait"] : []),
    "serving verify",
  ].join(" && ");
}
