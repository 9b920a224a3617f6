import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { type Finished, mustRun, run } from "../layers/run";
import { copyProgram } from "./copyProgram";
import { engineEnvironment } from "./environment";
import { type StackConfig, writeStackFile } from "./stackFile";
import { readUpdate, type Update } from "./update";

export interface WorkspaceOptions {
  /** Folder of the program with its Pulumi.yaml; by default this project itself. */
  readonly program?: string;
  /** What is under `config:` in Pulumi.<stack>.yaml, keys as there (`local-serving:machines`). */
  readonly config?: StackConfig;
  readonly stack?: string;
  /** Variables of the engine and the program; `undefined` takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The longest that one run of the engine may take, in seconds; an `up` here takes about ten. */
const RUN_LIMIT_SECONDS = 150;

/**
 * A copy of a program with a home, a state and a stack of its own, under the system's folder for
 * temporary files. Open one in `beforeAll`, and `close` it in `afterAll`: that destroys what the
 * stack made, also after failures.
 */
export class Workspace {
  private runs = 0;

  private constructor(
    readonly root: string,
    readonly stack: string,
    readonly env: Readonly<Record<string, string | undefined>>,
    private readonly pulumiProgram: string,
  ) {}

  static async open(options: WorkspaceOptions = {}): Promise<Workspace> {
    const layer = inject("engineLayer");
    if (layer.missing !== undefined) throw new Error(layer.missing);
    // The real path, so that a program's own idea of its folder is the same text.
    const root = realpathSync(mkdtempSync(join(tmpdir(), "engine-test-")));
    const env = { ...engineEnvironment(root, layer), ...options.env };
    const workspace = new Workspace(root, options.stack ?? "test", env, layer.pulumi);
    try {
      mkdirSync(workspace.project);
      copyProgram(workspace.project, options.program);
      workspace.configure(options.config ?? {});
      const init = ["stack", "init", workspace.stack, "--non-interactive"];
      await mustRun(layer.pulumi, init, { cwd: workspace.project, env });
      return workspace;
    } catch (error) {
      rmSync(root, { recursive: true });
      throw error;
    }
  }

  get project(): string {
    return join(this.root, "project");
  }

  get home(): string {
    return join(this.root, "home");
  }

  configure(config: StackConfig): void {
    writeStackFile(join(this.project, `Pulumi.${this.stack}.yaml`), config);
  }

  preview(...flags: string[]): Promise<Update> {
    return this.update(["preview", ...flags]);
  }

  /**
   * Previews and applies, as a person does who says yes; `--skip-preview` leaves the preview out.
   */
  up(...flags: string[]): Promise<Update> {
    return this.update(["up", "--yes", ...flags]);
  }

  destroy(...flags: string[]): Promise<Update> {
    return this.update(["destroy", "--yes", ...flags]);
  }

  refresh(...flags: string[]): Promise<Update> {
    return this.update(["refresh", "--yes", ...flags]);
  }

  pulumi(...args: string[]): Promise<Finished> {
    return run(
      this.pulumiProgram,
      [...args, "--stack", this.stack, "--non-interactive", "--color", "never"],
      {
        cwd: this.project,
        env: this.env,
        limitSeconds: RUN_LIMIT_SECONDS,
      },
    );
  }

  /** Runs a command of the engine that is about no stack. */
  tool(...args: string[]): Promise<Finished> {
    return run(this.pulumiProgram, args, {
      cwd: this.project,
      env: this.env,
      limitSeconds: RUN_LIMIT_SECONDS,
    });
  }

  async outputs(): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await this.pulumi(
      "stack",
      "output",
      "--json",
      "--show-secrets",
    );
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  /** The state as `pulumi stack export` gives it, for what must or must not be there. */
  async state(): Promise<string> {
    const { code, stdout, stderr } = await this.pulumi("stack", "export");
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  /**
   * Removes the folder alone, for a stack whose state came from elsewhere and that made nothing.
   */
  forget(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  /**
   * Destroys what the stack made and removes the folder. A failure to destroy is a failure of the
   * tests.
   */
  async close(): Promise<void> {
    // A run that was killed leaves its lock behind, and perhaps an operation that never ended.
    await this.pulumi("cancel", "--yes");
    const destroyed = await this.destroy("--skip-preview");
    rmSync(this.root, { recursive: true, force: true });
    if (destroyed.code !== 0) {
      throw new Error(
        `destroy ended with ${destroyed.code}:\n${destroyed.stdout}${destroyed.stderr}`,
      );
    }
  }

  private async update(args: readonly string[]): Promise<Update> {
    this.runs += 1;
    const eventLog = join(this.root, `events-${this.runs}.json`);
    return readUpdate(await this.pulumi(...args, "--event-log", eventLog), eventLog);
  }
}
