import { hundredths } from "@local-serving/base/units/memory";
import { gpusOf } from "../../planned";
import type { ModelStarts, SeenStart } from "../../planned/schema";
import { type Charge, chargeOf, heldBeside, loadedWeights } from "./figures";
import { type AskedServer, differencesFrom } from "./likeness";

/**
 * What servers took beside weights and KV cache, in GiB, where nothing nearer is known: 75 GB of
 * weights at 0.72 left 14.79 GiB (2.9 GiB beside them); 22 GB at 0.4 left -1.75 GiB (29.9 GiB beside
 * them). Both are one owner's, on a DGX Spark, 2026-08-27.
 */
export const BESIDE_WEIGHTS_GIB = { low: 2.9, high: 29.9 } as const;

/** So many authors are needed before the starts of other models stand for a server's. */
const INDEPENDENT = 3;

/** A range of GiB. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/** A start that says what vLLM charged. */
export interface WeighedStart {
  readonly model: string;
  readonly class: ModelStarts["class"];
  readonly start: SeenStart;
  readonly charge: Charge;
  /** The same without the weights, where their size is known. */
  readonly besideGiB: number | undefined;
  /** In what it differs from the server; empty for its like. */
  readonly differs: readonly string[];
}

/** What is known of starts. */
export interface KnownStarts {
  /** The server's model, and its starts. */
  readonly own: ModelStarts;
  readonly others: readonly ModelStarts[];
  /** What one request of an own start's window takes in the model's KV cache, in GiB. */
  readonly windowGiB: (start: SeenStart) => number | undefined;
}

/** Whose starts an estimate is from: the server's like's, its class's, its device's, or any. */
export type Basis = "like" | "class" | "device" | "any";

/** What starts say of the memory that a server needs outside its KV cache, in GiB of one GPU. */
export interface Weighed {
  /** What vLLM's profile charges; it sizes the cache under a share. */
  readonly chargedGiB: Range;
  /** The most that its like was seen to hold while it served; a cache in bytes needs that. */
  readonly takenGiB: number | undefined;
  readonly basis: Basis;
  /** The least that any start of any model took beside its weights. */
  readonly leastBesideGiB: number;
  /** The most that any start took, outliers included, and whose figure that is. */
  readonly most: { readonly gib: number; readonly of?: WeighedStart };
  /** The starts of the server's own model that say what was charged. */
  readonly own: readonly WeighedStart[];
  /** Those of others that the range rests on. */
  readonly others: readonly WeighedStart[];
  /** Those that would set an end alone, against all others of their class. */
  readonly outliers: readonly WeighedStart[];
}

/** Weighs the starts that are known for a server. Unknown weights may take the whole machine. */
export function weigh(asked: AskedServer, known: KnownStarts): Weighed {
  const chargesOf = chargesFor(asked);
  const all = [known.own, ...known.others].flatMap((model) =>
    chargesOf(model, model === known.own ? known.windowGiB : () => undefined),
  );
  // Of another number of GPUs, each has another part of the weights.
  const own = all.filter(
    ({ model, start }) => model === known.own.model && gpusOf(start) === asked.gpus,
  );
  const like = own.filter(isLike);
  const sound = all.filter(isSound);
  const { besideGiB, ...base } = basisOf(asked, sound);
  const unlike = own.filter((each) => !isLike(each) && !base.outliers.includes(each));
  const { weightsGiB, totalGiB } = asked;
  const { low, high } = besideGiB;
  const wide = hull(
    { low: low + (weightsGiB ?? 0), high: high + (weightsGiB ?? totalGiB) },
    unlike,
  );
  const found = ownRange(like, wide);
  const range = found ?? hull(wide, like);
  return {
    ...base,
    own,
    leastBesideGiB: Math.min(BESIDE_WEIGHTS_GIB.low, ...besides(sound, "low")),
    chargedGiB: range,
    most: mostOf(
      range.high,
      found === undefined ? [...charged(own), ...besideWeights(asked, sound)] : charged(like),
    ),
    takenGiB: takenOf(asked, known.own.starts),
    ...(found === undefined ? {} : { basis: "like", others: [], outliers: [] }),
  };
}

/** A figure that a start could have had, and the start that says so. */
interface Possible {
  readonly gib: number;
  readonly of: WeighedStart;
}

/** What starts of the same model charged. One with a larger batch says nothing of so much. */
const charged = (own: readonly WeighedStart[]): Possible[] =>
  own.flatMap((of) => (of.charge.is === "most" ? [] : [{ gib: of.charge.gib, of }]));

/** What a server would be charged that takes as much beside its weights as others on such memory. */
const besideWeights = (
  { weightsGiB = 0, memory }: AskedServer,
  sound: readonly WeighedStart[],
): Possible[] =>
  sound.flatMap((of) =>
    of.start.memory === memory && of.charge.is !== "most"
      ? [{ gib: hundredths(weightsGiB + (of.besideGiB ?? 0)), of }]
      : [],
  );

/** The largest of some figures, or of the range where none is larger. */
const mostOf = (high: number, some: readonly Possible[]): Weighed["most"] =>
  some.reduce<Weighed["most"]>((most, each) => (each.gib > most.gib ? each : most), { gib: high });

/** Whether a start differs in nothing from the server. */
export const isLike = ({ differs }: WeighedStart): boolean => differs.length === 0;

/** Returns a function that finds the starts of a model that say what was charged. */
const chargesFor = (asked: AskedServer) => {
  const differencesOf = differencesFrom(asked);
  return (model: ModelStarts, windowGiB: KnownStarts["windowGiB"]): WeighedStart[] =>
    model.starts.flatMap((start) => {
      const charge = chargeOf(start, asked.maxNumBatchedTokens, windowGiB(start));
      if (charge === undefined) return [];
      const weights = loadedWeights(model, start);
      const besideGiB = weights === undefined ? undefined : hundredths(charge.gib - weights);
      const differs = differencesOf(start);
      return [{ model: model.model, class: model.class, start, charge, besideGiB, differs }];
    });
};

/**
 * The range of a server's like: of starts with its batch, else up to what a larger batch took. The
 * end that these leave open is that of the wide range.
 */
function ownRange(like: readonly WeighedStart[], wide: Range): Range | undefined {
  const exact = gibOf(like, "exact");
  if (exact.length > 0) return { low: Math.min(...exact), high: Math.max(...exact) };
  const most = gibOf(like, "most");
  if (most.length === 0) return undefined;
  const high = Math.min(...most);
  return { low: Math.min(wide.low, high), high };
}

const gibOf = (some: readonly WeighedStart[], is: Charge["is"]): number[] =>
  some.flatMap(({ charge }) => (charge.is === is ? [charge.gib] : []));

/**
 * A range that also holds what some starts charged. A larger batch moves the high end alone, a
 * smaller one the low end; a failure without a figure says that so much was too little.
 */
function hull({ low, high }: Range, starts: readonly WeighedStart[]): Range {
  const ends = starts.map(
    ({ charge: { gib, is, isSeen } }): Range => ({
      low: isSeen && is !== "most" ? gib : low,
      high: isSeen ? (is === "least" ? high : gib) : is === "least" ? gib : high,
    }),
  );
  return {
    low: Math.min(low, ...ends.map((each) => each.low)),
    high: Math.max(high, ...ends.map((each) => each.high)),
  };
}

/** The range beside the weights by the nearest starts of which there are enough, and its outliers. */
interface Base extends Pick<Weighed, "basis" | "others" | "outliers"> {
  readonly besideGiB: Range;
}

function basisOf(asked: AskedServer, sound: readonly WeighedStart[]): Base {
  const near = sound.filter(({ start }) => start.memory === asked.memory);
  const ofClass = near.filter(
    ({ class: its, start: { draftTokens: drafts } }) =>
      its !== null && its === asked.class && drafts !== null && drafts > 0 === asked.drafts,
  );
  const ofDevice = near.filter(({ start }) => start.device === asked.device);
  const pools = [
    ["class", ofClass],
    ["device", ofDevice],
  ] as const;
  const enough = pools.find(([, some]) => authorsOf(some).size >= INDEPENDENT);
  // Page cache and compilers only add to what such a machine's memory was seen to hold at least.
  const low = Math.min(BESIDE_WEIGHTS_GIB.low, ...besides(near, "low"));
  if (enough === undefined) {
    const high = Math.max(BESIDE_WEIGHTS_GIB.high, ...besides(near, "high"));
    return { basis: "any", others: near, outliers: [], besideGiB: { low, high } };
  }
  const [basis, others] = enough;
  const outliers = outliersOf(others);
  const counted = others.filter((each) => !outliers.includes(each));
  const highs = besides(counted, "high");
  const high = highs.length === 0 ? BESIDE_WEIGHTS_GIB.high : Math.max(...highs);
  return { basis, others: counted, outliers, besideGiB: { low, high } };
}

/**
 * Whether a start tells what lay beside its weights. If less was charged than these take, another
 * program freed memory while vLLM measured.
 */
const isSound = ({ besideGiB = -1, charge }: WeighedStart): boolean =>
  besideGiB >= 0 && charge.isSeen;

const authorOf = ({ author, source }: SeenStart): string => author ?? source;

/** Who published some starts; one without an author stands for its own. */
export const authorsOf = (some: readonly WeighedStart[]): ReadonlySet<string> =>
  new Set(some.map(({ start }) => authorOf(start)));

/** What starts say of an end of the range beside the weights; a bound speaks of one end alone. */
const besides = (some: readonly WeighedStart[], end: keyof Range): number[] =>
  some.flatMap(({ besideGiB, charge: { is } }) =>
    besideGiB === undefined || is === (end === "low" ? "most" : "least") ? [] : [besideGiB],
  );

/** One author's figure is far from all others if it is further away than this part of their span. */
const FAR = 0.5;

/** The starts of one author that alone set the high end, and that so many others contradict. */
function outliersOf(some: readonly WeighedStart[]): WeighedStart[] {
  const highs = some.filter(({ charge }) => charge.is !== "least");
  const [most] = [...highs].sort((a, b) => (b.besideGiB ?? 0) - (a.besideGiB ?? 0));
  if (most === undefined) return [];
  const others = some.filter(({ start }) => authorOf(start) !== authorOf(most.start));
  const gib = besides(others, "high");
  const [least, largest] = [Math.min(...gib), Math.max(...gib)];
  const isFar = ({ besideGiB = 0 }: WeighedStart) => besideGiB - largest > FAR * (largest - least);
  return authorsOf(others).size < INDEPENDENT
    ? []
    : highs.filter((each) => !others.includes(each) && isFar(each));
}

/**
 * The most that a server's like was seen to hold while it served. A smaller batch than the server's
 * took less, so it doesn't count.
 */
function takenOf(asked: AskedServer, starts: readonly SeenStart[]): number | undefined {
  const differencesOf = differencesFrom(asked);
  const seen = starts.flatMap((start) => {
    const { maxNumBatchedTokens: batch } = start;
    const isLarge = batch !== null && batch >= asked.maxNumBatchedTokens;
    const counts = isLarge && gpusOf(start) === asked.gpus && differencesOf(start).length === 0;
    return counts ? (heldBeside(start) ?? []) : [];
  });
  return seen.length === 0 ? undefined : Math.max(...seen);
}
