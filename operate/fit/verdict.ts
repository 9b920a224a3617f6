import { leftGiB, type ServerKv, startVerdictOf } from "../../components/memory";
import type { MachinePlan, Plan } from "../../components/plan";
import { Failed, FaultyInput } from "../../faults/fault";
import { sizedDevice, whyNoServer } from "../../machines/devices/devices";
import type { Judged } from "../../policies/judge";
import { forSeveralGpus, leftOutText } from "../init/command/notes";
import { draft, draftEvidence } from "../init/draft";
import type { Place } from "../init/offers";
import { judgedPlan } from "../plan/judgedPlan";
import type { HostFacts } from "../sees/computer/facts";
import { type Asked, askedServer, type NoServer } from "./asked";

export type FitVerdict = "starts" | "may start" | "cannot start" | "not judged";

/** Whether a server starts on a machine, by the plan of a stack file that has both. */
export interface ServerFit {
  readonly verdict: FitVerdict;
  readonly why: string;
  readonly machine: { readonly name: string; readonly what: string; readonly totalGiB: number };
  readonly server: {
    readonly model: string;
    readonly settings: Readonly<Record<string, unknown>> | null;
    readonly notCarriedOver: readonly string[];
    readonly notInTheCommand: readonly string[];
  };
  /** `null` where no server could be planned. */
  readonly memory: (Pick<MachinePlan, "ledger"> & { readonly kv: ServerKv | null }) | null;
  /** What to change so that it starts and the machine has room for it, a sentence each. */
  readonly change: readonly string[];
}

/** A fit with the plan that it is read from; without one where no server could be planned. */
export interface PlannedFit {
  readonly fit: ServerFit;
  readonly machine?: MachinePlan;
  readonly container?: string;
}

/**
 * Judges what `given` names on a machine. Throws `WrongUse` or `UnreadableInput` for what can't be
 * read.
 */
export async function judgeFit(given: string, facts: HostFacts, place: Place): Promise<PlannedFit> {
  const none = whyNoServer(facts.device);
  try {
    const asked = await askedServer(given, facts, place);
    if (none !== undefined) return { fit: unplanned(facts, given, "not judged", [none]) };
    if (!("wanted" in asked)) return { fit: noServer(asked, facts) };
    const more = forSeveralGpus(asked.told?.leftOut ?? []);
    return more === undefined
      ? plannedFit(asked, facts, place)
      : { fit: unplanned(facts, asked.model, "not judged", [forMoreText(more.what)]) };
  } catch (error) {
    const reasons = reasonsOf(error);
    if (reasons === undefined) throw error;
    return { fit: unplanned(facts, given, "not judged", reasons) };
  }
}

const forMoreText = (option: string): string =>
  `it is for several GPUs (${option}), and only a server on one is judged. If one machine is to serve the model, leave that out.`;

/** Why no plan could be made of what was read; `undefined` for what could not be read at all. */
function reasonsOf(error: unknown): readonly string[] | undefined {
  if (error instanceof Failed) return [error.message];
  if (!(error instanceof FaultyInput)) return undefined;
  return error.faults.map(({ path, message }) => [path, message].filter(Boolean).join(": "));
}

function noServer({ recipe, reasons, lacksMachines, missingGiB }: NoServer, facts: HostFacts) {
  const isSure = lacksMachines || missingGiB !== undefined;
  return unplanned(facts, recipe.id, isSure ? "cannot start" : "not judged", reasons);
}

function unplanned(
  facts: HostFacts,
  model: string,
  verdict: FitVerdict,
  reasons: readonly string[],
): ServerFit {
  return {
    verdict,
    why: reasons.join(" "),
    machine: machineOf(facts),
    server: { model, settings: null, notCarriedOver: [], notInTheCommand: [] },
    memory: null,
    change: [],
  };
}

function machineOf({ host, device, memory: { totalGiB } }: HostFacts): ServerFit["machine"] {
  const what = sizedDevice(device, totalGiB)?.oneOf ?? "a machine that isn't recognised";
  return { name: host, what, totalGiB };
}

function plannedFit(asked: Asked, facts: HostFacts, { home }: Place): PlannedFit {
  const { wanted, told, model } = asked;
  const { settings } = draft(facts, wanted, home);
  const known = draftEvidence(settings, home);
  const models = { ...known.models, ...asked.models };
  const { planned, policies } = judgedPlan(settings, { ...known, models });
  const [machine] = planned.machines;
  const container = machine?.inferenceServers[0]?.container.name;
  if (machine === undefined || container === undefined)
    throw new Error("a stack file with a server plans one");
  const kv = machine.kv[container] ?? null;
  const found = findingsOf(planned, policies);
  const start = startOf(machine.ledger, kv, found);
  const isOpen = start.verdict === "not judged" || told === undefined;
  const unread = isOpen && asked.unread !== undefined ? [asked.unread] : [];
  const server = {
    model,
    settings: settings.machines[machine.name]?.inferenceServers.b ?? null,
    notCarriedOver: told?.leftOut.map(leftOutText) ?? [],
    notInTheCommand: told?.chosen ?? [],
  };
  const memory = { ledger: machine.ledger, kv };
  const change = [...changesBeside(start.why, found), ...unread];
  return {
    fit: { ...start, machine: machineOf(facts), server, memory, change },
    machine,
    container,
  };
}

/** The rules that speak of a start and of the machine's memory. */
const RULES: readonly string[] = [
  "server-starts",
  "memory-sum",
  "aggregate-utilization",
  "other-gpu-memory",
];

/** The warnings that do, where nothing refuses it. */
const WARNINGS: readonly string[] = [
  "kv-no-room",
  "kv-room",
  "kv-unknown",
  "kv-memory-beyond-budget",
  "utilization-high",
];

interface Finding {
  readonly of: string;
  readonly message: string;
}

/** What the plan and the policies say of the start, without lines of a file that isn't written. */
function findingsOf({ warnings }: Plan, policies: readonly Judged[]): Finding[] {
  const refused = policies.filter(
    ({ name, verdict }) => verdict === "refused" && RULES.includes(name),
  );
  const warned = warnings.filter(({ code }) => WARNINGS.includes(code));
  return [
    ...refused.map(({ name, message }) => ({ of: name, message: message.replace(LINE, "") })),
    ...warned.map(({ code, message }) => ({ of: code, message: message.replace(/^b: /, "") })),
  ];
}

/** What to change, without what the verdict says already. */
const changesBeside = (why: string, found: readonly Finding[]): string[] =>
  found
    .filter(({ message }) => message !== why)
    .map(({ message }) => message.replace(`, since ${why}`, ""));

const LINE = /stack file, line \d+: /g;

/**
 * Whether it starts, by the plan alone. What needs more memory than a machine has, or than it has
 * free after a boot, is left open.
 */
function startOf(
  ledger: MachinePlan["ledger"],
  kv: ServerKv | null,
  found: readonly Finding[],
): Pick<ServerFit, "verdict" | "why"> {
  const said = (of: string) => found.find((each) => each.of === of)?.message;
  const verdict = kv === null ? "not judged" : startVerdictOf(kv);
  const why = kv === null ? said("kv-unknown") : kv.start?.why;
  const refused = said("server-starts");
  if (refused !== undefined)
    return {
      verdict: "cannot start",
      why: verdict === "cannot start" && why !== undefined ? why : refused,
    };
  const missing = -leftGiB(ledger);
  const lacks =
    missing > 0
      ? `the machine lacks ${missing.toFixed(2)} GiB for all that the plan counts`
      : said("utilization-high");
  return verdict === "starts" && lacks !== undefined
    ? { verdict: "may start", why: lacks }
    : { verdict, why: why ?? "" };
}
