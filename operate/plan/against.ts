import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { run } from "../../commandLine/run";
import { changesOf, goneText, type MachineChange } from "../../components/change";
import { readAppliedPlans } from "../../components/evidence";
import { declaredResources } from "../../components/machine";
import type { MachinePlan, Plan } from "../../components/plan";
import type { StackSettings } from "../../components/settings";
import { attempt } from "../../faults/defined";
import { orInputFault } from "../../faults/fault";
import { readTextFile } from "../../faults/textFile";
import { shellWords } from "../../machines/shell";
import { judge, type Levels } from "../../policies/judge";
import { nothingApplied } from "../stack/nothingApplied";
import { readStack } from "../stack/readStack";
import { impliedStack } from "../stack/stackFile";
import { passedStackFile } from "../verify/lastVerify";
import {
  changeSections,
  memorySections,
  memoryVerdict,
  type Section,
  section,
} from "./changeReport";
import { verdictOf } from "./planText";
import { settingChanges, settingText } from "./settingChanges";

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
  const sections: Section[] = [
    {
      title: `Against ${source}`,
      lines: [
        verdictOf(planned.machines, judged),
        ...(refused ? [IF_NOT_REFUSED] : []),
        ...summary(changes),
      ],
    },
    ...(changed === null ? [] : [section("Changed settings", changed.map(settingText), "None.")]),
    ...changeSections(changes),
    ...memorySections(changes),
    section("Findings", found, "None is new, and none is gone."),
    ...(back === undefined || changed?.length === 0
      ? []
      : [
          {
            title: "The way back",
            lines: [`\`${back}\``, ...summary(changesOf(planned.machines, machines))],
          },
        ]),
  ];
  const findings = { new: added, gone };
  return {
    result: { against: source, settings: changed, machines: changes, findings, back: back ?? null },
    sections,
  };
}

const IF_NOT_REFUSED = "What follows would happen if it were not refused.";

/** What restarts, and whether memory fits. */
function summary(changes: readonly MachineChange[]): string[] {
  return changes.flatMap(({ machine, losses, memory: { after } }) => {
    const gone = losses.filter((loss) => goneText(loss) !== undefined);
    const said = gone.map((loss) => `${loss.key} is gone ${goneText(loss)}`).join("; ");
    return [
      `${machine}: ${said || "nothing that runs is stopped"}.`,
      ...(after === null ? [] : [`${machine}: ${memoryVerdict(after)}.`]),
    ];
  });
}

/** What policies and warnings say of a plan; `id` stays where only figures change. */
function findingsOf({ machines, warnings }: Plan, levels: Levels) {
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
            },
          ],
    ),
    ...warnings.map(({ machine, code, message, note }) => ({
      id: [code, machine, /^\S+:/.exec(message)?.[0]].join(" "),
      text: `${note ? "note" : "warning"} (${machine}): ${message}`,
    })),
  ];
}

async function earlier(source: string, file: string, planned: Plan): Promise<Earlier> {
  if (source === "applied") return { machines: await appliedTo(planned, file) };
  if (source === "verified") {
    const passed = passedStackFile(file);
    if (passed === undefined)
      throw new WrongUse(
        `--against verified: no \`serving verify\` of ${basename(file)} passed whole yet: run it, and it keeps the file that did.`,
      );
    const [, name] = /^Pulumi\.(.+)\.yaml$/.exec(basename(file)) ?? [];
    const stack = name === undefined || name === impliedStack() ? [] : ["--stack", name];
    const back = `${shellWords(["cp", passed, file])} && ${shellWords(["serving", "up", ...stack])}`;
    return { ...planOf(source, passed, readTextFile(passed)), back };
  }
  return existsSync(source)
    ? planOf(source, source, readTextFile(source))
    : planOf(source, `${source}:${basename(file)}`, await atCommit(source, file));
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
