import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { mustRun, run } from "../../layers/run";
import { FORWARD } from "../docker/forward";
import { removeRemains } from "../docker/remains";

/**
 * A computer of its own, as far as one kernel can be two: network, processes, homes, memory on
 * paper, sshd and Docker.
 */
export interface Machine {
  readonly folder: string;
  readonly dockerHost: string;
  /** Where its home and other folders of its own lie, as seen from here. */
  readonly own: string;
  /** What `ssh-keyscan` would show. */
  readonly hostKey: string;
  /** Runs a program in it, past ssh. */
  inside(...command: readonly string[]): Promise<string>;
  /** Starts a program in it that runs until the machine ends. */
  keep(...command: readonly string[]): void;
  /** Its first process, as this computer counts. */
  init(): Promise<string>;
  /** Cuts the cable, or mends it. */
  cable(state: "up" | "down"): Promise<void>;
  close(): Promise<void>;
}

const READY_WITHIN_SECONDS = 60;
const MEMINFO =
  "MemTotal:       127541248 kB\nMemFree:        125000000 kB\nMemAvailable:   125000000 kB\n";

/** Why there can be none here. */
export function machineMissing(): string | undefined {
  if (process.getuid?.() !== 0) return "only root makes a machine of namespaces";
  const asked = [
    ["dockerd", "--version"],
    ["ssh", "-V"],
    ["/usr/sbin/sshd", "-t", "-f", "/dev/null"],
    ["ip", "-V"],
  ];
  const lacking = asked.find(
    ([program = "", ...args]) => spawnSync(program, args).error !== undefined,
  )?.[0];
  return lacking === undefined ? undefined : `no ${lacking}`;
}

/**
 * @param registry `localhost:PORT` that the machine's Docker reaches at the same address
 * @param meminfo what the machine says of its memory
 */
export async function startMachine(
  client: Client,
  registry: string,
  meminfo = MEMINFO,
): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), "machine-"));
  const mark = basename(folder);
  const at = (name: string) => join(folder, name);
  // A network of four addresses, so that no other test's machine is in it.
  const [net, block] = [randomInt(1, 255), randomInt(0, 63) * 4];
  const [here, there] = [`10.213.${net}.${block + 1}`, `10.213.${net}.${block + 2}`];
  const link = `ls${net}x${block}`;
  mkdirSync(at("own/bin"), { recursive: true });
  writeFileSync(at("meminfo"), meminfo);
  writeFileSync(at("daemon.json"), "{}");
  writeFileSync(at("forward.cjs"), `process.argv.splice(1, 1);\n${FORWARD}`);
  writeFileSync(at("client.pub"), readFileSync(`${client.key}.pub`));
  await mustRun("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at("host_key")]);
  writeFileSync(
    at("sshd_config"),
    [
      `HostKey ${at("host_key")}`,
      "PidFile /run/sshd.pid",
      "UsePAM no",
      "PasswordAuthentication no",
      "StrictModes no",
      // Programs of its own come before those that it shares with the host.
      `SetEnv PATH=${at("own/bin")}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    ].join("\n"),
  );
  const port = Number(registry.split(":")[1]);
  const proxy = createServer((from) => {
    const to = connect(port, "127.0.0.1");
    for (const end of [from, to]) end.on("error", () => [from, to].map((each) => each.destroy()));
    from.pipe(to).pipe(from);
  }).listen(at("registry.sock"));
  const log = openSync(at("machine.log"), "a");
  const namespaces = [
    "--net",
    "--uts",
    "--mount",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
  ];
  const script = join(__dirname, "machine.sh");
  const child = spawn("unshare", [...namespaces, "sh", script, folder, there, mark, String(port)], {
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kept: ChildProcess[] = [];
  const init = async () => {
    const { stdout } = await run("pgrep", ["--parent", String(child.pid)]);
    return stdout.trim();
  };
  const enter = async () => [
    "nsenter",
    "--target",
    await init(),
    "--net",
    "--uts",
    "--mount",
    "--pid",
  ];
  const inside = async (...command: readonly string[]) => {
    const [program = "", ...args] = [...(await enter()), ...command];
    return mustRun(program, args);
  };
  const machine: Machine = {
    folder,
    own: at("own"),
    dockerHost: `ssh://root@${there}`,
    hostKey: `${there} ${readFileSync(at("host_key.pub"), "utf8").trim()}`,
    inside,
    init,
    keep: (...command) => {
      void enter().then(([program = "", ...args]) =>
        kept.push(spawn(program, [...args, ...command], { stdio: "ignore" })),
      );
    },
    cable: async (state) => void (await mustRun("ip", ["link", "set", link, state])),
    close: async () => {
      for (const each of kept) each.kill("SIGKILL");
      child.kill("SIGKILL");
      proxy.close();
      await ended;
      await run("ip", ["link", "delete", link]);
      removeRemains(folder);
      rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 200 });
    },
  };
  try {
    while ((await init()) === "") await sleep(20);
    await mustRun("ip", [
      "link",
      "add",
      link,
      "type",
      "veth",
      "peer",
      "name",
      "eth0",
      "netns",
      await init(),
    ]);
    await mustRun("ip", ["address", "add", `${here}/30`, "dev", link]);
    await machine.cable("up");
    const until = Date.now() + READY_WITHIN_SECONDS * 1000;
    for (;;) {
      const { code } = await run("nsenter", [...(await enter()).slice(1), "docker", "version"]);
      if (code === 0) return machine;
      if (Date.now() > until || child.exitCode !== null)
        throw new Error(
          `The machine does not start:\n${readFileSync(at("machine.log"), "utf8")}${(await run("tail", ["-30", at("dockerd.log")])).stdout}`,
        );
      await sleep(200);
    }
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/**
 * Whoever drives machines: a key, the host keys that are known, and an `ssh` that uses both and
 * nothing of the person's.
 */
export interface Client {
  readonly folder: string;
  readonly key: string;
  readonly path: string;
  knows(...hostKeys: readonly string[]): void;
  /** Ends the connections that are shared, with all that runs over them. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export async function makeClient(): Promise<Client> {
  // Sockets have short paths.
  const folder = mkdtempSync("/tmp/ls-");
  const key = join(folder, "key");
  await mustRun("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  const known = join(folder, "known_hosts");
  const config = [
    `IdentityFile ${key}`,
    "IdentitiesOnly yes",
    `UserKnownHostsFile ${known}`,
    "GlobalKnownHostsFile /dev/null",
  ];
  writeFileSync(join(folder, "config"), `${config.join("\n")}\n`);
  mkdirSync(join(folder, "bin"));
  const ssh = [
    "#!/bin/sh",
    "for word do",
    "  shift",
    `  case $word in "ControlPath=~/"*) word='ControlPath=${folder}/%C' ;; esac`,
    '  set -- "$@" "$word"',
    "done",
    `exec /usr/bin/ssh -F '${folder}/config' "$@"`,
  ].join("\n");
  writeFileSync(join(folder, "bin/ssh"), ssh, { mode: 0o755 });
  const knows = (...hostKeys: readonly string[]) =>
    writeFileSync(known, hostKeys.map((each) => `${each}\n`).join(""));
  knows();
  const cut = async () => {
    const shared = readdirSync(folder).filter((name) => /^[0-9a-f]{40}$/.test(name));
    for (const name of shared)
      await run("/usr/bin/ssh", ["-S", join(folder, name), "-O", "exit", "machine"]);
  };
  return {
    folder,
    key,
    path: `${join(folder, "bin")}:${process.env.PATH ?? ""}`,
    knows,
    cut,
    close: async () => {
      await cut();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
