import type { Sign } from "../sees/log/sign";
import type { Edit } from "../stackEdit/applyEdits";
import { type Facts, type Server, type Sighting, seen, serverOf } from "./facts";

/** A diagnosis whose code weighs what was read. */
export interface Weighed {
  readonly id: string;
  /** Pure: the same facts give the same explanation; `undefined` where this is not the trouble. */
  explain(facts: Facts): Explanation | undefined;
}

/** What a diagnosis says of this machine. */
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
}

/** An explanation whose evidence is the line itself, unless it says otherwise. */
export type Words = Omit<Explanation, "evidence"> & Partial<Pick<Explanation, "evidence">>;

/** A line that shows a sign, the server that wrote it, and everything else that was read. */
export type Told = { readonly hit: Sighting; readonly server: Server; readonly facts: Facts };

/** A diagnosis that one line gives: its words are data, or made of that line. */
export type Row = {
  readonly id: string;
  /** The signs that give it; the first that was seen counts. */
  readonly when: Sign | readonly Sign[];
  /** Where the line means something else. */
  unless?(told: Told): boolean;
} & (Words | { say(told: Told): Words | undefined });

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

const signs = new Map<string, readonly Sign[]>();

/** The signs that give a diagnosis. */
export const signsOf = (id: string): readonly Sign[] => signs.get(id) ?? [];

export function toldByALine(row: Row): Weighed {
  signs.set(row.id, [row.when].flat());
  return {
    id: row.id,
    explain(facts) {
      const hit = seen(facts, ...[row.when].flat());
      if (hit === undefined) return undefined;
      const told = { hit, server: serverOf(facts, hit.log), facts };
      if (row.unless?.(told) === true) return undefined;
      const words = "say" in row ? row.say(told) : row;
      if (words === undefined) return undefined;
      const failsStart = [row.when].flat().some(({ when }) => when === "start");
      return { ...words, evidence: words.evidence ?? hit.line, hit, failsStart };
    },
  };
}
