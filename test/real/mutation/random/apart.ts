import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

/**
 * What is changed may remove or end anything. So it sees no process and no network of the machine
 * and writes nowhere but to its tree, a temporary folder and folders for what runs. Needs root.
 */
const APART = `
mount --make-rprivate /
mount --bind "$TREE" "$TREE"
mount -o remount,bind,ro /
mkdir -p "$TREE/node_modules"
mount -t tmpfs -o mode=1777 none /tmp
mount -t tmpfs none /run
mkdir /run/modules /run/work
mount -t overlay -o "lowerdir=$MODULES,upperdir=/run/modules,workdir=/run/work" none "$TREE/node_modules"
ip link set lo up
cd "$TREE"
# This shell is the first process: it takes what others left behind when it ends.
"$@" || exit $?
`;

/** Starts a program in a tree, apart from the machine. */
export function startApart(
  { tree, modules }: { tree: string; modules: string },
  command: readonly string[],
  stdio: "inherit" | "ipc" = "inherit",
): ChildProcess {
  // npm's variables name folders where nothing can be written.
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
  const own = ["--mount", "--pid", "--net", "--fork", "--mount-proc", "--kill-child"];
  return spawn("unshare", [...own, "sh", "-euc", APART, "apart", ...command], {
    env: {
      ...Object.fromEntries(kept),
      TREE: tree,
      MODULES: modules,
      HOME: "/tmp",
      TMPDIR: "/tmp",
    },
    stdio: ["ignore", "inherit", "inherit", ...(stdio === "ipc" ? (["ipc"] as const) : [])],
  });
}

/** What came of files of tests. */
export interface Ran {
  /** For each file the name and message of each test that failed; no name for the file itself. */
  readonly failed: readonly (readonly (readonly [string, string])[])[];
  readonly ms: number;
  readonly reached: readonly number[];
}

/** Runs files of tests in a tree. */
export class Runner {
  private child: ChildProcess | undefined;
  private known: readonly string[] = [];

  constructor(private readonly place: { readonly tree: string; readonly modules: string }) {}

  async files(): Promise<readonly string[]> {
    await this.started();
    return this.known;
  }

  /**
   * Runs files in this order with these mutants on, to the first failure unless it `isWhole`.
   * `undefined` where they don't end in time; then everything that they started is ended.
   */
  async run(
    request: {
      readonly files: readonly string[];
      readonly on: readonly number[];
      readonly isWhole: boolean;
    },
    limitMs: number,
  ): Promise<Ran | undefined> {
    const child = await this.started();
    const answer = answerOf<Ran>(child, limitMs);
    child.send(request);
    const ran = await answer;
    if (ran === undefined) this.end();
    return ran;
  }

  end(): void {
    this.child?.kill("SIGKILL");
    this.child = undefined;
  }

  private async started(): Promise<ChildProcess> {
    if (this.child !== undefined) return this.child;
    const child = startApart(this.place, [process.execPath, join(__dirname, "runner.mjs")], "ipc");
    const first = await answerOf<{ files: readonly string[] }>(child, START_MS);
    if (first === undefined) throw new Error("The tests of the tree do not start.");
    this.known = first.files;
    this.child = child;
    return child;
  }
}

const START_MS = 300_000;

function answerOf<T>(child: ChildProcess, limitMs: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const done = (answer?: T) => {
      clearTimeout(timer);
      child.off("message", done);
      child.off("exit", gone);
      resolve(answer);
    };
    const gone = () => done();
    const timer = setTimeout(gone, limitMs);
    child.on("message", done);
    child.once("exit", gone);
  });
}
