import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { run } from "../../commandLine/run";
import { changesOf, type MachineChange, startOf } from "../../components/change";
import { operatorHome, readAppliedPlans } from "../../components/evidence";
import { declaredResources } from "../../components/machine";
import type { MachinePlan, Plan } from "../../components/plan";
import type { StackSettings } from "../../components/settings";
import { attempt, defined } from "../../faults/defined";
import { orInputFault } from "../../faults/fault";
import { shellWords } from "../../faults/shellWords";
import { readTextFile } from "../../faults/textFile";
import { judge, type Levels } from "../../policies/judge";
import { nothingApplied } from "../stack/nothingApplied";
import { readStack } from "../stack/readStack";
import { impliedStack } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { passedStackFile } from "../verify/lastVerify";
import { changeSections, memorySections, type Section, section } from "./changeReport";
import { engineSections, type ServerEngineChanges, serverEngineChanges } from "./engineChanges";
import { verdictOf } from "./planText";
import {
  appliedBy,
  countLine,
  isLessSure,
  reachedLines,
  replacesServer,
  startLines,
  summary,
} from "./reviewHead";
import { type SettingChange, settingChanges, settingText } from "./settingChanges";

/** A state of the stack that a plan is compared with. */
interface Earlier {
  readonly machines: readonly MachinePlan[];
  /** Known where it is a stack file. */
  readonly stack?: { readonly settings: StackSettings; readonly plan: Plan };
  /** The command that takes it. */
  readonly back?: string;
}

/** A stack file, its settings and its plan. */
interface Asked {
  readonly file: string;
  readonly settings: StackSettings;
  readonly planned: Plan;
}

/**
 * Compares a plan of `file` with what was applied, verified, a stack file, or the file at a commit:
 * for people as sections, and the same as data. Throws `WrongUse`.
 */
export async function compare(source: string, { file, settings, planned }: Asked, levels: Levels) {
  const { machines, stack, back } = await earlier(source, file, planned);
  const changes = changesOf(machines, planned.machines);
  const changed = stack === undefined ? null : settingChanges(stack.settings, settings);
  // The applied plan does not store warnings.
  const old = findingsOf(stack?.plan ?? { machines, warnings: [] }, levels);
  const now = findingsOf(stack === undefined ? { ...planned, warnings: [] } : planned, levels);
  const only = (these: typeof now, those: typeof now) =>
    these.filter(({ id }) => those.every((each) => each.id !== id));
  const [added, gone] = [only(now, old), only(old, now)];
  const found = [
    ...added.map((each) => `New: ${each.text}`),
    ...gone.map((each) => `Gone: ${each.text}`),
  ];
  const judged = judge(declaredResources(planned), levels);
  const refused = judged.some((each) => each.verdict === "refused");
  const engine = serverEngineChanges(machines, planned.machines);
  const details = detailsOf({ changed, changes, engine }, source === "applied");
  const sections: Section[] = [
    {
      title: `Against ${source}`,
      lines: [
        verdictOf(planned.machines, judged),
        ...startLines(changes),
        ...reachedLines(machines, planned.machines),
        countLine(added),
        ...(refused ? [IF_NOT_REFUSED] : []),
        ...summary(changes),
      ],
    },
    ...details.filter(({ isFolded }) => isFolded === undefined),
    section("Findings", found, "None is new, and none is gone."),
    ...details.filter(({ isFolded }) => isFolded),
  ].map(withoutHomes(planned.machines));
  const ending: Section[] = [
    ...(back === undefined || changed?.length === 0
      ? []
      : [
          {
            title: "The way back",
            lines: [`\`${back}\``, ...summary(changesOf(planned.machines, machines))],
          },
        ]),
    nextSection(source, file, { changes, refused }),
  ];
  const findings = { new: added.map(idAndText), gone: gone.map(idAndText) };
  return {
    result: {
      against: source,
      settings: changed,
      machines: changes,
      engine,
      findings,
      back: back ?? null,
    },
    sections: [...sections, ...ending],
    isLessSure: isLessSure(changes),
  };
}

/** What differs between two plans. */
interface Details {
  /** `null` where the earlier one is no stack file. */
  readonly changed: readonly SettingChange[] | null;
  readonly changes: readonly MachineChange[];
  readonly engine: readonly ServerEngineChanges[];
}

/** What an update does, and what differs, which Markdown folds. */
const detailsOf = ({ changed, changes, engine }: Details, isAgainstApplied: boolean): Section[] => [
  ...(changed === null
    ? []
    : [
        {
          ...section("Changed settings", changed.map(settingText), "None."),
          isFolded: true as const,
        },
      ]),
  ...changeSections(changes, isAgainstApplied),
  ...engineSections(engine),
  ...memorySections(changes),
];

const idAndText = ({ id, text }: Finding) => ({ id, text });

/** What to run once the change is merged, or now where what was applied is compared with. */
function nextSection(
  source: string,
  file: string,
  { changes, refused }: { readonly changes: readonly MachineChange[]; readonly refused: boolean },
): Section {
  const [, stack] = /^Pulumi\.(.+)\.yaml$/.exec(basename(file)) ?? [];
  const run = appliedBy(changes);
  const [failing] = changes.flatMap(({ kv }) =>
    Object.keys(kv).filter((key) => startOf(kv[key]?.after) === "cannot start"),
  );
  const why = refused ? "`serving up` refuses it" : failing && `${failing} would not start`;
  const line = why
    ? `Nothing yet: ${why}. Fix the stack file first.`
    : run === undefined
      ? "Nothing: no machine changes."
      : `\`${forStack(run, defined({ stack }))}\``;
  const verified = `Or \`${forStack("serving up --verified", defined({ stack }))}\`, which does all of this, and goes back if something that worked doesn't any more.`;
  const merges = source !== "applied" && source !== "verified";
  const lines = !why && replacesServer(changes) ? [line, verified] : [line];
  return { title: merges ? "To run after merging" : "To run", lines };
}

/** A section in which the home of who plans is `~`: a review is read on another computer. */
function withoutHomes(machines: readonly MachinePlan[]): (section: Section) => Section {
  const homes = [operatorHome(), ...machines.flatMap(({ home = [] }) => home)];
  const plain = (line: string) =>
    homes.reduce((text, home) => text.replaceAll(`${home}/`, "~/"), line);
  return ({ lines, ...section }) => ({ ...section, lines: lines.map(plain) });
}

const IF_NOT_REFUSED = "What follows would happen if it were not refused.";

/** What a policy or a warning says of a plan; `id` stays where only figures change. */
interface Finding {
  readonly id: string;
  readonly text: string;
  readonly kind: "refused" | "warning" | "note";
}

function findingsOf({ machines, warnings }: Plan, levels: Levels): Finding[] {
  // A plan that another version applied may lack what policies read.
  const judged = attempt(() => judge(declaredResources({ machines, warnings }), levels)) ?? [];
  return [
    ...judged.flatMap(({ name, resource, verdict, message }) =>
      verdict === "pass"
        ? []
        : [
            {
              id: `${name} ${resource} ${verdict}`,
              text: `${verdict} by ${name} (${resource}): ${message}`,
              kind: verdict === "refused" ? ("refused" as const) : ("warning" as const),
            },
          ],
    ),
    ...warnings.map(({ machine, code, message, note }) => ({
      id: [code, machine, /^\S+:/.exec(message)?.[0]].join(" "),
      text: `${note ? "note" : "warning"} (${machine}): ${message}`,
      kind: note ? ("note" as const) : ("warning" as const),
    })),
  ];
}

async function earlier(source: string, file: string, planned: Plan): Promise<Earlier> {
  if (source === "applied") return { machines: await appliedTo(planned, file) };
  if (source === "verified") return lastVerified(file, planned);
  return existsSync(source)
    ? planOf(source, source, readTextFile(source))
    : planOf(source, `${source}:${basename(file)}`, await atCommit(source, file));
}

/** The stack file that last passed `serving verify` as a whole. Throws `WrongUse` where none did. */
export async function lastVerified(file: string, planned: Plan) {
  const passed = passedStackFile(file);
  if (passed === undefined)
    throw new WrongUse(
      (await nothingApplied(planned.machines, { file })) ??
        `--against verified: no \`serving verify\` of ${basename(file)} has passed as a whole yet. Run it: it keeps the file that passes.`,
    );
  const [, name] = /^Pulumi\.(.+)\.yaml$/.exec(basename(file)) ?? [];
  const stack = name === undefined || name === impliedStack() ? [] : ["--stack", name];
  const back = `${shellWords(["cp", passed, file])} && ${shellWords(["serving", "up", ...stack])}`;
  return { ...planOf("verified", passed, readTextFile(passed)), back };
}

async function appliedTo({ machines }: Plan, file: string): Promise<MachinePlan[]> {
  const nothing = await nothingApplied(machines, { file });
  if (nothing !== undefined) throw new WrongUse(nothing);
  const read = await readAppliedPlans(machines);
  const missing = read.flatMap((each) => ("missing" in each ? [each.missing] : []));
  if (missing.length === machines.length)
    throw new WrongUse(`--against applied: ${missing.join("; ")}.`);
  for (const each of missing) say(each);
  return read.flatMap((each) => ("plan" in each ? [each.plan] : []));
}

function planOf(source: string, name: string, text: string): Earlier {
  const read = orInputFault(() => readStack(name, text));
  if (read instanceof Error)
    throw new WrongUse(
      `--against ${source}: this version can't read it, so nothing is compared.\n${read.message}`,
    );
  const { settings, plan } = read;
  return { machines: plan.machines, stack: { settings, plan } };
}

const GIT_SECONDS = 20;
/** Far more than any stack file has. */
const LARGEST = 4e6;

async function atCommit(commit: string, file: string): Promise<string> {
  const command = [
    "git",
    "-C",
    dirname(file),
    "show",
    "--end-of-options",
    `${commit}:./${basename(file)}`,
  ];
  const { code, notStarted, out, err } = await run(command, {
    seconds: GIT_SECONDS,
    largest: LARGEST,
  });
  if (code === 0) return out;
  const why =
    notStarted === undefined ? (err.trim().split("\n")[0] ?? "") : "there is no `git` on PATH";
  throw new WrongUse(
    `--against ${commit}: no such file, and git has nothing of that name (${why}). Write \`applied\`, \`verified\`, a stack file such as old.yaml, or a commit such as HEAD~1.`,
  );
}
