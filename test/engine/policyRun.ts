import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const PROJECT = resolve(__dirname, "../..");

/** What a policy said in a run of the engine. */
export interface Said {
  readonly policy: string;
  readonly level: string;
  /** Name of the resource. */
  readonly resource: string;
  readonly message: string;
}

export interface PolicyRun {
  readonly code: number;
  readonly said: readonly Said[];
  /** Everything that was printed. */
  readonly output: string;
}

/** One of the programs in policy-programs/, in a folder and with a state of its own. */
export class PolicyProgram {
  private runs = 0;

  private constructor(readonly folder: string) {}

  static async open(program: string): Promise<PolicyProgram> {
    const opened = new PolicyProgram(mkdtempSync(join(tmpdir(), "policy-run-")));
    cpSync(join(__dirname, "policy-programs"), opened.folder, { recursive: true });
    writeFileSync(
      join(opened.folder, "Pulumi.yaml"),
      `name: policies\nmain: ${program}.ts\nruntime:\n  name: nodejs\n  options: { typescript: false, nodeargs: "--import tsx" }\n`,
    );
    writeFileSync(join(opened.folder, "package.json"), '{ "name": "policies", "version": "0.0.0" }\n');
    symlinkSync(join(PROJECT, "node_modules"), join(opened.folder, "node_modules"));
    mkdirSync(join(opened.folder, "state"));
    const { code, output } = await opened.pulumi(["stack", "init", "test"]);
    if (code !== 0) throw new Error(output);
    return opened;
  }

  /** Runs `preview` or `up` with the pack, and with levels from a policy configuration where they are given. */
  async run(args: readonly string[], levels?: Readonly<Record<string, string>>): Promise<PolicyRun> {
    const events = join(this.folder, `events-${++this.runs}.json`);
    const pack = ["--policy-pack", join(PROJECT, "policies")];
    if (levels !== undefined) {
      const file = join(this.folder, `levels-${this.runs}.json`);
      writeFileSync(file, JSON.stringify(levels));
      pack.push("--policy-pack-config", file);
    }
    const finished = await this.pulumi([...args, "--stack", "test", ...pack, "--event-log", events]);
    return { ...finished, said: existsSync(events) ? readSaid(readFileSync(events, "utf8")) : [] };
  }

  has(file: string): boolean {
    return existsSync(join(this.folder, file));
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private pulumi(args: readonly string[]): Promise<{ code: number; output: string }> {
    const kept = Object.entries(process.env).filter(
      ([name]) => !/^(PULUMI_|VITEST|NODE_OPTIONS$)/.test(name),
    );
    return new Promise((done, failed) => {
      const child = spawn("pulumi", [...args, "--non-interactive", "--color", "never"], {
        cwd: this.folder,
        env: {
          ...Object.fromEntries(kept),
          PULUMI_BACKEND_URL: `file://${join(this.folder, "state")}`,
          PULUMI_CONFIG_PASSPHRASE: "",
          PULUMI_SKIP_UPDATE_CHECK: "true",
          PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
          // `--event-log` is a flag only with this.
          PULUMI_DEBUG_COMMANDS: "true",
        },
      });
      let output = "";
      child.stdout.on("data", (chunk) => {
        output += String(chunk);
      });
      child.stderr.on("data", (chunk) => {
        output += String(chunk);
      });
      child.on("error", failed);
      child.on("close", (code) => done({ code: code ?? -1, output }));
    });
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
