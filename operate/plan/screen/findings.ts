import { hanging, type Width } from "../../../commandLine/layout";
import { styled } from "../../../commandLine/output";
import type { MachinePlan, Plan } from "../../../components/plan";
import { counted } from "../../../faults/quoting";
import type { Judged } from "../../../policies/judge";
import { cutTo, headline, sentences } from "./headline";

type Warnings = Plan["warnings"];

/** What is said of a plan, by how much it weighs. */
export interface Findings {
  readonly refused: readonly Judged[];
  /** What policies warn of, and the plan itself. */
  readonly warned: readonly Judged[];
  readonly warnings: Warnings;
  /** Of both. */
  readonly notes: Warnings;
}

/** Sorts what a plan and policies say; `typed` is for the commands in it. */
export function findingsOf(
  { warnings }: Pick<Plan, "warnings">,
  policies: readonly Judged[],
  typed: (text: string) => string,
): Findings {
  const judged = policies.map((each) => ({ ...each, message: typed(each.message) }));
  const said = warnings.map((each) => ({ ...each, message: typed(each.message) }));
  return {
    refused: judged.filter(({ verdict }) => verdict === "refused"),
    warned: judged.filter(({ verdict, note }) => verdict === "warned" && note !== true),
    warnings: said.filter(({ note }) => note !== true),
    notes: [
      ...said.filter(({ note }) => note === true),
      ...judged.flatMap(({ resource: machine, name: code, message, note }) =>
        note === true ? [{ machine, code, message, note }] : [],
      ),
    ],
  };
}

/** How many warnings and notes there are, as the end of a sentence. */
export const countsText = ({ warned, warnings, notes }: Findings, hint = ""): string =>
  `${counted(warned.length + warnings.length, "warning")}, ${counted(notes.length, "note")}${notes.length === 0 ? "" : hint}.`;

/** Refusals: what is wrong, and what to write where. Several about one line are told together. */
export function refusalLines(refused: readonly Judged[], width: Width): string[] {
  return refused.flatMap((each, index) => {
    const [wrong = "", ...rest] = sentences(each.message);
    const place = placeText(each);
    const isTold = refused.slice(index + 1).some((other) => placeText(other) === place);
    const advice = place === undefined ? rest.slice(0, 1) : isTold ? [] : [place];
    return [wrong, ...advice].map((line, at) =>
      hanging(at === 0 ? `  ${styled("red", "x")} ${line}` : `    ${line}`, 4, width),
    );
  });
}

/** What to write in which line, where one setting mends it. */
function placeText({ path, line, value }: Judged): string | undefined {
  if (path === undefined || value === undefined) return undefined;
  const key = path.split(".").at(-1);
  return `Write \`${key}: ${value}\`${line === undefined ? "" : ` in line ${line}`} (\`${path}\`).`;
}

/** Each warning in one line. The machine is named where there are several. */
export function warningLines(
  { warnings, warned }: Findings,
  machines: readonly MachinePlan[],
  width: Width,
): string[] {
  const plans = warnings.map(({ machine, message }) =>
    machines.length > 1 ? `${machine}: ${headline(message)}` : headline(message),
  );
  return [...plans, ...warned.map(({ message }) => headline(message))].map(
    (text) => `  ${styled("yellow", "!")} ${cutTo(text, width - 4)}`,
  );
}
