import { createHash } from "node:crypto";
import { createFile } from "@local-serving/base/commandLine/replaceFile";
import { attempt } from "@local-serving/base/faults/defined";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { inKeyOrder, jsonIn } from "@local-serving/base/faults/json";
import { readTextFile } from "@local-serving/base/faults/textFile";
import * as z from "zod";
import { strictObject } from "zod";
import type { AutomationContract } from "./resolve";

/** Name and version of the file's form, so that a reader knows what it holds. */
const FORMAT = "automation-contract";
const VERSION = 1;

/** Largest frozen contract that is read, in bytes: a config, its criteria and little more. */
const LARGEST_CONTRACT_BYTES = 8 * 1024 * 1024;

/** Coverage of the base commit, captured when the contract was frozen. */
export interface CapturedBaseline {
  readonly commit: string;
  readonly line_pct: number | null;
  readonly branch_pct: number | null;
}

/** What every later gate reads, and never resolves again. */
export interface FrozenContract {
  readonly contract: AutomationContract;
  /** `null` when the contract has no coverage with baseline `admission`. */
  readonly baseline: CapturedBaseline | null;
  readonly frozen_at: string;
}

const fileSchema = strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  frozen_at: z.string(),
  contract: z.looseObject({ verification: z.looseObject({}), review: z.looseObject({}) }),
  baseline: z.looseObject({ commit: z.string() }).nullable(),
  sha256: z.string(),
});

/** The refusal to freeze over a frozen contract. */
export const alreadyFrozen = (file: string): string =>
  `${file} exists, and a contract is frozen once. A resumed run reads it as it is (--contract ${file}); a new run needs a new file`;

/**
 * Writes a contract once, whole or not at all: the file appears under its name only after
 * everything is on the disk, and an existing file stays as it is. Throws the file system's own
 * errors.
 * @returns the digest that the file holds; `undefined` where there is a file already.
 */
export function writeFrozen(file: string, frozen: FrozenContract): string | undefined {
  const body = { format: FORMAT, version: VERSION, ...frozen };
  const sha256 = digestOf(body);
  return createFile(file, `${JSON.stringify({ ...body, sha256 }, null, 2)}\n`) ? sha256 : undefined;
}

/**
 * Reads a frozen contract and verifies its digest. Nothing is resolved again: no preset, mapping,
 * registry or variable. Throws `UnreadableInput` when it can't be read, has another form, or was
 * changed since it was frozen.
 */
export function readFrozen(file: string): FrozenContract {
  const value = jsonIn(readTextFile(file, LARGEST_CONTRACT_BYTES));
  if (value === undefined)
    throw new UnreadableInput(file, "isn't a frozen contract: it is not JSON");
  const read = fileSchema.safeParse(value);
  if (!read.success)
    throw new UnreadableInput(
      file,
      "isn't a frozen contract; write one with `serving harness freeze automation`",
    );
  const { sha256, ...body } = read.data;
  const digest = attempt(() => digestOf(body));
  // If no digest can be computed, the file nests deeper than any contract of ours.
  if (digest === undefined)
    throw new UnreadableInput(file, "isn't a frozen contract: it nests too deeply");
  if (digest !== sha256)
    throw new UnreadableInput(
      file,
      "was changed after it was frozen: its digest does not match its content",
    );
  // The digest says that these are the very bytes that `writeFrozen` was given, so they have its
  // form.
  return body as unknown as FrozenContract;
}

/** SHA-256 of a value's JSON with sorted keys, so that the layout of the file does not matter. */
function digestOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(inKeyOrder(value)))
    .digest("hex");
}
