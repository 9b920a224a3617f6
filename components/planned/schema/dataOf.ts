import type { z } from "zod";

/** The data that a schema describes, read-only all the way down. */
export type DataOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>;

type Frozen<Value> = { readonly [Key in keyof Value]: Frozen<Value[Key]> };
