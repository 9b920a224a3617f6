import * as z from "zod";
import { secondsWithUnits } from "../units/duration";
import { BYTES_PER_GB, BYTES_PER_GIB } from "../units/memory";

/**
 * Schemas of shares, with the key of the whole, in GiB: it stands beside the share, or in a map
 * around it.
 */
export const shareOf = z.registry<{ readonly total: string }>();

/** What a key of numbers takes, as far as its schema, its name and what stands around it tell. */
export interface NumberKey {
  /** The name that says the unit: the key's, or of a map's entry the map's. */
  readonly key: string;
  readonly isWhole: boolean;
  /** Set for a share: of how many GiB, where that is known. */
  readonly share?: { readonly totalGiB?: number };
}

/** How the end of a key's name says what its number counts, in bytes or in seconds. */
const UNITS = [
  { name: /GiB$/, bytes: BYTES_PER_GIB },
  { name: /GB$/, bytes: BYTES_PER_GB },
  { name: /Bytes$/, bytes: 1 },
  { name: /Minutes$/, seconds: 60 },
  { name: /(?:Seconds|_sec(?:onds)?)$/, seconds: 1 },
] as const;

type Unit = { readonly name: RegExp; readonly bytes?: number; readonly seconds?: number };

const unitOf = (key: string): Unit | undefined => UNITS.find(({ name }) => name.test(key));

/** The key of a path whose name says the unit: the last that does; empty where none does. */
export const unitKey = (path: readonly PropertyKey[]): string =>
  path.map(String).findLast((key) => unitOf(key) !== undefined || IS_PERCENT.test(key)) ?? "";

const IS_PERCENT = /(?:pct|percent)$/i;

/** What to write for text where a number is due, such as `0.49 (60 of 121.63 GiB)`. */
export function numberFor(text: string, of: NumberKey): string | undefined {
  const percent = /^(\d+(?:\.\d+)?) ?%$/.exec(text)?.[1];
  if (percent !== undefined) return percentFor(Number(percent), of);
  const decimal = of.isWhole ? undefined : decimalIn(text);
  if (decimal !== undefined) return decimal;
  if (of.share !== undefined) return shareFor(text, of.share);
  const unit = unitOf(of.key);
  const amount =
    unit?.seconds === undefined
      ? ((of.isWhole ? groupedIn(text) : undefined) ?? sizeIn(text, of, unit?.bytes))
      : (secondsWithUnits(text) ?? Number.NaN) / unit.seconds;
  if (amount === undefined || Number.isNaN(amount)) return undefined;
  if (!of.isWhole) return String(Math.round(amount * 1000) / 1000);
  return String(unit?.seconds === undefined ? Math.round(amount) : Math.ceil(amount));
}

function percentFor(percent: number, { key, share }: NumberKey): string | undefined {
  if (share !== undefined)
    return percent > 0 && percent <= 100 ? String(Math.round(percent * 100) / 10_000) : undefined;
  return IS_PERCENT.test(key) ? String(percent) : undefined;
}

/** A size of memory as its share of the whole, rounded down: a share must not claim more. */
function shareFor(text: string, { totalGiB }: NonNullable<NumberKey["share"]>): string | undefined {
  const gib = sizeIn(text, { key: "GiB", isWhole: false }, BYTES_PER_GIB);
  if (gib === undefined) return undefined;
  const size = Math.round(gib * 100) / 100;
  if (totalGiB === undefined) return `the share that ${size} GiB is of the machine's memory`;
  const share = Math.floor((gib / totalGiB) * 100) / 100;
  return share > 0 && share <= 1 ? `${share} (${size} of ${totalGiB} GiB)` : undefined;
}

/** `0,45` with a point; three places after a comma may be thousands. */
const decimalIn = (text: string): string | undefined =>
  /^\d+,(?:\d{1,2}|\d{4,})$/.test(text) ? text.replace(",", ".") : undefined;

/** `262,144` and `262_144`. */
const groupedIn = (text: string): number | undefined =>
  /^\d{1,3}(?:[,_']\d{3})+$/.test(text) ? Number(text.replace(/\D/g, "")) : undefined;

/**
 * An amount with a unit in the unit of its key; a unit without `B` is of the key's own kind.
 * `undefined` for what is no such amount.
 */
function sizeIn(text: string, { isWhole }: NumberKey, own: number | undefined): number | undefined {
  const [, number = "", letter = "", i = "", b = ""] =
    /^(\d+(?:\.\d+)?) ?([kmgt]?)(i?)(b?)(?: ?tokens?)?$/i.exec(text) ?? [];
  const power = ["", "k", "m", "g", "t"].indexOf(letter.toLowerCase());
  const isCounted = own === undefined && isWhole && /\btokens?$/i.test(text);
  // Whole numbers without a unit in their name count tokens.
  if (number === "" || (power === 0 && b === "" && !isCounted) || (own === undefined && !isWhole))
    return undefined;
  const isBinary = i !== "" || (b === "" && own !== BYTES_PER_GB);
  return (Number(number) * (isBinary ? 1024 : 1000) ** power) / (own ?? 1);
}
