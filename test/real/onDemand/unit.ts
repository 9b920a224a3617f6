import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { kill, type Process, withVariable } from "./processes";

const RESTARTS_AFTER_MS = 2000;

/**
 * What systemd does with the unit of models on demand: `stop-all`, `run`, and once that has ended a
 * KILL to all that it left, `stop-all` again, and after two seconds another start.
 */
export class Unit {
  private main: ChildProcess | undefined;
  private wanted = false;
  private ended: Promise<void> = Promise.resolve();

  constructor(
    private readonly options: {
      /** Words before `run` and `stop-all`. */
      readonly command: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** One of `env` that only this unit's processes have. */
      readonly mark: string;
      readonly log: string;
    },
  ) {}

  start(): void {
    this.wanted = true;
    this.ended = this.lives();
  }

  /** TERM to the main process alone, as `KillMode=mixed` has it. */
  async stop(): Promise<void> {
    this.wanted = false;
    kill(this.main?.pid, "SIGTERM");
    await this.ended;
  }

  /** Process of `run`, `undefined` while the unit is between two. */
  pid(): number | undefined {
    return this.main?.pid;
  }

  /** All of its control group. */
  processes(): Process[] {
    const { env, mark } = this.options;
    return withVariable(mark, env[mark] ?? "");
  }

  /** One action of the wrapper, to its end. */
  async act(...action: readonly string[]): Promise<number> {
    const child = this.spawn(action);
    return exit(child);
  }

  private async lives(): Promise<void> {
    while (this.wanted) {
      await this.act("stop-all");
      if (!this.wanted) return;
      this.main = this.spawn(["run"]);
      await exit(this.main);
      this.main = undefined;
      for (const { pid } of this.processes()) kill(pid);
      await this.act("stop-all");
      if (this.wanted) await sleep(RESTARTS_AFTER_MS);
    }
  }

  private spawn(action: readonly string[]): ChildProcess {
    const [program = "", ...words] = this.options.command;
    const output = openSync(this.options.log, "a");
    const env = { ...process.env, ...this.options.env };
    const child = spawn(program, [...words, ...action], { env, stdio: ["ignore", output, output] });
    closeSync(output);
    return child;
  }
}

function exit(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
}
