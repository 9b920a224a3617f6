import { appendFileSync, closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { JobRecords } from "./jobRecords";

/** A directory that keeps what commands wrote and what happened to them. */
export interface Ledger {
  readonly directory: string;
  readonly jobs: JobRecords;
  /** Opens a fresh log file of the given name for a command's two outputs; the caller closes it. */
  readonly openLog: (name: string) => LedgerLog;
  /** Adds an entry to `events.jsonl`, one JSON document a line, and returns it with its time. */
  readonly record: (entry: Readonly<Record<string, unknown>>) => { readonly at: string };
}

export interface LedgerLog {
  readonly file: string;
  readonly streams: { readonly stdout: number; readonly stderr: number };
  readonly close: () => void;
}

/** What every command of a contract runs with. */
export interface RunSetting {
  readonly env: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  readonly interrupt: AbortSignal;
}

/** Opens a ledger, making its directory. Throws the file system's error when that can't be done. */
export function openLedger(directory: string): Ledger {
  // A folder that was there may hold other files, which git should see.
  if (mkdirSync(directory, { recursive: true }) !== undefined)
    writeFileSync(join(directory, ".gitignore"), "*\n");
  const events = join(directory, "events.jsonl");
  return {
    directory,
    jobs: new JobRecords(join(directory, "running")),
    openLog: (name) => {
      const file = join(directory, name);
      const descriptor = openSync(file, "w", 0o600);
      return {
        file,
        streams: { stdout: descriptor, stderr: descriptor },
        close: () => closeSync(descriptor),
      };
    },
    record: (entry) => {
      const dated = { at: new Date().toISOString(), ...entry };
      appendFileSync(events, `${JSON.stringify(dated)}\n`, { mode: 0o600 });
      return dated;
    },
  };
}
