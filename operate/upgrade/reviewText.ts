import { isUnchanged, type MachineChange } from "../../components/change";
import { SERVICES } from "../../components/services";
import { packageOf } from "../pin/judgeImage";
import type { ImageReading } from "../pin/readImage";
import type { ImageEntry } from "../pin/writePin";
import { changeSections, memorySections, type Section, section } from "../plan/changeReport";
import { engineLines } from "./engineChanges";
import { isServer, taggedVllm, transformersRanges, vllmsOf } from "./inside";
import type { Newest } from "./newest";
import type { Review, Upgraded } from "./review";

/** What was found inside an image, or what is assumed before anybody looked. */
export interface Inside {
  readonly reading: ImageReading;
  readonly isRead: boolean;
}

/** What people read of an image that is newer: one page. */
export function reviewSections(upgraded: Upgraded, inside: Inside, review: Review): Section[] {
  const { entry } = upgraded;
  const { machine } = entry;
  const { change, applied, engine, reasons, refused } = review;
  const findings = [
    ...change.findings.new.map(({ text }) => `New: ${text}`),
    ...change.findings.gone.map(({ text }) => `Gone: ${text}`),
  ];
  const isConcerned = (each: MachineChange) => each.machine === machine || !isUnchanged(each);
  return [
    {
      title: "What is inside",
      lines: [...(isServer(entry) ? insideLines(entry, inside) : serviceLines(entry)), ...reasons],
    },
    ...(engine === null
      ? []
      : [
          {
            title: `What vLLM ${engine.version} makes of its arguments`,
            lines: engineLines(engine),
          },
        ]),
    ...(applied === null ? [NOTHING_APPLIED] : []),
    ...changeSections((applied ?? change.machines).filter(isConcerned)),
    ...(engine === null ? [] : memorySections(change.machines.filter(isConcerned))),
    section("Findings on the changed stack file", findings, "None is new, and none is gone."),
    ...(refused.length === 0 ? [] : [{ title: "Refused", lines: refused }]),
  ];
}

const NOTHING_APPLIED: Section = {
  title: "Nothing is applied yet",
  lines: ["What follows compares with the stack file as it is."],
};

/** The releases at the head of a page. */
export const headLines = ({ image, newImage, denied }: Newest): string[] => [
  `It runs \`${image}\`. The newest release that may run is \`${newImage}\`.`,
  ...deniedLines(denied),
];

/** Releases that are newer and must not be taken. */
export const deniedLines = (denied: Newest["denied"]): string[] =>
  denied.map(({ version, why }) => `${version} is newer and refused: ${why}`);

function insideLines(entry: ImageEntry, { reading, isRead }: Inside): string[] {
  const { vllm = "no vllm", transformers = "none" } = reading.versions;
  const { before, after } = vllmsOf(entry, reading);
  const ranges = transformersRanges(entry, reading);
  const range = (version: string, asked: string | null) =>
    asked === null
      ? `what vLLM ${version} asks for is not known`
      : `vLLM ${version} asks for ${asked}`;
  const read = `Read inside it: vllm ${vllm}, transformers ${transformers}.`;
  const told =
    taggedVllm(reading.image) === undefined
      ? `its tag doesn't tell its vLLM, so that of today is assumed (${vllm}), and transformers ${transformers}`
      : `vllm ${vllm} is taken from its tag, and transformers ${transformers} is assumed`;
  const assumed = `The image has not been read: ${told}. \`--write\` pulls the image and reads both.`;
  return [
    isRead ? read : assumed,
    `Transformers: ${range(after, ranges.after)}; ${range(before, ranges.before)}.`,
  ];
}

function serviceLines(entry: ImageEntry): string[] {
  const { title = "It", name } = SERVICES.find(({ key }) => key === entry.path[0]) ?? {};
  const { lowest = "0" } = packageOf(entry) ?? {};
  return [
    lowest === "0"
      ? `The supply list has no lowest release of ${title}.`
      : `The lowest release of ${title} that may run is ${lowest}, by the supply list.`,
    ...(name === "chat-ui" ? [DATA_ARE_COPIED] : []),
  ];
}

const DATA_ARE_COPIED =
  "Its data are copied before its image changes: Open WebUI migrates its database one way.";
