import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { START_GATE } from "../../components/inference-server/startGate";
import { temporaryFolder } from "../layers/temporaryFolder";
import { childrenOf, which } from "./processes";

/** What a gate calls in a server's image, but `curl`: nobody answers it. */
const TOOLS = ["cat", "date", "flock", "sed", "setsid"];

const KIB_PER_GIB = 1024 ** 2;

export interface RunningGate {
  readonly child: ChildProcess;
  said(): string;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/**
 * The files that a gate reads and the programs that it calls, in a folder of their own. Its waits
 * take no time.
 */
export class MachineOfGate {
  readonly folder = temporaryFolder("start-gate-");
  private readonly gates: RunningGate[] = [];

  constructor(private readonly shell: readonly string[]) {
    for (const each of ["shared", "tools"]) mkdirSync(this.at(each));
    for (const tool of TOOLS) symlinkSync(which(tool), this.at(`tools/${tool}`));
    this.put("tools/curl", "#!/bin/sh\nexit 7\n", 0o755);
    this.put("hostname", "0123456789ab\n");
  }

  at = (name: string): string => join(this.folder, name);

  /** Moved into place: nobody reads half a file. */
  put(name: string, text: string, mode = 0o644): void {
    writeFileSync(this.at("unfinished"), text);
    chmodSync(this.at("unfinished"), mode);
    renameSync(this.at("unfinished"), this.at(name));
  }

  vllm = (body: string): void => this.put("tools/vllm", `#!/bin/sh\n${body}\n`, 0o755);
  available = (gib: number): void =>
    this.put("meminfo", `MemAvailable: ${Math.round(gib * KIB_PER_GIB)} kB\n`);

  start(env: Readonly<Record<string, string>> = {}, whole = START_GATE): RunningGate {
    const places = [
      ["/proc/meminfo", "meminfo"],
      ["/run/local-serving/gate", "gate"],
      ["/var/lib/local-serving", "shared"],
      ["/etc/hostname", "hostname"],
    ] as const;
    const script = places.reduce(
      (text, [from, to]) => text.replaceAll(from, this.at(to)),
      // Ten waits that take no time are less than a busy machine needs to end a server.
      whole.replace('sleep "$1"', ":").replace("GRACE_SECONDS=10", "GRACE_SECONDS=6000"),
    );
    const [program = "", ...words] = this.shell;
    const child = spawn(which(program), [...words, "-c", script, "b", "org/m"], {
      detached: true,
      env: { PATH: this.at("tools"), HOME: this.at("home"), ...env },
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (text += String(chunk)));
    const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
      child.on("close", (code, signal) => resolve(code ?? signal));
    });
    const gate = { child, said: () => text, ended };
    this.gates.push(gate);
    return gate;
  }

  /** Ends the gates and the groups of their servers. */
  end(): void {
    for (const { pid } of this.gates.map(({ child }) => child)) {
      for (const each of pid === undefined ? [] : [pid, ...childrenOf(pid)]) {
        try {
          process.kill(-each, "SIGKILL");
        } catch {
          // Nothing of it is left, or it has no group of its own.
        }
      }
    }
  }
}
