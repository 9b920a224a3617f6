import { styled } from "../../../commandLine/output";
import {
  isUnchanged,
  lossInShort,
  type MachineChange,
  startsInShort,
} from "../../../components/change";
import type { MachinePlan } from "../../../components/plan";
import { counted } from "../../../faults/quoting";
import { BYTES_PER_GB, gb } from "../../../units/memory";
import { instanceALines } from "../changeReport";
import type { ServerEngineChanges } from "../engineChanges";
import { engineHead } from "../imageChanges";
import { headline } from "./headline";
import type { Row } from "./rows";

/** Something that isn't on a machine yet. */
interface Missing {
  /** Absent where nobody says its size. */
  readonly bytes?: number;
}

/** What a machine lacks of its plan, as far as that was looked at there. */
export interface Downloads {
  readonly images: readonly Missing[];
  readonly models: readonly Missing[];
  readonly program?: Missing;
  readonly disks: readonly {
    readonly paths: readonly string[];
    readonly freeBytes: number;
    readonly neededBytes: number;
  }[];
}

/** What an update changes, where something was applied before; `unread`: why that isn't known. */
export type Applied =
  | { readonly is: "nothing" }
  | { readonly is: "unread"; readonly why: readonly string[] }
  | {
      readonly is: "plans";
      readonly changes: readonly MachineChange[];
      readonly engine: readonly ServerEngineChanges[];
    };

/** What an update does to a machine: all of it at the first time, then what changes. */
export function updateRows(
  machine: MachinePlan,
  { applied, downloads }: { readonly applied?: Applied; readonly downloads?: Downloads },
): Row[] {
  if (applied?.is === "unread") return [{ label: "up", texts: applied.why }];
  const change = applied?.is === "plans" && appliedChange(machine, applied);
  if (change) return [{ label: "up", texts: changeTexts(change, downloads), cuts: true }];
  const starts = startsInShort([machine]).map(({ text }) => text);
  const texts = [missingText(downloads ?? neededBy(machine)), ...starts];
  return [{ label: "first up", texts: [texts.join("; ")] }];
}

/** How a machine changes that something was applied on before. */
function appliedChange(
  { name }: MachinePlan,
  { changes, engine }: Extract<Applied, { is: "plans" }>,
) {
  const change = changes.find(({ machine }) => machine === name);
  if (change === undefined || change.memory.before === null) return undefined;
  return { ...change, engine: engine.filter(({ machine }) => machine === name) };
}

type Changed = NonNullable<ReturnType<typeof appliedChange>>;

/** What is replaced, for how long it is gone, and what else clients lose. */
function changeTexts(change: Changed, downloads: Downloads | undefined): string[] {
  if (isUnchanged(change)) return ["changes nothing"];
  const { losses, engine } = change;
  const missing = downloads === undefined ? [] : [missingText(downloads)];
  return [
    [...doneTexts(change), ...missing].join("; "),
    ...losses.map((loss) => headline(lossInShort(loss))),
    ...instanceALines(change),
    ...engine.flatMap(engineHead),
  ];
}

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

/** Everything that a plan loads, as if nothing were there. */
function neededBy({ inferenceServers, ranks, containers, kv }: MachinePlan): Downloads {
  const models = new Map(
    [...inferenceServers, ...ranks].flatMap(({ hubModels, container }) =>
      hubModels.map(({ id }, index) => {
        const weightsGB = index === 0 ? kv[container.name]?.weightsGB : undefined;
        return [id, weightsGB == null ? {} : { bytes: weightsGB * BYTES_PER_GB }] as const;
      }),
    ),
  );
  const images = new Set(containers.map(({ image }) => image));
  return { models: [...models.values()], images: [...images].map(() => ({})), disks: [] };
}

/** Sizes and free room of what is missing. */
function missingText({ images, models, program, disks }: Downloads): string {
  const parts = [sizeText(models, "model"), sizeText(images, "image")]
    .filter((text) => text !== "")
    .concat(program === undefined ? [] : sizeText([program], "program"));
  if (parts.length === 0) return "downloads nothing";
  const free = disks.map(({ freeBytes, neededBytes }) =>
    neededBytes > freeBytes
      ? styled("red", `${gb(neededBytes)} NEEDED, ${gb(freeBytes)} FREE`)
      : `${gb(freeBytes)} free`,
  );
  return `downloads ${parts.join(" and ")}${free.length === 0 ? "" : ` (${free.join(", ")})`}`;
}

function sizeText(missing: readonly Missing[], what: string): string {
  if (missing.length === 0) return "";
  const sizes = missing.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes]));
  const sum = gb(sizes.reduce((all, bytes) => all + bytes, 0));
  const unknown = missing.length - sizes.length;
  if (sizes.length === 0) return `${counted(unknown, what)} of unknown size`;
  const known = `${counted(sizes.length, what)} of ${sum}`;
  return unknown === 0 ? known : `${known}, ${unknown} more of unknown size`;
}
