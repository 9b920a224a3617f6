import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { mustRun, run } from "../../layers/run";
import { CONTAINERD_STATE, removeRemains } from "./remains";

/**
 * A Docker daemon that a test may stop, kill and start again: the machine's own one is not touched.
 */
export interface OwnDaemon {
  /** Removed at the end, with the daemon's data and everything else in it. */
  readonly folder: string;
  /** Runs the `docker` command against this daemon and returns what it printed. */
  docker(...args: readonly string[]): Promise<string>;
  start(): Promise<void>;
  /** As the service is stopped: containers get TERM first. */
  stop(): Promise<void>;
  /** As the kernel does it when memory runs out: containers and their shims run on. */
  kill(): Promise<void>;
  /**
   * Everything ends at once, containers too; what lies in the memory of the machine (/run) is gone.
   */
  losePower(): Promise<void>;
  /** Ends the daemon and takes away all that it left: processes, mounts, control groups, files. */
  close(): Promise<void>;
}

/** Why no second daemon can be started here; only a start shows it. */
export async function ownDaemonMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "only root starts a Docker daemon of its own";
  for (const program of ["dockerd", "containerd", "docker", "unshare"]) {
    const { code } = await run(program, ["--version"]);
    if (code !== 0) return `no ${program} on PATH`;
  }
  try {
    await (await startOwnDaemon()).close();
  } catch (error) {
    return `a second Docker daemon does not start (${String(error).trim().split("\n").at(-1)})`;
  }
  return undefined;
}

const PREFIX = "own-daemon-";

/**
 * Takes away the daemons of a run that was broken off, all of which lie in the run's own temporary
 * directory.
 */
export function removeOwnDaemons(): void {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(PREFIX)) remove(join(tmpdir(), name));
}

function remove(folder: string): void {
  removeRemains(folder);
  rmSync(folder, { recursive: true });
}

/** @param network path of the network namespace that it is in; by default one of its own */
export async function startOwnDaemon(network?: string): Promise<OwnDaemon> {
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  const mark = basename(folder);
  const inside = (name: string) => join(folder, name);
  const address = inside("containerd.sock");
  const socket = `unix://${inside("docker.sock")}`;
  writeFileSync(inside("daemon.json"), "{}");
  writeFileSync(
    inside("containerd.toml"),
    'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n',
  );
  let containerd: Service | undefined;
  let dockerd: Service | undefined;

  const docker = (...args: readonly string[]) => mustRun("docker", ["--host", socket, ...args]);
  const start = async () => {
    // A service of its own, as the packages have it: it outlives a dockerd that is killed.
    containerd ??= launch({ folder, network }, "containerd", [
      ...["--config", inside("containerd.toml"), "--address", address],
      ...["--root", inside("containerd"), "--state", inside(CONTAINERD_STATE)],
    ]);
    dockerd = launch({ folder, network }, "dockerd", [
      ...[
        "--config-file",
        inside("daemon.json"),
        "--pidfile",
        inside("dockerd.pid"),
        "--host",
        socket,
      ],
      ...["--data-root", inside("data"), "--exec-root", inside("exec")],
      ...["--containerd", address, "--containerd-namespace", mark],
      ...["--containerd-plugins-namespace", `${mark}-plugins`],
      ...["--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", `/${mark}`],
      ...["--bridge=none", "--iptables=false", "--ip6tables=false"],
    ]);
    await dockerd.answers(() => pings(inside("docker.sock")));
  };
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    await dockerd?.end(signal);
    dockerd = undefined;
  };
  const losePower = async () => {
    await end("SIGKILL");
    await containerd?.end("SIGKILL");
    containerd = undefined;
    removeRemains(folder);
    for (const name of [CONTAINERD_STATE, "exec"])
      rmSync(inside(name), { recursive: true, force: true });
  };
  const close = async () => {
    await end("SIGTERM");
    await containerd?.end("SIGTERM");
    remove(folder);
  };
  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    folder,
    docker,
    start,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    losePower,
    close,
  };
}

interface Service {
  /** Returns once it answers. */
  answers(asked: () => Promise<boolean>): Promise<void>;
  /** Returns once it has ended. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

const ANSWERS_WITHIN_SECONDS = 120;
/** Longer than the ten seconds that a daemon gives a container, on a busy machine too. */
const ENDS_WITHIN_SECONDS = 60;

interface Place {
  readonly folder: string;
  readonly network: string | undefined;
}

function launch({ folder, network }: Place, program: string, args: readonly string[]): Service {
  const log = join(folder, `${program}.log`);
  const output = openSync(log, "a");
  // In a network of its own: a daemon without a bridge removes any `docker0` that it finds, and the
  // host has one.
  const [enter, option] =
    network === undefined
      ? (["unshare", "--net"] as const)
      : (["nsenter", `--net=${network}`] as const);
  const child = spawn(enter, [option, program, ...args], { stdio: ["ignore", output, output] });
  closeSync(output);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    async answers(asked) {
      const until = Date.now() + ANSWERS_WITHIN_SECONDS * 1000;
      while (isRunning(child) && Date.now() < until) {
        if (await asked()) return;
        await sleep(50);
      }
      throw new Error(`${program} does not answer:\n${readFileSync(log, "utf8")}`);
    },
    async end(signal) {
      if (isRunning(child)) child.kill(signal);
      const timer = setTimeout(() => child.kill("SIGKILL"), ENDS_WITHIN_SECONDS * 1000);
      await ended;
      clearTimeout(timer);
    },
  };
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

function pings(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    get({ socketPath, path: "/_ping" }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    }).on("error", () => resolve(false));
  });
}
