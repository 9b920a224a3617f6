import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { inject } from "vitest";
import { run } from "../layers/run";
import { engineEnvironment } from "./environment";

const PROJECT = resolve(__dirname, "../..");

export interface Said {
  readonly policy: string;
  readonly level: string;
  readonly resource: string;
  readonly message: string;
}

export interface PolicyRun {
  readonly code: number;
  readonly said: readonly Said[];
  readonly output: string;
}

/** One of the programs in policy-programs/, in a folder and with a state of its own. */
export class PolicyProgram {
  private runs = 0;

  private constructor(
    readonly folder: string,
    private readonly pulumiProgram: string,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {}

  static async open(program: string): Promise<PolicyProgram> {
    const engine = inject("engineLayer");
    if (engine.missing !== undefined) throw new Error(engine.missing);
    const folder = mkdtempSync(join(tmpdir(), "policy-run-"));
    const opened = new PolicyProgram(folder, engine.pulumi, engineEnvironment(folder, engine));
    cpSync(join(__dirname, "policy-programs"), opened.folder, { recursive: true });
    writeFileSync(
      join(opened.folder, "Pulumi.yaml"),
      `name: policies\nmain: ${program}.ts\nruntime:\n  name: nodejs\n  options: { typescript: false, nodeargs: "--import tsx" }\n`,
    );
    writeFileSync(
      join(opened.folder, "package.json"),
      '{ "name": "policies", "version": "0.0.0" }\n',
    );
    symlinkSync(join(PROJECT, "node_modules"), join(opened.folder, "node_modules"));
    const { code, output } = await opened.pulumi(["stack", "init", "test"]);
    if (code !== 0) throw new Error(output);
    return opened;
  }

  /**
   * Runs `preview` or `up` with the pack, and with levels from a policy configuration where they
   * are given.
   */
  async run(
    args: readonly string[],
    levels?: Readonly<Record<string, string>>,
  ): Promise<PolicyRun> {
    const events = join(this.folder, `events-${++this.runs}.json`);
    const pack = ["--policy-pack", join(PROJECT, "policies")];
    if (levels !== undefined) {
      const file = join(this.folder, `levels-${this.runs}.json`);
      writeFileSync(file, JSON.stringify(levels));
      pack.push("--policy-pack-config", file);
    }
    const finished = await this.pulumi([
      ...args,
      "--stack",
      "test",
      ...pack,
      "--event-log",
      events,
    ]);
    return { ...finished, said: existsSync(events) ? readSaid(readFileSync(events, "utf8")) : [] };
  }

  /** Applies the program without any pack. */
  async apply(variables: Readonly<Record<string, string>>): Promise<void> {
    const args = ["up", "--yes", "--skip-preview", "--stack", "test"];
    const { code, output } = await this.pulumi(args, variables);
    if (code !== 0) throw new Error(output);
  }

  /** Judges what was applied, without the program. */
  analyze(): Promise<{ code: number; output: string }> {
    const pack = ["--policy-pack", join(PROJECT, "policies")];
    return this.pulumi(["policy", "analyze", "--stack", "test", ...pack]);
  }

  has(file: string): boolean {
    return existsSync(join(this.folder, file));
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async pulumi(
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
  ): Promise<{ code: number; output: string }> {
    const { code, stdout, stderr } = await run(
      this.pulumiProgram,
      [...args, "--non-interactive", "--color", "never"],
      {
        cwd: this.folder,
        env: { ...this.env, ...variables },
      },
    );
    return { code, output: stdout + stderr };
  }
}

interface EngineEvent {
  readonly policyEvent?: {
    readonly resourceUrn?: string;
    readonly message: string;
    readonly policyName: string;
    readonly enforcementLevel: string;
  };
}

function readSaid(log: string): Said[] {
  return log
    .split("\n")
    .filter(Boolean)
    .flatMap((line) => {
      const { policyEvent } = JSON.parse(line) as EngineEvent;
      if (policyEvent === undefined) return [];
      return [
        {
          policy: policyEvent.policyName,
          level: policyEvent.enforcementLevel,
          resource: policyEvent.resourceUrn?.split("::").at(-1) ?? "",
          message: policyEvent.message,
        },
      ];
    });
}
