import { changesOf } from "../../components/change";
import type { Judged } from "../../policies/judge";
import type { PlannedStack } from "../stack/readStack";

/** A stack file as somebody said yes to it, and as it is since images were looked into. */
export interface SinceTheYes {
  readonly before: PlannedStack;
  readonly now: PlannedStack;
  /** What was said of it before, and is said of it now. */
  readonly was: readonly Judged[];
  readonly is: readonly Judged[];
}

/**
 * Whether looking into images changed more than their digests and versions: then it is another
 * update than the one that was agreed to. Pure.
 */
export function isMore({ before, now, was, is }: SinceTheYes): boolean {
  const changes = changesOf(before.plan.machines, now.plan.machines);
  const isOther = changes.some(
    ({ containers, files, ollama }) =>
      files.length > 0 ||
      ollama !== null ||
      containers.some(({ kind, changes: of }) =>
        kind === "replaced"
          ? of.some(({ argument }) => argument !== "image")
          : kind !== "unchanged",
      ),
  );
  return isOther || isNew(worries(was), worries(is)) || isNew(warningsOf(before), warningsOf(now));
}

const isNew = (before: readonly string[], now: readonly string[]): boolean =>
  now.some((each) => !before.includes(each));

const worries = (judged: readonly Judged[]): string[] =>
  judged
    .filter(({ verdict, note }) => verdict !== "pass" && note !== true)
    .map(({ name, resource }) => `${name} ${resource}`);

const warningsOf = ({ plan }: PlannedStack): string[] =>
  plan.warnings
    .filter(({ note }) => note !== true)
    .map(({ machine, code }) => `${machine} ${code}`);
