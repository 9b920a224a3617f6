import { Failed, FaultyInput } from "@local-serving/base/faults/fault";
import { capital } from "@local-serving/base/faults/quoting";
import { sizedDevice, whyNoServer } from "@local-serving/machines/devices/devices";
import {
  leftGiB,
  type ServerKv,
  type StartNeeds,
  startVerdictOf,
  weightsByName,
} from "../../components/memory";
import type { MachinePlan, Plan } from "../../components/plan";
import type { InferenceServerSettings } from "../../components/settings";
import type { Judged } from "../../policies/judge";
import type { RefusedImage } from "../init/command/image";
import { forSeveralGpus, leftOutText } from "../init/command/notes";
import { draftEvidence, readDraft } from "../init/draft";
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
    const planned = plannedFit(asked, facts, place);
    return more === undefined ? planned : ofSeveral(planned, forMoreText(more.what));
  } catch (error) {
    const reasons = reasonsOf(error);
    if (reasons === undefined) throw error;
    return { fit: unplanned(facts, given, "not judged", reasons) };
  }
}

/** What is said of a server on several GPUs: only that one machine can't start it. */
function ofSeveral({ fit, ...planned }: PlannedFit, more: string): PlannedFit {
  if (fit.verdict === "cannot start")
    return { fit: { ...fit, change: [...fit.change, more] }, ...planned };
  const { server, why, verdict } = fit;
  const known = verdict === "not judged" && why !== "" ? [why] : [];
  const left = { server: { ...server, settings: null }, memory: null };
  return { fit: { ...fit, ...left, verdict: "not judged", why: more, change: known } };
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
  const settings = readDraft(facts, wanted);
  const known = draftEvidence(settings, home);
  const models = { ...known.models, ...asked.models };
  const { planned, policies } = judgedPlan(settings, { ...known, models });
  const [machine] = planned.machines;
  const container = machine?.inferenceServers[0]?.container.name;
  if (machine === undefined || container === undefined)
    throw new Error("a stack file with a server plans one");
  const kv = machine.kv[container] ?? null;
  const found = findingsOf(planned, policies);
  const server = settings.machines[machine.name]?.inferenceServers.b;
  const budgetGiB = (server?.gpuMemoryUtilization ?? 0) * machine.ledger.totalGiB;
  const weights = weighed(server, budgetGiB, machine.starts[container]);
  const { outsideGiB, atMost = false } = machine.starts[container] ?? {};
  const isOpenSize = kv !== null && outsideGiB === undefined && !atMost;
  const judged = withWeights(startOf({ ledger: machine.ledger, kv, isOpenSize }, found), weights);
  const start = refusedStart(judged, asked.refused ?? []);
  const isOpen = start.verdict === "not judged" || told === undefined;
  const unread = isOpen && asked.unread !== undefined ? [asked.unread] : [];
  const shown = {
    model,
    settings: server ?? null,
    notCarriedOver: told?.leftOut.map(leftOutText) ?? [],
    notInTheCommand: told?.chosen ?? [],
  };
  const memory = { ledger: machine.ledger, kv };
  const { verdict, why, beside = [] } = start;
  const change = [...beside, ...changesBeside(why, found), ...(asked.lacks ?? []), ...unread];
  return {
    fit: { verdict, why, machine: machineOf(facts), server: shown, memory, change },
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

/** The rule for starts, which also says of what it can't judge them. */
const STARTS = "server-starts";

/** The rule for flags, values and variables that a server's vLLM doesn't know. */
const NAMES = "engine-names";

/** The warnings that do, where nothing refuses it. */
const WARNINGS: readonly string[] = [
  "kv-room",
  "kv-unknown",
  "kv-memory-beyond-budget",
  "utilization-high",
];

interface Finding {
  readonly of: string;
  readonly message: string;
  /** Whether `up` would stop at it. */
  readonly isRefused?: boolean;
}

/** What the plan and the policies say of the start, without lines of a file that isn't written. */
function findingsOf({ warnings }: Plan, policies: readonly Judged[]): Finding[] {
  const refused = policies.filter(
    ({ name, verdict }) => verdict === "refused" && RULES.includes(name),
  );
  const warned = warnings.filter(({ code }) => WARNINGS.includes(code));
  const told = policies.filter(
    ({ name, verdict }) =>
      (name === NAMES && verdict === "refused") || (name === STARTS && verdict === "warned"),
  );
  return [
    ...[...refused, ...told].map(({ name, message, verdict }) => ({
      of: name,
      message: message.replace(LINE, "$1: "),
      isRefused: verdict === "refused",
    })),
    ...warned.map(({ code, message }) => ({ of: code, message: message.replace(/^b: /, "") })),
  ];
}

/** What to change, without what the verdict says already. */
const changesBeside = (why: string, found: readonly Finding[]): string[] =>
  found
    .filter(({ message }) => !why.includes(message))
    .map(({ message }) => message.replace(`, since ${why}`, ""));

/** Whether it starts, and why; `beside` is what else was found of that. */
type Start = Pick<ServerFit, "verdict" | "why"> & { readonly beside?: readonly string[] };

/** What is known of a server's weights, where its cache can't be planned: a clause about them. */
function weighed(
  server: InferenceServerSettings | undefined,
  budgetGiB: number,
  { weightsGiB, byName }: Pick<StartNeeds, "weightsGiB" | "byName"> = {},
): string | undefined {
  if (weightsGiB === undefined || server === undefined) return undefined;
  const named = byName === undefined ? undefined : weightsByName(server, undefined);
  const of = `of its ${budgetGiB.toFixed(2)} GiB`;
  if (named === undefined) return `its weights take ${weightsGiB.toFixed(2)} ${of}`;
  const { aboutGiB, source } = named;
  const least = `at least ${weightsGiB.toFixed(2)}`;
  if (aboutGiB === undefined) return `its weights take ${least} ${of} (${source})`;
  const about = `about ${aboutGiB.toFixed(aboutGiB < budgetGiB ? 0 : 2)}`;
  return aboutGiB > budgetGiB
    ? `its weights take ${least} ${of}, which fits, but ${about}, which doesn't, so it may not start (${source})`
    : `its weights take ${about} ${of} (${source})`;
}

/** The same with the weights in front, where they alone are known. */
const withWeights = (start: Start, weights: string | undefined): Start =>
  start.verdict === "not judged" && weights !== undefined
    ? { ...start, why: `${weights}; the rest isn't known. ${capital(start.why)}` }
    : start;

/**
 * The same with an image that can't be used: one for other hardware or of another engine starts
 * nowhere here, and of a release below the floor no figure is known.
 */
function refusedStart(start: Start, refused: readonly RefusedImage[]): Start {
  if (refused.length === 0) return start;
  const why = refused.map((each) => each.why).join(" ");
  const isOther = refused.some((each) => each.isOther);
  if (start.verdict === "cannot start" && !isOther) return { ...start, beside: [why] };
  const beside = start.why === "" ? [] : [byMemoryText(start)];
  return { verdict: isOther ? "cannot start" : "not judged", why, beside };
}

const byMemoryText = ({ verdict, why }: Start): string =>
  verdict === "not judged" ? why : `With an image that can be used it ${verdict}: ${why}`;

const LINE = /(stack file), line \d+: /g;

/** What a plan has of a server's start. */
interface PlannedStart extends Pick<MachinePlan, "ledger"> {
  readonly kv: ServerKv | null;
  /** Whether an option leaves the size of its weights open, above and below. */
  readonly isOpenSize: boolean;
}

/**
 * Whether it starts, by the plan alone. What needs more memory than a machine has, or than it has
 * free after a boot, is left open.
 */
function startOf({ ledger, kv, isOpenSize }: PlannedStart, found: readonly Finding[]): Start {
  const said = (of: string) => found.find((each) => each.of === of)?.message;
  const verdict = kv === null || isOpenSize ? "not judged" : startVerdictOf(kv);
  const why = kv === null ? said("kv-unknown") : isOpenSize ? said(STARTS) : kv.start?.why;
  const refused = found.find(({ of, isRefused }) => of === STARTS && isRefused === true)?.message;
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
