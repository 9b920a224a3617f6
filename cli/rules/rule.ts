import * as z from "zod";
import type { LogReading } from "../sees/log/scanLog";
import type { Sign } from "../sees/log/sign";
import type { Edit } from "../stackEdit/applyEdits";
import { type Picture, type Server, type Sighting, seen, serverOf } from "./picture";
import type { ServerSeen } from "./serverSeen";

const text = z.string();

/** What is known of a rule, whatever it judges by. */
export const aboutRule = z.strictObject({
  /** Kebab-case; scripts rely on it. */
  id: text,
  /** Row of the specification, the upstream issue, or the server that it was seen with. */
  source: text,
  /**
   * What reports it before anything starts: a policy, a warning of the plan, the preflight of `up`.
   */
  caughtBy: text.optional(),
  /** Ids of rules that hold because of this trouble: beside it they are not reported. */
  explains: z.array(text).default([]),
  /**
   * What is special about it:
   * - `aside`: it doesn't explain why a server fails, so unknown trouble beside it is still reported.
   * - `vague`: it only says where to look, and isn't reported beside one that says why.
   * - `harmless`: it explains what only looks like trouble, is reported alone and isn't counted.
   * - `fallback`: it only says what no rule before it explains, and is shown before those.
   * - `version`: it says that another program or release runs than one that may. It is shown before all
   *   others, which are reported beside it: what a release that may not run says is no proof of its cause.
   */
  is: z.enum(["aside", "vague", "harmless", "fallback", "version"]).optional(),
});

/** One kind of trouble, and how it is told from what was seen. */
type Rule = z.infer<typeof aboutRule> & { readonly explain: Explain };

/**
 * Pure: the same picture gives the same explanations; none where this is not the trouble. `before`
 * has the rules that hold of those before it.
 */
export type Explain = (picture: Picture, before: readonly Held[]) => readonly Explanation[];

/** A rule that holds, and what it says here. */
export interface Held {
  readonly rule: Rule;
  readonly explanation: Explanation;
}

/** Whether it looks like trouble and is none. */
export const isHarmless = ({ rule, explanation }: Held): boolean =>
  rule.is === "harmless" || explanation.harmless === true;

/** Those that say why something doesn't work, and not only why probes failed. */
export const explaining = (held: readonly Held[]): Held[] =>
  held.filter(
    ({ rule, explanation: { harmless, probes } }) =>
      rule.is === undefined && harmless !== true && probes === undefined,
  );

/** A rule whose code weighs what was seen. */
export interface WeighingRule {
  readonly id: string;
  /** `undefined` where this is not the trouble. */
  explain(picture: Picture, before: readonly Held[]): Explanation | undefined;
}

/** What a rule says of this machine. */
export interface Explanation {
  readonly cause: string;
  /** The line, or the value that was read, that shows it. */
  readonly evidence: string;
  /** Changes of the stack file that fix it. */
  readonly edits?: readonly Edit[] | undefined;
  /** What fixes it if the stack file can't, or what else to know about the change. */
  readonly advice?: string | undefined;
  /** What to run next; by default what applies the changed stack file. */
  readonly command?: string | undefined;
  /** What to do where the plan refuses the changes. */
  readonly otherwise?: { readonly advice: string; readonly command: string };
  /** The line of a log that it was told by. */
  readonly hit?: Sighting;
  /** That line tells why a start failed. */
  readonly failsStart?: boolean;
  /** It looks like trouble and is none, as things are here. */
  readonly harmless?: boolean;
  /** What was probed, as results name it, or the container whose log tells it. */
  readonly target?: string | undefined;
  /** The failed probes that it explains, in the order of the run. */
  readonly probes?: readonly string[];
}

/** An explanation whose evidence is what told it, unless it says otherwise. */
export type Words = Omit<Explanation, "evidence"> & Partial<Pick<Explanation, "evidence">>;

/** A line that shows a sign, the server that wrote it, and everything else that was seen. */
export type Told = { readonly hit: Sighting; readonly server: Server; readonly picture: Picture };

/** A rule that one line gives: its words are made of that line. */
export interface Row {
  readonly id: string;
  /** The signs that give it; the first that was seen counts. */
  readonly when: Sign | readonly Sign[];
  /** Where the line means something else. */
  unless?(told: Told): boolean;
  say(told: Told): Words | undefined;
}

/**
 * A rule over what was asked of a server; `failed` has the probes that nothing explains yet, and
 * what is found names all that it would explain.
 */
export interface OfServer {
  readonly id: string;
  find(seen: ServerSeen): FoundOfServer | readonly FoundOfServer[] | undefined;
}

/** What a rule finds in what was asked of a server, with the failed probes that it explains. */
export type FoundOfServer = Words & Required<Pick<Explanation, "probes">>;

/** Applies a changed stack file, once the plan has been read. */
export const APPLY = "serving plan && serving up";

/** Shows what the plan says of the stack file as it is. */
export const LOOK = "serving plan";

/** Shows the links between machines and their RDMA devices. */
export const SEE_THE_LINK =
  "ip -brief address; grep -H . /sys/class/infiniband/*/ports/1/state /sys/class/infiniband/*/ports/1/gids/[0-7]";

/** The plan's own file never has such a fault, so what runs is another one. */
export const NOT_OUR_FILE =
  "No setting to change: the file that the plan writes has no such entry, so the bridge runs with another file or an older one. Apply the plan and restart the bridge.";

/** What to write in the stack file, as the beginning of a sentence. */
export const toWrite = (...lines: readonly string[]): string =>
  `Write ${lines.map((line) => `\`${line}\``).join(" and ")} in the stack file, then \`serving up\``;

/** Explains by one log: the first of the wanted ones that gives an explanation. */
export const ofSomeLog =
  (
    explain: (picture: Picture, log: LogReading) => Explanation | undefined,
    isWanted: (picture: Picture, log: LogReading) => boolean = () => true,
  ) =>
  (picture: Picture): Explanation | undefined =>
    picture.logs
      .filter((log) => isWanted(picture, log))
      .map((log) => explain(picture, log))
      .find((each) => each !== undefined);

/** A rule in the one form that all are asked in. */
export function weighed(rule: WeighingRule | Row | OfServer): Explain {
  if ("find" in rule) return toldByRequests(rule);
  const { explain } = "when" in rule ? toldByALine(rule) : rule;
  return (picture, before) => [explain(picture, before) ?? []].flat();
}

const toldByALine = (row: Row): Pick<WeighingRule, "explain"> => ({
  explain(picture) {
    const hit = seen(picture, ...[row.when].flat());
    if (hit === undefined) return undefined;
    const told = { hit, server: serverOf(picture, hit.log), picture };
    if (row.unless?.(told) === true) return undefined;
    const words = row.say(told);
    if (words === undefined) return undefined;
    const failsStart = [row.when].flat().some(({ when }) => when === "start");
    const { container: target } = hit.log;
    return { ...words, evidence: words.evidence ?? hit.line, target, hit, failsStart };
  },
});

const toldByRequests =
  ({ id, find }: OfServer): Explain =>
  ({ server, probes = [] }, before) => {
    const evidenceOf = (name = "") =>
      `probe ${name}: ${probes.find((each) => each.name === name)?.detail ?? "failed"}`;
    if (server === undefined) {
      const own = probes.filter(({ status, cause }) => status === "fail" && cause === id);
      return own.flatMap(({ name, target, why }) => {
        const explained = own.filter((each) => each.target === target).map((each) => each.name);
        return why ? { ...why, evidence: evidenceOf(name), target, probes: explained } : [];
      });
    }
    const explained = before.flatMap(({ explanation }) => explanation.probes ?? []);
    const failed = server.failed.filter((name) => !explained.includes(name));
    return [find({ ...server, failed }) ?? []]
      .flat()
      .filter((found) => found.probes.length > 0)
      .map((found) => ({
        evidence: evidenceOf(found.probes[0]),
        ...found,
        target: server.declared.name,
      }));
  };
