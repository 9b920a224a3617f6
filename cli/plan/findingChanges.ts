import { attempt, defined } from "@local-serving/base/faults/defined";
import type { Plan } from "../../components/plan";
import { declaredResources } from "../../components/program/machine";
import { type Judged, judge, type Levels } from "../../policies/judge";
import type { Earlier } from "./earlier";

/** What a policy or a warning says of a plan; `id` stays where only figures change. */
export interface PlanFinding {
  readonly id: string;
  readonly text: string;
  readonly kind: "refused" | "warning" | "note";
  /** The server, as `MACHINE.KEY`, whose start it doubts. */
  readonly about?: string;
}

/** Which findings are new, and which are gone. */
export interface FindingChanges {
  readonly added: readonly PlanFinding[];
  readonly gone: readonly PlanFinding[];
}

/** Compares what policies and warnings say of two states. The applied plan stores no warnings. */
export function findingChanges(
  { machines, stack }: Pick<Earlier, "machines" | "stack">,
  planned: Plan,
  levels: Levels,
): FindingChanges {
  const old = findingsOf(stack?.plan ?? { machines, warnings: [] }, levels);
  const now = findingsOf(stack === undefined ? { ...planned, warnings: [] } : planned, levels);
  const only = (these: typeof now, those: typeof now) =>
    these.filter(({ id }) => those.every((each) => each.id !== id));
  return {
    added: only(now, old),
    gone: only(old, now),
  };
}

/** New notes as sentences. What is gone concerns nobody; warnings and refusals stand above. */
export const noteLines = ({ added }: FindingChanges): string[] =>
  added.filter(({ kind }) => kind === "note").map(({ text }) => text.replace(/^note /, ""));

function findingsOf({ machines, warnings }: Plan, levels: Levels): PlanFinding[] {
  // A plan that another version applied may lack what policies read.
  const judged = attempt(() => judge(declaredResources({ machines, warnings }), levels)) ?? [];
  return [
    ...judged.flatMap((each) =>
      each.verdict === "pass" || each.saidBy !== undefined ? [] : [judgedFinding(each)],
    ),
    ...warnings.map(({ machine, code, message, note }) => ({
      id: [code, machine, /^\S+:/.exec(message)?.[0]].join(" "),
      text: `${note ? "note" : "warning"} (${machine}): ${message}`,
      kind: note ? ("note" as const) : ("warning" as const),
      ...defined({ about: code === "kv-room" ? serverIn(machine, message) : undefined }),
    })),
  ];
}

/** A warning of a server begins with its key. */
function serverIn(machine: string, message: string): string | undefined {
  const [, key] = /^([^\s:]+):/.exec(message) ?? [];
  return key && `${machine}.${key}`;
}

/** The server of a rule about starts, by the setting that mends it. */
function serverAt({ name, path = "" }: Judged): string | undefined {
  const [, machine, key] = /^machines\.([^.]+)\.inferenceServers\.([^.]+)\./.exec(path) ?? [];
  return name === "server-starts" && key !== undefined ? `${machine}.${key}` : undefined;
}

function judgedFinding(judged: Judged): PlanFinding {
  const { name, resource, verdict, message, note } = judged;
  const kind = verdict === "refused" ? "refused" : note ? "note" : "warning";
  return {
    id: `${name} ${resource} ${verdict}`,
    text: `${kind} by ${name} (${resource}): ${message}`,
    kind,
    ...defined({ about: serverAt(judged) }),
  };
}
