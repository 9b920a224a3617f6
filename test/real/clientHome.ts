import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, inject } from "vitest";
import { readOneMachine } from "../../cli/stack/readStack";
import type { ClientName } from "../../components/clients/registry";
import type { MachinePlan } from "../../components/plan/types";
import { runServing } from "../cli/runServing";
import { serverInput } from "../fixtures/machine";
import { BRIDGE, planned } from "../fixtures/services";
import { freePort } from "../layers/freePort";
import { type Egress, watchEgress } from "./egress";
import { type LitellmOptions, startLitellm } from "./litellm";
import { type Ran, runToEnd, type Serving } from "./process";
import { MODEL } from "./scriptedServer";

const programs = inject("programs");

/** How each client is told to do one thing and end. */
export const CLIENTS = [
  {
    name: "Claude Code 2.1.197",
    client: "claude-code" satisfies ClientName,
    key: "claudeCode",
    program: programs.claude,
    ask: (prompt: string) => ["-p", prompt, "--allowedTools", "Bash"],
    call: (command: string) => ({ tool: "Bash", arguments: { command, description: "a test" } }),
    paths: { native: "/v1/messages", bridge: "/v1/chat/completions" },
    role: "claude-code-settings",
    talkative: (text: string) =>
      text.replace(/"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",/, ""),
  },
  {
    name: "Codex 0.169.0",
    client: "codex" satisfies ClientName,
    key: "codex",
    program: programs.codex,
    ask: (prompt: string) => [
      ...[
        "exec",
        "--strict-config",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
      ],
      prompt,
    ],
    call: (cmd: string) => ({ tool: "exec_command", arguments: { cmd } }),
    paths: { native: "/v1/responses", bridge: "/v1/responses" },
    role: "codex-config",
    talkative: (text: string) =>
      text.replace("enabled = false", "enabled = true").replace("plugins = false", ""),
  },
  {
    name: "opencode 1.18.33",
    client: "opencode" satisfies ClientName,
    key: "opencode",
    program: programs.opencode,
    ask: (prompt: string) => ["run", prompt],
    call: (command: string) => ({ tool: "bash", arguments: { command, description: "a test" } }),
    paths: { native: "/v1/chat/completions", bridge: "/v1/chat/completions" },
    role: "opencode-config",
    // It looks for its own newest version whatever it is told.
    talkative: undefined,
  },
  {
    name: "pi 0.87.1",
    client: "pi" satisfies ClientName,
    key: "pi",
    program: programs.pi,
    ask: (prompt: string) => ["-p", prompt],
    call: (command: string) => ({ tool: "bash", arguments: { command } }),
    paths: { native: "/v1/chat/completions", bridge: "/v1/chat/completions" },
    role: "pi-models",
    talkative: undefined,
  },
  {
    name: "Qwen Code 0.24.4",
    client: "qwen-code" satisfies ClientName,
    key: "qwenCode",
    program: programs.qwenCode,
    ask: (prompt: string) => ["--yolo", "-p", prompt],
    call: (command: string) => ({
      tool: "run_shell_command",
      arguments: { command, description: "a test", is_background: false },
    }),
    paths: { native: "/v1/chat/completions", bridge: "/v1/chat/completions" },
    role: "qwen-code-settings",
    talkative: (text: string) =>
      text.replace('"usageStatisticsEnabled": false', '"usageStatisticsEnabled": true'),
  },
] as const;

export type RealClient = (typeof CLIENTS)[number];
export type Via = "native" | "bridge";

/** Why a client can't be run here; `undefined` where it can. */
export function clientMissing({ program }: RealClient, via: Via): string | undefined {
  const needed = via === "native" ? [program] : [program, programs.litellm];
  return needed
    .map((each) => ("missing" in each ? each.missing : undefined))
    .find((each) => each !== undefined);
}

/** A home with our files for one client, and what they lead to. */
export interface ClientHome {
  readonly machine: MachinePlan;
  /** The folder that the client works in. */
  readonly work: string;
  readonly egress: Egress;
  /** Runs the client through its launcher to its end. */
  start(prompt: string, seconds?: number): Promise<Ran>;
  close(): Promise<void>;
}

/** Time for one run of a client, with room for a busy machine. */
const SECONDS = 100;

/**
 * Writes our files into a fresh home, for a server on this port of loopback and further settings of
 * the client; starts LiteLLM where the client asks it.
 */
export async function clientHome(
  real: RealClient,
  via: Via,
  serverPort: number,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<ClientHome> {
  const home = mkdtempSync(join(tmpdir(), "home-"));
  const bridge = { ...BRIDGE, port: await freePort() };
  const clients = { [real.key]: { ...settings, via } };
  const machine = planned({ bridge, clients }, { port: serverPort }, home);
  for (const file of machine.files) {
    mkdirSync(dirname(file.path), { recursive: true });
    writeFileSync(file.path, file.text, { mode: Number.parseInt(file.mode, 8) });
  }
  const command = machine.clients.find((each) => each.client === real.client)?.command ?? "";
  return settledHome(real, home, machine, command, via === "bridge" ? {} : undefined);
}

const LAPTOP_KEY = "0123456789abcdef0123456789abcdef";

/** An address by which other computers would reach this one. */
export const networkAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

/**
 * A fresh home that knows nothing but an exported bundle and the key: installed, checked and
 * started as the bundle's note says. It reaches LiteLLM by this computer's address on the network,
 * and LiteLLM the server on this port of loopback.
 */
export async function laptopHome(real: RealClient, serverPort: number): Promise<ClientHome> {
  const home = mkdtempSync(join(tmpdir(), "laptop-"));
  const bundle = mkdtempSync(join(tmpdir(), "bundle-"));
  const host = networkAddress() ?? "";
  const dgx = {
    totalGiB: 121.63,
    instanceA: "none",
    inferenceServers: { b: serverInput({ port: serverPort }) },
    bridge: { ...BRIDGE, port: await freePort(), listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" },
    clients: { host, [real.key]: { via: "bridge" } },
  };
  const file = join(bundle, "Pulumi.test.yaml");
  writeFileSync(file, JSON.stringify({ config: { "local-serving:machines": { dgx } } }));
  const exported = await runServing([
    "clients",
    "export",
    join(bundle, "laptop"),
    "--file",
    file,
    "--format",
    "json",
  ]);
  const { checks } = JSON.parse(exported.out) as { checks: readonly string[] };
  execFileSync("sh", ["-c", "cp -R home/. ~/"], {
    cwd: join(bundle, "laptop"),
    env: { ...process.env, HOME: home },
  });
  rmSync(join(bundle, "laptop"), { recursive: true });
  const { machine } = readOneMachine(file);
  const launcher = basename(machine.clients[0]?.command ?? "");
  const laptop = await settledHome(
    real,
    home,
    machine,
    join(home, ".local/bin", launcher),
    { key: LAPTOP_KEY },
    [host],
  );
  const env = { ...process.env, BRIDGE_KEY: LAPTOP_KEY, NO_PROXY: host, no_proxy: host };
  for (const check of checks)
    expect(execFileSync("sh", ["-c", check], { env, encoding: "utf8" })).toContain(
      `"id":"${MODEL}"`,
    );
  return {
    ...laptop,
    close: () => laptop.close().finally(() => rmSync(bundle, { recursive: true })),
  };
}

/**
 * A home that holds our files, with what they lead to: LiteLLM too, where `bridge` says how it is
 * started.
 */
async function settledHome(
  { program, ask }: RealClient,
  home: string,
  machine: MachinePlan,
  launcher: string,
  bridge: LitellmOptions | undefined,
  near: readonly string[] = [],
): Promise<ClientHome> {
  const work = join(home, "work");
  const egress = await watchEgress(near);
  mkdirSync(work);
  let proxy: Serving | undefined;
  if (bridge !== undefined && !("missing" in programs.litellm))
    proxy = await startLitellm(
      programs.litellm.path,
      machine,
      join(home, "litellm"),
      egress,
      bridge,
    );
  egress.hosts.length = 0;
  return {
    machine,
    work,
    egress,
    start: (prompt, seconds = SECONDS) => {
      if ("missing" in program) throw new Error(program.missing);
      const node = "missing" in programs.node ? process.execPath : programs.node.path;
      const path = [dirname(program.path), dirname(node), "/usr/bin", "/bin"].join(":");
      const key = bridge?.key === undefined ? {} : { BRIDGE_KEY: bridge.key };
      return runToEnd(launcher, ask(prompt), {
        env: { PATH: path, HOME: home, ...key, ...egress.variables },
        cwd: work,
        seconds,
      });
    },
    close: async () => {
      await proxy?.stop();
      await egress.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
