import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Leaves what shows that an `up` was here, below a home; nothing of it can be read. */
export function markApplied(home: string, ...machines: readonly string[]): void {
  for (const machine of machines) {
    const record = join(home, ".local/share/local-serving", machine, "applied-plan.json");
    mkdirSync(dirname(record), { recursive: true });
    writeFileSync(record, "{}");
  }
}
