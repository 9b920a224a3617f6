import { hanging, type Width } from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { counted } from "@local-serving/base/faults/quoting";
import type { MachinePlan, Plan } from "../../../components/plan";
import { declaredResources } from "../../../components/program/machine";
import type { Judged } from "../../../policies/judge";
import { cutTo, headline, sentences } from "./headline";

type Warnings = Plan["warnings"];

/** What is said of a plan, by how much it weighs. */
export interface Findings {
  readonly refused: readonly Judged[];
  /** What policies warn of, with the machine that declares what they speak of. */
  readonly warned: readonly { readonly machine: string | undefined; readonly message: string }[];
  /** What the plan itself warns of. */
  readonly warnings: Warnings;
  /** Of both. */
  readonly notes: Warnings;
}

/** Sorts what a plan and policies say; `typed` is for the commands in it. */
export function findingsOf(
  { machines, warnings }: Plan,
  policies: readonly Judged[],
  typed: (text: string) => string,
): Findings {
  const judged = policies.map((each) => ({ ...each, message: typed(each.message) }));
  const said = warnings.map((each) => ({ ...each, message: typed(each.message) }));
  const owner = ownersOf(machines);
  return {
    refused: judged.filter(({ verdict, saidBy }) => verdict === "refused" && saidBy === undefined),
    warned: judged
      .filter(({ verdict, note }) => verdict === "warned" && note !== true)
      .map(({ resource, message }) => ({ machine: owner.get(resource), message })),
    warnings: said.filter(({ note }) => note !== true),
    notes: [
      ...said.filter(({ note }) => note === true),
      ...judged.flatMap(({ resource, name: code, message, note }) => {
        const machine = owner.get(resource) ?? resource;
        return note === true ? [{ machine, code, message, note }] : [];
      }),
    ],
  };
}

/** How many warnings and notes there are, as the end of a sentence. */
export const countsText = ({ warned, warnings, notes }: Findings, hint = ""): string =>
  `${counted(warned.length + warnings.length, "warning")}, ${counted(notes.length, "note")}${notes.length === 0 ? "" : hint}.`;

/** A refusal in short: what is wrong, and what to write or do, in which line. */
export interface Refusal {
  readonly wrong: string;
  readonly advice: string;
}

/** Refusals in short. Several about one line of the stack file advise once. */
export function refusalsOf(refused: readonly Judged[]): Refusal[] {
  const all = refused.map((each) => ({ wrong: headline(each.message), advice: adviceOf(each) }));
  return all.map(({ wrong, advice }, at) => ({
    wrong,
    advice: all.slice(at + 1).some((other) => other.advice === advice) ? "" : advice,
  }));
}

/** What mends a refusal: the line to write, or else what its message says next, and the place. */
function adviceOf({ message, path, line, value }: Judged): string {
  const at = line === undefined ? "" : ` in line ${line}`;
  if (path !== undefined && value !== undefined)
    return `Write \`${path.split(".").at(-1)}: ${value}\`${at} (\`${path}\`).`;
  const next = sentences(message)
    .slice(1)
    .filter((sentence) => path === undefined || !sentence.includes(`\`${path}`));
  const place = path === undefined ? [] : [`It stands${at} (\`${path}\`).`];
  return [...next.slice(0, 1), ...place].join(" ");
}

/** Refusals as lines of a screen. */
export const refusalLines = (refused: readonly Judged[], width: Width): string[] =>
  refusalsOf(refused).flatMap(({ wrong, advice }) => [
    hanging(`  ${styled("red", "x")} ${wrong}`, 4, width),
    ...(advice === "" ? [] : [`    ${hanging(advice, 4, width)}`]),
  ]);

/** The machine that declares each resource, the first where several do. */
const ownersOf = (machines: readonly MachinePlan[]): ReadonlyMap<string, string> =>
  new Map(
    machines
      .toReversed()
      .flatMap((machine) =>
        declaredResources({ machines: [machine], warnings: [] }).map(
          ({ name }) => [name, machine.name] as const,
        ),
      ),
  );

/** Each warning in one line; whole where it asks. The machine is named where there are several. */
export function warningLines(
  { warnings, warned }: Findings,
  machines: readonly MachinePlan[],
  { width, asks }: { readonly width: Width; readonly asks: boolean },
): string[] {
  return [...warnings, ...warned].map(({ machine, message }) => {
    const named = machines.length > 1 && machine !== undefined ? `${machine}: ` : "";
    const said = `${named}${headline(message)}`;
    return `  ${styled("yellow", "!")} ${asks ? hanging(said, 4, width) : cutTo(said, width - 4)}`;
  });
}
