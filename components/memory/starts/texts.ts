import { outcomeOf } from "./figures";
import { authorsOf, isLike, type Weighed, type WeighedStart } from "./weigh";

const AT = { exact: "", most: "at most ", least: "at least " } as const;

/** A start in a line: who published it, what was charged, and in what it differs. */
export function startText({ model, start, charge, besideGiB, differs }: WeighedStart): string {
  const beside = besideGiB === undefined ? "" : `, ${besideGiB.toFixed(2)} beside the weights`;
  const failed = outcomeOf(start) === "started" ? "" : ", failed";
  const other = differs.length === 0 ? "" : ` (${differs.join(", ")})`;
  return `${start.source}: ${AT[charge.is]}${charge.gib.toFixed(2)} GiB outside the cache of ${model}${beside}${failed}${other}`;
}

/** The same in short: what lay beside the weights or, where these aren't known, outside the cache. */
export const besideText = ({ charge, besideGiB }: WeighedStart): string =>
  besideGiB === undefined
    ? `${charge.gib.toFixed(2)} GiB outside its cache`
    : `${besideGiB.toFixed(2)} GiB beside its weights`;

const BASIS = {
  like: "what its like took",
  class: "what models of its class took",
  device: "what models on such a device took",
  any: "what any model took",
} as const;

/** What a range rests on, in a line: whose starts, how many, by how many authors. */
export function basisText({ basis, own, others, outliers }: Weighed, weightsText: string): string {
  const like = own.filter(isLike);
  const counted = basis === "like" ? like : others;
  const starts =
    counted.length === 0
      ? ""
      : ` (starts: ${counted.length}, published by: ${authorsOf(counted).size})`;
  const unlike = own.filter((each) => !isLike(each) && !outliers.includes(each));
  const wider =
    basis === "like" || unlike.length === 0
      ? ""
      : `, widened by ${unlike.length} of this model under other conditions`;
  const without =
    outliers.length === 0 ? "" : `, without ${outliers.length} that one of them alone saw`;
  return `${weightsText}${BASIS[basis]}${starts}${wider}${without}`;
}

/** The starts that a range rests on, and those that don't count as the server's own, a line each. */
export function listedStarts({ basis, own, others, outliers }: Weighed): {
  readonly rests: string[];
  readonly others: string[];
} {
  const rests = basis === "like" ? own.filter(isLike) : others;
  const unlike = own.filter((each) => !isLike(each));
  const apart = [...unlike, ...outliers].filter((each) => !rests.includes(each));
  return { rests: rests.map(startText), others: [...new Set(apart)].map(startText) };
}
