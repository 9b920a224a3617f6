import * as z from "zod";
import { strictObject } from "zod";

/**
 * What a schema may say of a key besides its description and `examples`; the reference shows it and
 * the layers use it.
 */
export interface KeyNotes {
  unit?: string;
  /** Environment variable of the key, without the harness's prefix. */
  variable?: string;
  /** The value is a secret: it is refused in a file and never shown. */
  secret?: boolean;
  /** The specification lists the key without a meaning: the description is ours. */
  ours?: boolean;
  /** Placeholder for a map's free key in the reference: `provider` is shown as `<provider>`. */
  placeholder?: string;
}

declare module "zod" {
  interface GlobalMeta extends KeyNotes {}
}

/** A key with its description and what else its schema says of it. */
export const key = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  notes: z.GlobalMeta = {},
) => schema.meta({ description, ...notes });

/** Text of a form; `error` says what is expected in its place. */
export const matching = (pattern: RegExp, error: string) => z.string().regex(pattern, { error });

/** A block in which every key has a default, so that the whole of it may be left out. */
export function block<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  // For zod a generic shape might have a required key: `never` says that `{}` does for this one.
  return strictObject(shape)
    .prefault({} as never)
    .describe(description);
}
