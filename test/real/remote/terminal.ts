import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const COLUMNS = 80;
const LOOK_EVERY_MILLISECONDS = 20;

export interface TerminalEnd {
  readonly code: number | null;
  readonly signal: number | null;
  /** Whether the terminal is set as it was before. */
  readonly sane: boolean;
}

/** A program in a terminal of 80 columns and 24 rows. */
export class Terminal {
  /** Every byte that it wrote. */
  written = "";
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;
  private end = "";

  constructor(words: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
    this.child = spawn("python3", [join(__dirname, "terminal.py"), ...words], {
      ...options,
      stdio: "pipe",
    });
    this.ended = once(this.child, "close");
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.written += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.end += text;
    });
  }

  type(keys: string): void {
    this.child.stdin?.write(keys);
  }

  /** Resolves once the program wrote a text after the first `from` characters. */
  async wrote(text: string | RegExp, from = 0): Promise<void> {
    while (this.written.slice(from).search(text) < 0) {
      if (this.child.exitCode !== null) throw new Error(`It ended:\n${this.written}${this.end}`);
      await sleep(LOOK_EVERY_MILLISECONDS);
    }
  }

  async closed(): Promise<TerminalEnd> {
    await this.ended;
    return JSON.parse(this.end) as TerminalEnd;
  }

  /** What the terminal shows. */
  lines(): string[] {
    return screen(this.written);
  }
}

/**
 * The lines that are on a terminal after this output. Throws at a control code that it doesn't
 * know, and at a line that the terminal would have broken.
 */
function screen(written: string): string[] {
  const lines: string[] = [];
  let [row, column] = [0, 0];
  const put = (letter: string) => {
    if (letter === "\r") column = 0;
    else if (letter === "\n") row += 1;
    else {
      const line = (lines[row] ?? "").padEnd(column);
      lines[row] = line.slice(0, column) + letter + line.slice(column + 1);
      column += 1;
    }
    if (column > COLUMNS) throw new Error(`wider than the terminal: ${lines[row]}`);
  };
  const [before = "", ...parts] = written.split("\u001b");
  for (const letter of before) put(letter);
  for (const part of parts) {
    const [code = "", count = "", what = ""] = /^\[(\d*)([AJKm])/.exec(part) ?? [];
    if (what === "A") row -= Number(count);
    else if (what === "K") lines[row] = (lines[row] ?? "").slice(0, column);
    else if (what === "J") lines.splice(row);
    else if (what !== "m") throw new Error(`unknown control code: ${JSON.stringify(part)}`);
    for (const letter of part.slice(code.length)) put(letter);
  }
  return lines;
}
