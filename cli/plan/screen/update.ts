import { counted } from "@local-serving/base/faults/quoting";
import {
  isUnchanged,
  lossInShort,
  type MachineChange,
  startsInShort,
} from "../../../components/change";
import type { MachinePlan } from "../../../components/plan";
import { type Downloads, downloadsText } from "../../fetch/downloads";
import { instanceALines } from "../changeReport";
import type { ServerEngineChanges } from "../engineChanges";
import { engineHead } from "../imageChanges";
import { headline } from "./headline";
import type { Row } from "./rows";

/** What an update changes on a machine that something was applied on, or why that isn't known. */
export type Applied =
  | { readonly unread: string }
  | { readonly change: MachineChange; readonly engine: readonly ServerEngineChanges[] };

/** What is known of a machine beside its plan. */
export interface MachineView {
  /** Absent where nothing was applied, and where nobody looked. */
  readonly applied?: Applied;
  /** What it lacks of its plan. */
  readonly downloads?: Downloads;
  /** Commands that set what `up` needs of this shell and doesn't find there. */
  readonly exports?: readonly string[];
  /** The home directory of who plans, where paths begin with it. */
  readonly home?: string;
}

/** What to type before `up`: as one line it can be copied. */
export const needsRow = ({ exports = [] }: MachineView, most: number): Row[] =>
  exports.length === 0 ? [] : [{ label: "needs", texts: [exports.join("; ")], most }];

/** What an update does to a machine: all of it at the first time, then what changes. */
export function updateRows(
  machine: MachinePlan,
  { applied, downloads }: MachineView,
  most: number,
): Row[] {
  if (applied !== undefined) return [appliedRow(applied, downloads)];
  const parts = [...loadText(downloads), ...startsInShort([machine])];
  return parts.length === 0 ? [] : [{ label: "first up", texts: [parts.join("; ")], most }];
}

function appliedRow(applied: Applied, downloads: Downloads | undefined): Row {
  if ("unread" in applied) return { label: "up", texts: [applied.unread] };
  return { label: "up", texts: changeTexts(applied, downloads), cuts: true };
}

/** What is replaced, for how long it is gone, and what else clients lose. */
function changeTexts(
  { change, engine }: Exclude<Applied, { unread: string }>,
  downloads: Downloads | undefined,
): string[] {
  if (isUnchanged(change)) return ["changes nothing"];
  return [
    [...doneTexts(change), ...loadText(downloads)].join("; "),
    ...change.losses.map((loss) => headline(lossInShort(loss))),
    ...instanceALines(change),
    ...engine.flatMap(engineHead),
  ];
}

/** What is downloaded, where that was looked at. */
const loadText = (downloads: Downloads | undefined): string[] =>
  downloads === undefined ? [] : [`downloads ${downloadsText(downloads)}`];

/** What an update does, in a few words for each kind. */
function doneTexts({ containers, files, ollama }: MachineChange): string[] {
  const kinds = (["replaced", "created", "removed"] as const).flatMap((kind) => {
    const keys = containers.filter((each) => each.kind === kind).map(({ key }) => key);
    return keys.length === 0 ? [] : [`${VERBS[kind]} ${keys.join(", ")}`];
  });
  return [
    ...kinds,
    ...(files.length === 0 ? [] : [`changes ${counted(files.length, "file")}`]),
    ...(ollama === null ? [] : [OLLAMA[ollama]]),
  ];
}

const OLLAMA = { restarted: "restarts Ollama", "by-hand": "leaves Ollama's drop-in to you" };

const VERBS = { replaced: "replaces", created: "makes", removed: "removes" };
