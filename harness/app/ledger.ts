import { appendFileSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { JobRecords } from "./jobRecords";

/** A directory that keeps what commands wrote and what happened to them. */
export type Ledger = ReturnType<typeof openLedger>;

export type LedgerLog = ReturnType<Ledger["openLog"]>;

/** What every command of a contract runs with. */
export interface RunSetting {
  readonly env: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  readonly interrupt: AbortSignal;
}

/** Opens a ledger, making its directory. Throws the file system's error when that can't be done. */
export function openLedger(directory: string) {
  mkdirSync(directory, { recursive: true });
  const events = join(directory, "events.jsonl");
  return {
    directory,
    jobs: new JobRecords(join(directory, "running")),
    /** Opens a fresh log file of the given name for a command's two outputs; the caller closes it. */
    openLog: (name: string) => {
      const file = join(directory, name);
      const descriptor = openSync(file, "w", 0o600);
      return { file, streams: { stdout: descriptor, stderr: descriptor }, close: () => closeSync(descriptor) };
    },
    /** Adds an entry to `events.jsonl`, one JSON document a line. */
    record: (entry: Readonly<Record<string, unknown>>) => {
      const dated = { at: new Date().toISOString(), ...entry };
      appendFileSync(events, `${JSON.stringify(dated)}\n`, { mode: 0o600 });
      return dated;
    },
  };
}
