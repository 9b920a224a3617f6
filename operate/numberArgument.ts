import { InvalidArgumentError } from "commander";

/** Parser of an option's value that has to be a whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(
        `It is a whole number of at least ${least}, such as ${Math.max(least, 4)}.`,
      );
    }
    return value;
  };
}
