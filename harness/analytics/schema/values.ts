import { z } from "zod";

/** Text in which empty means that nothing is set. */
export const text = () => z.string().default("");

/** An absolute http or https URL, or empty where nothing is set. */
export const url = (fallback: string) =>
  z
    .string()
    .regex(/^(?:https?:\/\/[^\s/?#]+[^\s]*)?$/, {
      error: "Expected an absolute http or https URL, or empty text",
    })
    .default(fallback);

/** A whole number of at least `least`. */
export const count = (least: number, fallback: number) => z.int().min(least).default(fallback);

/** A part of a whole, from 0 to 1. */
export const share = (fallback: number) => z.number().min(0).max(1).default(fallback);

/** A list of texts. */
export const list = (fallback: string[]) => z.array(z.string()).default(fallback);
