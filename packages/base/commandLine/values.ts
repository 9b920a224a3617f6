import { InvalidArgumentError } from "commander";

/** Parser of an option's value that has to be a whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
      throw new InvalidArgumentError(
        `Expected a whole number of at least ${least}, such as ${Math.max(least, 4)}.`,
      );
    return value;
  };
}

const BYTES: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
};

/**
 * Parser of an option's value that is a size: whole bytes (`21474836480`) or a number with its unit
 * (`20GiB`, `6.5 GB`), in bytes, rounded down. A bare `20G` is refused, since programs differ in
 * what it means.
 */
export function byteSize(text: string): number {
  const [, number = "", unit = ""] = /^(-?\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const factor = Object.hasOwn(BYTES, unit.toLowerCase()) ? BYTES[unit.toLowerCase()] : undefined;
  const bytes = Math.floor(Number(number) * (factor ?? Number.NaN));
  if (number === "" || !Number.isSafeInteger(bytes) || (unit === "" && number.includes("."))) {
    throw new InvalidArgumentError(
      "Expected a number of bytes, or a size with its unit such as 20GiB, 512MiB or 21474836480.",
    );
  }
  if (unit === "" && bytes > 0 && bytes < 2 ** 20)
    throw new InvalidArgumentError(
      `${bytes} bytes are less than one block of the cache: write ${bytes}GiB, or the full number of bytes.`,
    );
  return bytes;
}
