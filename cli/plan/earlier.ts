import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { run } from "@local-serving/base/commandLine/run";
import { orInputFault } from "@local-serving/base/faults/fault";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { readAppliedPlans } from "../../components/evidence";
import type { MachinePlan, Plan } from "../../components/plan";
import type { StackSettings } from "../../components/settings";
import { nothingApplied } from "../stack/nothingApplied";
import { readStack } from "../stack/readStack";
import { impliedStack, stackOf } from "../stack/stackFile";
import { passedStackFile } from "../verify/lastVerify";

/** A state of the stack that a plan is compared with. */
export interface Earlier {
  readonly machines: readonly MachinePlan[];
  /** Known where it is a stack file. */
  readonly stack?: { readonly settings: StackSettings; readonly plan: Plan };
  /** The command that takes it. */
  readonly back?: string;
  /** The commits that are compared, where git knows them. */
  readonly commits?: Commits;
}

/** Two commits in the short form that git gives them. */
interface Commits {
  readonly base: string;
  /** `null` where the stack file is not as any commit has it. */
  readonly head: string | null;
}

/** Reads what `source` names: `applied`, `verified`, a stack file, or a commit. Throws `WrongUse`. */
export async function earlier(source: string, file: string, planned: Plan): Promise<Earlier> {
  if (source === "applied") return { machines: await appliedTo(planned, file) };
  if (source === "verified") return lastVerified(file, planned);
  if (existsSync(source)) return planOf(source, source, readTextFile(source));
  const text = await atCommit(source, file);
  const commits = await commitsOf(source, file);
  return { ...planOf(source, `${source}:${basename(file)}`, text), commits };
}

/** The stack file that last passed `serving verify` as a whole. Throws `WrongUse` where none did. */
export async function lastVerified(file: string, planned: Plan) {
  const passed = passedStackFile(file);
  if (passed === undefined)
    throw new WrongUse(
      (await nothingApplied(planned.machines, { file })) ??
        `--against verified: no \`serving verify\` of ${basename(file)} has passed as a whole yet. Run it: it keeps the file that passes.`,
    );
  const name = stackOf(file);
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
  const what = ["show", "--end-of-options", `${commit}:./${basename(file)}`];
  const { code, notStarted, out, err } = await git(file, what);
  if (code === 0) return out;
  const why =
    notStarted === undefined ? (err.trim().split("\n")[0] ?? "") : "there is no `git` on PATH";
  throw new WrongUse(
    `--against ${commit}: no such file, and git has nothing of that name (${why}). Write \`applied\`, \`verified\`, a stack file such as old.yaml, or a commit such as HEAD~1.`,
  );
}

/**
 * The commits that are compared. CI checks out a merge of both: its first parent is the base then, and
 * its second one the commit that somebody pushed.
 */
async function commitsOf(source: string, file: string): Promise<Commits> {
  const short = async (commit: string): Promise<string> => {
    const asked = ["rev-parse", "--short", "--verify", "--quiet", "--end-of-options"];
    return (await git(file, [...asked, `${commit}^{commit}`])).out.trim();
  };
  const [base, head, first, pushed] = await Promise.all(
    [source, "HEAD", "HEAD^1", "HEAD^2"].map(short),
  );
  const { code } = await git(file, ["diff", "--quiet", "HEAD", "--", basename(file)]);
  const merged = first === base && pushed !== "" ? pushed : head;
  return { base: base || source, head: code === 0 ? (merged ?? null) : null };
}

const git = (file: string, words: readonly string[]) =>
  run(["git", "-C", dirname(file), ...words], { seconds: GIT_SECONDS, largest: LARGEST });
