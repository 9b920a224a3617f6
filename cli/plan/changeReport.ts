import { basename } from "node:path";
import { headed, type Width } from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import type { Fault } from "@local-serving/base/faults/fault";
import { counted } from "@local-serving/base/faults/quoting";
import { gibRange, timesRange } from "@local-serving/base/units/ranges";
import {
  doubtText,
  isUnchanged,
  lossText,
  type MachineChange,
  PROVE,
  partsWithSources,
  stepsWithSources,
} from "../../components/change";
import { fromTo } from "./settingChanges";

/** Some sentences below a title, for a terminal and for Markdown. */
export interface Section {
  readonly title: string;
  readonly lines: readonly string[];
  /** Details that Markdown folds away, behind their title and count. */
  readonly isFolded?: true;
}

/** A section with these lines, or with one that says that there are none. */
export const section = (title: string, lines: readonly string[], none: string): Section => ({
  title,
  lines: lines.length === 0 ? [none] : lines,
});

/** The review of a stack file that can't be planned: what is wrong with it, line by line. */
export function faultsSection(input: string, faults: readonly Fault[]): Section {
  const found = faults.map(({ line, path, message }) => {
    const where = [line && `line ${line}`, path && `\`${path}\``].filter(Boolean).join(", ");
    return where === "" ? message : `${where}: ${message}`;
  });
  const decision = `Don't approve this yet: the file has ${counted(faults.length, "fault")}.`;
  return { title: basename(input), lines: [decision, ...found] };
}

export const sectionText = ({ title, lines }: Section, width: Width): string =>
  headed(styled("bold", title), lines, width);

export function sectionMarkdown({ title, lines, isFolded }: Section): string {
  const listed = ["", ...lines.map((line) => `- ${line}`)];
  const folded = `<details><summary>${title} (${lines.length})</summary>`;
  return (isFolded ? [folded, ...listed, "", "</details>"] : [`### ${title}`, ...listed]).join(
    "\n",
  );
}

/**
 * What an update does to each machine: containers, files, what clients lose. `isAgainstApplied`:
 * the earlier plan is the applied one, which may not be what is on the machine.
 */
export const changeSections = (
  changes: readonly MachineChange[],
  isAgainstApplied = false,
): Section[] =>
  changes.flatMap((change): Section[] => [
    withLines(whatChanges(change, isAgainstApplied), instanceALines(change)),
    section(`What clients of ${change.machine} lose`, change.losses.map(lossText), "Nothing."),
  ]);

const withLines = (section: Section, more: readonly string[]): Section => ({
  ...section,
  lines: [...section.lines, ...more],
});

/** Somebody has to restart instance A, where its share changes. */
export function instanceALines({ memory: { before, after } }: MachineChange): string[] {
  const [old, now] = [before, after].map((each) => each?.lines["instance A"]?.gib);
  return old === undefined || old === now ? [] : [INSTANCE_A];
}

/** What is made, replaced and written on a machine. For how long something is gone, losses say. */
export function whatChanges(change: MachineChange, isAgainstApplied: boolean): Section {
  const { machine, containers, files, ollama, starts } = change;
  const lines = [
    ...(isUnchanged(change) ? ["Nothing is replaced or written."] : []),
    ...containers.flatMap((each) => containerLines(each, doubtText(starts[each.key]?.after))),
    ...notTouched(containers),
    ...(ollama === null ? [] : [OLLAMA[ollama]]),
    ...["written", "rewritten", "removed"].flatMap((kind) => {
      const paths = files.filter((file) => file.kind === kind).map(({ path }) => path);
      return paths.length === 0 ? [] : [`Files ${kind}: ${paths.join(", ")}.`];
    }),
    ...(isAgainstApplied ? [AGAINST_APPLIED] : []),
  ];
  return { title: `What changes on ${machine}`, lines, isFolded: true };
}

/** Containers that stay as they are, in a sentence. */
export function notTouched(containers: MachineChange["containers"]): string[] {
  const untouched = containers.filter(({ kind }) => kind === "unchanged").map(({ key }) => key);
  return untouched.length === 0 ? [] : [`Not touched: ${untouched.join(", ")}.`];
}

const AGAINST_APPLIED =
  "This compares with what was applied; `serving status --against applied` looks at the machine itself.";

const INSTANCE_A =
  "Nothing here changes instance A: whoever runs it must restart it with its new share first.";

const OLLAMA = {
  restarted: "Ollama is restarted: its drop-in changes.",
  "by-hand":
    "Ollama's drop-in changes, and that is left to you: `serving plan simple-server` prints the commands.",
};

function containerLines(
  change: MachineChange["containers"][number],
  doubt: ReturnType<typeof doubtText>,
): string[] {
  const { key, name, kind, changes, pulls, downloads } = change;
  if (kind === "unchanged") return [];
  const why = changes
    .map(({ argument, before, after }) => `\`${argument}\` ${fromTo(before, after)}`)
    .join("; ");
  const meanwhile = kind === "replaced" ? " while the old one still answers" : "";
  const models = downloads.join(", ");
  return [
    `${key} (${name}) is ${kind}${why === "" ? "" : `: ${why}`}.`,
    ...(pulls === null ? [] : [`Its image is pulled${meanwhile}: \`${pulls}\`.`]),
    ...(kind === "removed" ? [] : whenLines(change, doubt)),
    ...(downloads.length === 0
      ? []
      : [`Plus the download of ${models}, unless \`serving fetch\` has done it.`]),
  ];
}

/**
 * When a container that is made or replaced answers; of one that may not, no time is promised, and
 * if it is replaced, its loss says so.
 */
function whenLines(
  change: MachineChange["containers"][number],
  doubt: ReturnType<typeof doubtText>,
): string[] {
  if (doubt === undefined) return [startText(change)];
  if (change.kind === "replaced") return [];
  return [`${change.key} ${doubt}.`];
}

function startText(change: MachineChange["containers"][number]): string {
  const { key, kind, steps, startsOnRequest, startsByRequest } = change;
  const isNew = kind !== "replaced";
  if (startsOnRequest === undefined)
    return isNew
      ? `${key} answers after ${stepsWithSources(steps)}.`
      : `The time without ${key}: ${partsWithSources(steps)}.`;
  if (isNew && startsByRequest)
    return `${key} starts when a request names its model: \`up\` makes it and never starts it. ${PROVE}`;
  const start = `\`serving start ${key}\``;
  return isNew
    ? `${key} starts on request: it is made and not started (${start}).`
    : `${key} starts on request: if it runs, it is stopped, and the new one isn't started (${start}).`;
}

/** What changes of the memory, and of KV caches. */
export const memorySections = (changes: readonly MachineChange[]): Section[] =>
  changes.flatMap(({ machine, memory: { before, after }, kv, starts }): Section[] => {
    const lines = [
      ...changed("Taken", sumText(before), sumText(after)),
      ...changedLines(before, after),
      ...Object.entries(kv).flatMap(([key, { before, after }]) =>
        changed(
          `KV cache of ${key}`,
          kvLine(before, starts[key]?.before),
          kvLine(after, starts[key]?.after),
        ),
      ),
    ];
    return lines.length === 0 ? [] : [{ title: `Memory of ${machine}`, isFolded: true, lines }];
  });

const changed = (what: string, old: string, now: string): string[] =>
  old === now ? [] : [`${what}: ${old} -> ${now}.`];

type Figures = NonNullable<MachineChange["memory"]["after"]>;
type Kv = MachineChange["kv"][string]["after"];

const sumText = (figures: Figures | null): string =>
  figures === null
    ? "nothing"
    : `${figures.sumGiB.toFixed(2)} of ${figures.totalGiB.toFixed(2)} GiB`;

function changedLines(before: Figures | null, after: Figures | null): string[] {
  if (before === null || after === null) return [];
  const text = (figures: Figures, name: string) => {
    const gib = figures.lines[name]?.gib;
    return gib === undefined ? "nothing" : `${gib.toFixed(2)} GiB`;
  };
  return [...new Set([...Object.keys(after.lines), ...Object.keys(before.lines)])].flatMap((name) =>
    changed(name, text(before, name), text(after, name)),
  );
}

function kvLine(kv: Kv, start: Parameters<typeof doubtText>[0]): string {
  const doubt = doubtText(start);
  const said = doubt === undefined ? "" : `, ${doubt.toUpperCase()}`;
  if (kv === null) return `not known${said}`;
  const { room, fullWindows, maxModelLen } = kv;
  return `${gibRange(room)}, ${timesRange(fullWindows.least, fullWindows.most)} windows of ${maxModelLen} tokens${said}`;
}
