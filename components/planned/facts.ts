import type { DataOf } from "@local-serving/base/data/dataOf";
import type { warningSchema } from "./schema/machine";
import type { ledgerLineSchema } from "./schema/memory";
import type { hostInstanceSchema } from "./schema/onHost";
import type { imageRecordSchema } from "./schema/servers";

export type LedgerLine = DataOf<typeof ledgerLineSchema>;

/** The ledger's line of the operating system, which nobody can lower. */
export const OPERATING_SYSTEM = "operating system";

/** Something that will work but that an operator should know before it runs. */
export type Warning = DataOf<typeof warningSchema>;

/** What is only good to know, by the codes of warnings. */
export const NOTES: ReadonlySet<string> = new Set([
  "unproven",
  "inert-variable",
  "same-parser",
  "together-all",
  "on-demand-turns",
  "kv-queue",
  "window-raised",
  "measurement-stale",
  "simple-server-by-hand",
  "simple-server-on-loopback",
  "harness-no-embedding",
  "harness-no-embedding-model",
  "image-cache",
  "device-assumed",
  "device-unseen",
  "setting-gone",
]);

/** Versions inside an image, and how they are known. */
export type ImageFacts = DataOf<typeof imageRecordSchema>;

/** Instance A as it is declared. */
export type HostInstanceFacts = DataOf<typeof hostInstanceSchema>;

/**
 * The setting that mends what was found, by the steps of its path, and what to write there where
 * that is known.
 */
export type SettingToChange = {
  readonly path: readonly string[];
  readonly value?: string | number | boolean;
};
