import type * as z from "zod";

/** The data that a schema describes, read-only all the way down. */
export type DataOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>;

/**
 * The fields that a schema has, in its order, out of an object that may have more. Planned data
 * takes settings over with it, so that no list of their names stands beside the schema.
 */
export const dataOf = <Schema extends z.ZodObject>(
  schema: Schema,
  given: Frozen<z.input<Schema>>,
): DataOf<Schema> => schema.parse(given);

type Frozen<Value> = { readonly [Key in keyof Value]: Frozen<Value[Key]> };
