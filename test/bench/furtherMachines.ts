import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stackOf } from "./worstInputs";

const MANY = 500;
const RUNS = 5;

/** Writes what a process took to its fourth stream when it ends. */
const TELLS = `process.on("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  require("node:fs").writeSync(3, JSON.stringify([(userCPUTime + systemCPUTime) / 1e3, maxRSS / 1024]));
});`;

/** What `serving plan` takes for each machine beyond the first: CPU time and memory at its peak. */
export function furtherMachines(): void {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    const hook = join(folder, "tells.cjs");
    writeFileSync(hook, TELLS);
    const [first, all] = [1, MANY].map((machines) => {
      const file = join(folder, `Pulumi.m${machines}.yaml`);
      writeFileSync(file, stackOf(machines));
      return medians(Array.from({ length: RUNS }, () => costOf(hook, file)));
    });
    const [ms = Number.NaN, mib = Number.NaN] = (all ?? []).map(
      (total, index) => (total - (first?.[index] ?? Number.NaN)) / (MANY - 1),
    );
    console.log(
      `plan of ${MANY} machines, each further one`.padEnd(46),
      `${ms.toFixed(2)} ms of CPU, goal: at most 5; ${mib.toFixed(2)} MiB, goal: at most 0.3`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** CPU time in ms and peak memory in MiB of one plan. */
function costOf(hook: string, file: string): readonly number[] {
  const args = ["-r", hook, "bundle/serving.cjs", "plan", "--file", file];
  const { output } = spawnSync("node", args, { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  // Our own line above.
  return JSON.parse(String(output[3])) as number[];
}

const medians = (runs: readonly (readonly number[])[]) =>
  (runs[0] ?? []).map((_, index) => {
    const sorted = runs.map((run) => run[index] ?? Number.NaN).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  });
