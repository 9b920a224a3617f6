import type { z } from "zod";
import type { JsonSchema } from "../schema/jsonSchema";

/** One page of the reference. A page about a file has a schema, and gets a JSON Schema for editors beside it. */
export interface ReferenceDocument {
  /** Name of the page's file, without its ending. */
  readonly name: string;
  readonly title: string;
  /** Where the page's facts live in the project, as a path from its root. */
  readonly madeFrom: string;
  readonly intro: readonly string[];
  readonly schema?: z.ZodType;
  /** Puts the schema into its place in the whole file, when the file holds more than the schema describes. */
  readonly wholeFile?: (schema: JsonSchema) => JsonSchema;
  /** `false` where a key that the schema does not know is only worth a warning. */
  readonly closed?: boolean;
  /** What the harness's variables begin with, where keys have variables. */
  readonly prefix?: string;
  /** Further parts of the page, behind the keys. */
  readonly sections?: readonly ReferenceSection[];
}

/** A part of a page under a heading of its own. */
export interface ReferenceSection {
  readonly heading: string;
  readonly text?: readonly string[];
  readonly table?: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };
}

/** A file of the reference, by its name within the reference's folder. */
export interface ReferenceFile {
  readonly name: string;
  readonly text: string;
}

/** The command that makes the reference; every made file names it. */
export const REFERENCE_COMMAND = "serving config reference";
