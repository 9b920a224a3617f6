import type { DataOf } from "@local-serving/base/data/dataOf";
import type { startSchema } from "@local-serving/kv/schema";
import { outcomeOf } from "./figures";
import { besideText, startText } from "./texts";
import { isLike, type Weighed } from "./weigh";

/** Whether a server starts, and why. */
export type StartVerdict = Pick<DataOf<typeof startSchema>, "verdict" | "why">;

/** A server's memory, in GiB of one rank. */
export interface StartFigures {
  readonly totalGiB: number;
  /** Its share. */
  readonly budgetGiB: number;
  readonly weightsGiB: number | undefined;
  /** KV cache that vLLM asks for: one request of the whole window, and the blocks that it keeps free. */
  readonly windowGiB: number;
  /** The cache, where its size is fixed. */
  readonly cacheGiB?: number;
  /** What it took here outside its cache, with the day. */
  readonly measured?: { readonly gib: number; readonly at: string };
  /** What it held here outside its cache while it served. */
  readonly heldGiB?: number;
}

const gib = (amount: number): string => `${amount.toFixed(2)} GiB`;

/** Judges a start by arithmetic, by its own measurement, and by what is known of other starts. */
export function startVerdict(figures: StartFigures, weighed: Weighed): StartVerdict {
  const impossible = byArithmetic(figures, weighed);
  if (impossible !== undefined) return { verdict: "cannot start", why: impossible };
  if (figures.cacheGiB !== undefined)
    return ofFixedCache({ ...figures, cacheGiB: figures.cacheGiB }, weighed);
  if (figures.measured !== undefined)
    return { verdict: "starts", why: `started here on ${figures.measured.at}` };
  return byStarts(figures, weighed);
}

/** Why a server cannot start, whatever others saw; `undefined` where it may. */
function byArithmetic(figures: StartFigures, { leastBesideGiB }: Weighed): string | undefined {
  const { budgetGiB, cacheGiB, weightsGiB = 0, windowGiB, measured, totalGiB } = figures;
  const window = `one window ${gib(windowGiB)}`;
  if (cacheGiB !== undefined) {
    if (windowGiB > cacheGiB) return `its cache has ${gib(cacheGiB)}, and takes ${window}`;
    const least = weightsGiB + leastBesideGiB + cacheGiB;
    return least > totalGiB
      ? `weights and cache are at least ${gib(least)} of ${gib(totalGiB)}`
      : undefined;
  }
  const share = `its share has ${gib(budgetGiB)}`;
  if (measured !== undefined)
    return measured.gib + windowGiB > budgetGiB
      ? `${share}: it took ${gib(measured.gib)} outside its cache here on ${measured.at}, and takes ${window}`
      : undefined;
  if (weightsGiB > budgetGiB) return `${share}, and its weights take ${gib(weightsGiB)}`;
  const least = weightsGiB + leastBesideGiB + windowGiB;
  return weightsGiB > 0 && least > budgetGiB
    ? `${share}: its weights take ${gib(weightsGiB)}, ${window}, and no start took less than ${gib(leastBesideGiB)} beside them`
    : undefined;
}

/** The verdict on a cache of fixed size: what lies beside it must stay within the share. */
function ofFixedCache(
  { budgetGiB, cacheGiB, measured, heldGiB }: StartFigures & { readonly cacheGiB: number },
  { takenGiB, chargedGiB }: Weighed,
): StartVerdict {
  const most = heldGiB ?? takenGiB ?? measured?.gib ?? chargedGiB.high;
  const sum = `${gib(most)} outside its cache and ${gib(cacheGiB)} of cache`;
  return most + cacheGiB <= budgetGiB
    ? { verdict: "starts", why: `${sum} are within its share of ${gib(budgetGiB)}` }
    : { verdict: "may start", why: `at most ${sum} are more than its share of ${gib(budgetGiB)}` };
}

/** The verdict by what is known of starts; one log alone that contradicts it leaves it open. */
function byStarts(
  { budgetGiB, windowGiB }: StartFigures,
  { own, chargedGiB, basis, most }: Weighed,
): StartVerdict {
  const like = own.filter(isLike);
  const failed = like.filter(
    ({ start, charge }) =>
      outcomeOf(start) === "no-kv-room" &&
      charge.is !== "most" &&
      charge.gib + windowGiB > budgetGiB,
  );
  const came = like.find(({ start }) => outcomeOf(start) === "started");
  if (came === undefined && new Set(failed.map(({ start }) => start.author)).size > 1)
    return { verdict: "cannot start", why: `its like failed: ${failed.map(startText).join("; ")}` };
  const lacks = (amount: number) => amount + windowGiB > budgetGiB;
  const share = `its share of ${gib(budgetGiB)}`;
  const needs = `${rangeText(chargedGiB)} outside its cache and ${gib(windowGiB)} for one window`;
  if (lacks(chargedGiB.high))
    return { verdict: "may start", why: `${needs} may be more than ${share}` };
  if (lacks(most.gib))
    return {
      verdict: "may start",
      why:
        most.of === undefined
          ? `${needs} are within ${share}, but one log contradicts that`
          : `one published log, of ${own.includes(most.of) ? "this" : "another"} model (${most.of.model}), took ${besideText(most.of)}; then no window is left`,
    };
  return {
    verdict: "starts",
    why:
      basis === "like" && came !== undefined
        ? `its like started: ${startText(came)}`
        : `${needs} are within ${share}`,
  };
}

const rangeText = ({ low, high }: Weighed["chargedGiB"]): string =>
  low === high ? gib(low) : `${low.toFixed(2)} to ${gib(high)}`;
