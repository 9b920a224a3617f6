import { it } from "vitest";
import { mustRun } from "../../layers/run";

/** Steps of an operator, one test each, timed; those after one that failed are left out. */
export class Steps {
  private readonly rows: string[] = [];
  private broken = false;

  /** One step; what `work` returns says what came of it. */
  readonly step = (name: string, work: () => Promise<string>): void => {
    it(name, async ({ skip }) => {
      if (this.broken) skip("an earlier step failed");
      this.broken = true;
      const started = performance.now();
      const what = await work();
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      this.rows.push(`${name.padEnd(44)}${seconds.padStart(5)} s  ${what}`);
      this.broken = false;
    });
  };

  /** The steps that ended, a line each. */
  table(): string {
    return this.rows.join("\n");
  }
}

/** Ids of the containers of a network by name. */
export async function containersIn(network: string): Promise<Record<string, string>> {
  const filter = ["--all", "--no-trunc", "--filter", `network=${network}`];
  const said = await mustRun("docker", ["ps", ...filter, "--format", "{{.Names}} {{.ID}}"]);
  const lines = said.split("\n").filter(Boolean);
  return Object.fromEntries(lines.map((line) => line.split(" ")));
}

/** The line that a command ended with. */
export const lastLine = (said: string): string => said.trimEnd().split("\n").at(-1) ?? "";
