import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { readBy } from "@local-serving/base/faults/schemaFaults";
import * as z from "zod";

/** Version of the record's form. A reader takes no newer one. */
const VERSION = 1;

/** What the record says of itself, for whoever finds it. */
const ABOUT =
  "An update by `serving up --verified`: what is under way, and what was tried and put back.";

const time = z.string().refine((at) => !Number.isNaN(Date.parse(at)));

/** Something that an update is about: `MACHINE.KEY` of a server or service. */
const part = z.object({
  name: z.string().min(1),
  /** Seconds that it has to become ready; absent where the update doesn't start it. */
  withinSeconds: z.number().positive().exactOptional(),
});

const decision = z.object({
  /** What decided: `MACHINE.KEY PROBE`, or words such as `the engine`. */
  probe: z.string().min(1),
  detail: z.string(),
  /** Folder with the text that failed, the log and doctor's answer; "" where none could be made. */
  kept: z.string(),
});

const underWay = z.object({
  /** `before`: nothing is touched yet. */
  step: z.enum(["before", "forward", "back"]),
  startedAt: time,
  /** The process that does it. `start` and `boot` tell it from a later one with its number. */
  by: z.object({ pid: z.number().int(), start: z.string(), boot: z.string(), host: z.string() }),
  /** Fingerprint of the settings that are being applied, or that are put back. */
  settings: z.string().min(1),
  /** Probes that passed before: `MACHINE.KEY PROBE`. */
  passed: z.array(z.string()),
  /** What such a probe counted before, where the update should leave it as it is. */
  figures: z.record(z.string(), z.number()).exactOptional(),
  parts: z.array(part),
  /** Set once the update is put back. */
  decided: decision.exactOptional(),
});

const failed = decision.extend({ settings: z.string().min(1), at: time });

const recordSchema = z.object({
  version: z.number().int().min(1).max(VERSION),
  underWay: underWay.exactOptional(),
  failed: failed.exactOptional(),
});

export type Part = z.infer<typeof part>;
export type Decided = z.infer<typeof decision>;
export type UnderWay = z.infer<typeof underWay>;
export type FailedUpdate = z.infer<typeof failed>;

/** What is known of updates by `serving up --verified`; nothing where there was none. */
export interface UpdateRecord {
  readonly underWay?: UnderWay;
  readonly failed?: FailedUpdate;
}

/** A record, or why it can't be read. */
export type ReadRecord = UpdateRecord & { readonly unreadable?: string };

/** The text of a record; `undefined` where there is nothing to keep. */
export const recordText = (record: UpdateRecord): string | undefined =>
  record.underWay === undefined && record.failed === undefined
    ? undefined
    : `${JSON.stringify({ about: ABOUT, version: VERSION, ...record }, null, 2)}\n`;

/** The record in a text. What can't be read as a whole is named, and nothing of it is used. */
export function recordIn(text: string, path: string): ReadRecord {
  const document = jsonIn(text);
  const { version } = objectOr(document);
  if (typeof version === "number" && version > VERSION)
    return unreadableRecord(path, `was written by a newer local-serving (version ${version})`);
  const { data, faults } = readBy(recordSchema, document);
  if (data !== undefined) {
    const { version: _, ...record } = data;
    return record;
  }
  const [first] = faults;
  const why = document === undefined ? "it isn't JSON" : `${first?.path}: ${first?.message}`;
  return unreadableRecord(path, `can't be read (${why.trim()})`);
}

/** What is read of a record that is there, and can't be read. */
export const unreadableRecord = (path: string, why: string): ReadRecord => ({
  unreadable: `${path} ${why}. This file says whether an update by \`serving up --verified\` is under way or was put back. To continue without that knowledge, remove it.`,
});
