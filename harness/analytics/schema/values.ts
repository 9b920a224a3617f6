import { z } from "zod";
import { block, key } from "../../schema/key";

type Words = [description: string, notes?: z.GlobalMeta];

/** Text with a default. */
export const word = (fallback: string, ...words: Words) => key(z.string().default(fallback), ...words);

/** Text in which empty means that nothing is set. */
export const text = (...words: Words) => word("", ...words);

/** An absolute http or https URL, or empty where nothing is set. */
export const url = (fallback: string, ...words: Words) =>
  key(
    z
      .string()
      .regex(/^(?:https?:\/\/[^\s/?#]+[^\s]*)?$/, {
        error: "Expected an absolute http or https URL, or empty text",
      })
      .default(fallback),
    ...words,
  );

/** A whole number of at least `least`. */
export const count = (least: number, fallback: number, ...words: Words) =>
  key(z.int().min(least).default(fallback), ...words);

/** A part of a whole, from 0 to 1. */
export const share = (fallback: number, ...words: Words) => key(z.number().min(0).max(1).default(fallback), ...words);

/** A list of texts. */
export const list = (fallback: string[], ...words: Words) => key(z.array(z.string()).default(fallback), ...words);

/** A block whose keys have environment variables: a prefix and the key's name in capitals. */
export function variableBlock<Shape extends Record<string, z.ZodType>>(
  prefix: string,
  description: string,
  shape: Shape,
) {
  const named = Object.entries(shape).map(([name, schema]) => {
    return [name, schema.meta({ variable: `${prefix}${name.toUpperCase()}` })];
  });
  // Every schema keeps its type.
  return block(description, Object.fromEntries(named) as Shape);
}
