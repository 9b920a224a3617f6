import { basename } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { isHere } from "@local-serving/machines/address";
import { changesOf, type MachineChange } from "../../components/change";
import { operatorHome, readAppliedPlans } from "../../components/evidence";
import type { MachinePlan, Plan } from "../../components/plan";
import { exportOf } from "../../components/preflight";
import { declaredResources } from "../../components/program/machine";
import { placeOf, type StackSettings } from "../../components/settings";
import { type Judged, judge, type Levels } from "../../policies/judge";
import { stackOf } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { instanceALines, memorySections, type Section, section, whatChanges } from "./changeReport";
import { type Earlier, earlier } from "./earlier";
import { engineSections, type ServerEngineChanges, serverEngineChanges } from "./engineChanges";
import { type FindingChanges, findingChanges, noteLines, type PlanFinding } from "./findingChanges";
import { claimLines, type ImageChange, imageChanges, imageHead } from "./imageChanges";
import {
  appliedBy,
  countLines,
  decisionText,
  doubtsOf,
  failing,
  feltLines,
  type HeadLines,
  isLessSure,
  mayBreak,
  reachedLines,
  servedLines,
} from "./reviewHead";
import { refusalsOf } from "./screen/findings";
import { type SettingChange, settingChanges, settingText } from "./settingChanges";
import { withShortDigests } from "./shortDigests";
import { verdictOf } from "./verdict";

/** A stack file, its settings and its plan. */
interface Asked {
  readonly file: string;
  readonly settings: StackSettings;
  readonly planned: Plan;
}

/** What is compared with what. */
interface Comparison {
  readonly source: string;
  readonly asked: Asked;
  readonly before: Earlier;
}

/** The same with all that a review says of it. */
interface Review extends Comparison {
  readonly differs: Differences;
  readonly head: HeadLines;
  readonly judged: readonly Judged[];
  /** What stops it for sure. */
  readonly why: string | undefined;
}

/**
 * Compares a plan of `file` with what was applied, verified, a stack file, or the file at a commit:
 * for people as sections, and the same as data. Throws `WrongUse`.
 */
export async function compare(source: string, asked: Asked, levels: Levels) {
  const { file, planned } = asked;
  const before = await earlier(source, file, planned);
  const differs = await differencesOf({ source, asked, before }, levels);
  const head = headOf(differs, { before: before.machines, after: planned.machines });
  const judged = judge(declaredResources(planned), levels, (path) => placeOf(asked.settings, path));
  const why = whyNot(planned, judged);
  const review: Review = { source, asked, before, differs, head, judged, why };
  return {
    result: resultOf(review),
    sections: withShortDigests(sectionsOf(review)),
    isLessSure: isLessSure(differs.changes),
  };
}

async function differencesOf(
  { source, asked, before }: Comparison,
  levels: Levels,
): Promise<Differences> {
  const { settings, planned } = asked;
  const { machines, stack } = before;
  const changes = changesOf(machines, planned.machines);
  const isAgainstApplied = source === "applied";
  return {
    changed: stack === undefined ? null : settingChanges(stack.settings, settings),
    changes,
    engine: serverEngineChanges(machines, planned.machines),
    images: imageChanges(changes, {
      before: machines,
      after: planned.machines,
      applied: isAgainstApplied ? [] : await appliedHere(planned),
      base: isAgainstApplied ? "applied" : "base",
    }),
    found: findingChanges(before, planned, levels),
  };
}

const isRefusal = ({ verdict }: Judged): boolean => verdict === "refused";

/** Why nobody should approve it, as a clause. */
function whyNot({ machines }: Plan, judged: readonly Judged[]): string | undefined {
  if (judged.some(isRefusal)) return "`serving up` refuses it";
  const [fails] = failing(machines);
  return fails && `${fails} can't start`;
}

function resultOf({ source, asked, before, differs, head, why }: Review) {
  const { changed, changes, images, engine, found } = differs;
  const open = head.asks.length > 0 ? "ask" : "fine";
  return {
    against: source,
    file: basename(asked.file),
    commits: before.commits ?? null,
    decision: why === undefined ? open : "refused",
    asks: head.asks,
    settings: changed,
    machines: changes,
    images,
    engine,
    findings: { new: found.added.map(idAndText), gone: found.gone.map(idAndText) },
    back: before.back ?? null,
  };
}

/** The review, from what a reader needs first to the details and the commands. */
function sectionsOf(review: Review): Section[] {
  const { source, asked, before, differs, head, judged, why } = review;
  const { changed, found } = differs;
  const { file, planned } = asked;
  const decision = decisionText(head.asks, why);
  const sections: Section[] = [
    {
      title: titleOf(source, file, before),
      lines: [decision, verdictOf(planned.machines, judged)],
    },
    ...listed(
      "Why it is refused",
      refusalsOf(judged.filter(isRefusal)).map(({ wrong, advice }) => `${wrong} ${advice}`.trim()),
    ),
    ...eventSections(head, why !== undefined),
    ...(changed === null ? [] : [settingsSection(changed)]),
    ...listed("New notes", noteLines(found)),
    ...detailsOf(differs, source === "applied"),
  ];
  // The command that goes back is for this computer.
  return [
    ...sections.map(withoutHomes(planned.machines)),
    ...(changed?.length === 0 ? [] : wayBack(before, planned)),
    nextSection(source, file, review),
  ];
}

/** The plans that were applied on this computer. */
async function appliedHere({ machines }: Plan): Promise<MachinePlan[]> {
  const read = await readAppliedPlans(machines.filter(isHere));
  return read.flatMap((each) => ("plan" in each ? [each.plan] : []));
}

/** Names the stack file, and the two states by what people know them by. */
function titleOf(source: string, file: string, { commits }: Earlier): string {
  const name = basename(file);
  if (commits !== undefined)
    return `${name}: base ${commits.base} -> head ${commits.head ?? "not committed yet"}`;
  const said: Readonly<Record<string, string>> = {
    applied: "what was applied",
    verified: "what was last verified",
  };
  return `${name} against ${said[source] ?? source}`;
}

/** What a change does; of one that can't be applied all is only what it would do. */
function eventSections({ asks, happens }: HeadLines, isStopped: boolean): Section[] {
  if (isStopped)
    return [{ title: "What would happen if it were not refused", lines: [...asks, ...happens] }];
  const title = asks.length === 0 ? "What happens" : "What else happens";
  return [...listed("Ask before you approve", asks), { title, lines: happens }];
}

const listed = (title: string, lines: readonly string[]): Section[] =>
  lines.length === 0 ? [] : [{ title, lines }];

/** What a reviewer reads first. */
function headOf(
  { changes, engine, images, found }: Differences,
  plans: { readonly before: readonly MachinePlan[]; readonly after: readonly MachinePlan[] },
): HeadLines {
  const doubts = doubtsOf(changes);
  const said = new Set(found.added.map(({ about }) => about));
  const untold = doubts.filter(({ machine, key }) => !said.has(`${machine}.${key}`));
  const all: HeadLines[] = [
    { asks: untold.map(({ text, was }) => `${text}${was}`), happens: [] },
    ...images.map((image) =>
      imageHead(
        image,
        engine.find(({ machine, key }) => machine === image.machine && key === image.key),
      ),
    ),
    { asks: claimLines(plans), happens: [] },
    ...changes.map(feltLines),
    { asks: [], happens: servedLines(plans.before, plans.after) },
    {
      asks: changes.flatMap((each) =>
        instanceALines(each).map((line) => `${each.machine}: ${line}`),
      ),
      happens: [],
    },
    reachedLines(plans.before, plans.after, found),
    countLines(found, doubts),
  ];
  return {
    asks: all.flatMap(({ asks }) => asks),
    happens: all.flatMap(({ happens }) => happens),
  };
}

function wayBack({ back, machines }: Earlier, planned: Plan): Section[] {
  if (back === undefined) return [];
  const felt = changesOf(planned.machines, machines).map(feltLines);
  const lines = felt.flatMap(({ asks, happens }) => [...asks, ...happens]);
  return [{ title: "The way back", lines: [`\`${back}\``, ...lines] }];
}

/** What differs between two plans. */
interface Differences {
  /** `null` where the earlier one is no stack file. */
  readonly changed: readonly SettingChange[] | null;
  readonly changes: readonly MachineChange[];
  readonly engine: readonly ServerEngineChanges[];
  readonly images: readonly ImageChange[];
  readonly found: FindingChanges;
}

/** A few settings are read at once; many are folded. */
const FEW_SETTINGS = 5;

function settingsSection(changed: readonly SettingChange[]): Section {
  const all = section("Changed settings", changed.map(settingText), "None.");
  return changed.length > FEW_SETTINGS ? { ...all, isFolded: true } : all;
}

/** The details of an update, which Markdown folds. */
const detailsOf = ({ changes, engine }: Differences, isAgainstApplied: boolean): Section[] => [
  ...changes.map((each) => whatChanges(each, isAgainstApplied)),
  ...engineSections(engine),
  ...memorySections(changes),
];

const idAndText = ({ id, text }: PlanFinding) => ({ id, text });

/** What to run once the change is merged, or now where what was applied is compared with. */
function nextSection(
  source: string,
  file: string,
  { before, asked, differs: { changes }, why }: Omit<Review, "head" | "judged">,
): Section {
  const exports = newVariables(before.machines, asked.planned.machines);
  const typed = (text: string) => forStack(text, defined({ stack: stackOf(file) }));
  const run = appliedBy(changes);
  const merges = source !== "applied" && source !== "verified";
  const title = merges ? "To run after merging" : "To run";
  if (why !== undefined)
    return { title, lines: [`Nothing yet: ${why}. Fix the stack file first.`] };
  if (run === undefined) return { title, lines: ["Nothing: no machine changes."] };
  if (!mayBreak(changes)) return { title, lines: [...exports, `\`${typed(run)}\``] };
  const verified = typed("`serving up --verified`");
  return {
    title,
    lines: [
      ...exports,
      `${verified}, which goes back if something that worked doesn't any more; a machine that hangs can't.`,
      `Or step by step, which doesn't go back by itself: \`${typed(run)}\``,
    ],
  };
}

/** What to type first where the new file needs a variable that the old one didn't. */
function newVariables(before: readonly MachinePlan[], after: readonly MachinePlan[]): string[] {
  const known = new Set(before.flatMap(secretVariables));
  const needed = after.flatMap((machine) =>
    secretVariables(machine).map((name) => [name, exportOf(machine, name)] as const),
  );
  return [...new Map(needed)].flatMap(([name, line]) =>
    known.has(name)
      ? []
      : [
          `\`${line}\` first, in the shell that runs \`up\`; clients of what asks for it need it, too.`,
        ],
  );
}

const secretVariables = ({ secretFiles = [] }: MachinePlan): string[] =>
  secretFiles.map(({ variable }) => variable);

/** A section in which the home of who plans is `~`: a review is read on another computer. */
function withoutHomes(machines: readonly MachinePlan[]): (section: Section) => Section {
  const homes = [operatorHome(), ...machines.flatMap(({ home = [] }) => home)];
  const plain = (line: string) =>
    homes.reduce((text, home) => text.replaceAll(`${home}/`, "~/"), line);
  return ({ lines, ...section }) => ({ ...section, lines: lines.map(plain) });
}
