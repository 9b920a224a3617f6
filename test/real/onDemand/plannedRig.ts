import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MachinePlan } from "../../../components/plan/types";
import type { PlannedContainer } from "../../../components/planned/container";
import { fileOf } from "../../fixtures/services";
import { mustRun, run } from "../../layers/run";
import { type OwnDaemon, startOwnDaemon } from "../docker/ownDaemon";
import { makeNetwork, type OwnNetwork } from "./network";
import { KEY, llamaSwap } from "./rig";
import { Unit } from "./unit";

/** Memory that gates see: as a machine has it that runs nothing yet. */
const TOTAL_KIB = 127_537_152;
const FREE_KIB = 115_343_360;

/** For an answer, the start of its server included. */
const ASK_SECONDS = 2400;

/** A machine of a plan: its files, its containers in a Docker of its own, and llama-swap. */
export interface PlannedRig {
  readonly machine: MachinePlan;
  readonly daemon: OwnDaemon;
  /** Home of its operator. */
  readonly home: string;
  /** Reaches what listens on all addresses of it from here. */
  readonly address: string;
  /** The wrapper's own notes, without those of its unit's beginning. */
  events(): Record<string, unknown>[];
  /** A command that runs within its network, which has no way out. */
  within(...command: readonly string[]): [program: string, ...words: string[]];
  /** Asks from within, with `body` by POST; waits for as long as it takes. */
  ask(url: string, key: string, body?: object): Promise<[status: number, text: string]>;
  close(): Promise<void>;
}

export interface PlannedRigOptions {
  readonly planned: (home: string) => MachinePlan;
  /** Makes the image of all servers, and returns its name. */
  readonly image: (daemon: OwnDaemon) => Promise<string>;
  /** Before containers are made: what else lies in the home. */
  readonly prepare?: (home: string) => Promise<void>;
  /** Further volumes of the servers. */
  readonly volumes?: readonly string[];
}

/**
 * Writes a plan's files, makes its servers' containers as `pulumi up` does, and starts those that
 * always run, and the unit. Containers have the network of the machine itself.
 */
export async function startPlannedRig(options: PlannedRigOptions): Promise<PlannedRig> {
  const network = await makeNetwork();
  const daemon = await startOwnDaemon(network.path).catch(async (error: unknown) => {
    await network.close();
    throw error;
  });
  let unit: Unit | undefined;
  const close = async () => {
    await unit?.stop();
    await daemon.close();
    await network.close();
  };
  try {
    const home = join(daemon.folder, "home");
    const machine = options.planned(home);
    await withAddress(network, machine);
    writeFiles(machine);
    await options.prepare?.(home);
    await makeServers(daemon, machine, options);
    unit = unitOf(machine, daemon, network);
    unit.start();
    const rig = { ...seen(machine, network), machine, daemon, home, close };
    while ((await rig.ask(`${machine.onDemand?.url}/health`, KEY))[0] !== 200) await sleep(200);
    return rig;
  } catch (error) {
    await close();
    throw error;
  }
}

function seen(machine: MachinePlan, { path, address }: OwnNetwork) {
  const swaps = join(machine.onDemand?.folder ?? "", "state/swaps.jsonl");
  const within = (...command: readonly string[]): [string, ...string[]] => [
    "nsenter",
    `--net=${path}`,
    ...command,
  ];
  return {
    address,
    within,
    ask: async (url: string, key: string, body?: object): Promise<[number, string]> => {
      const [program, ...words] = within(
        ...["curl", "--silent", "--no-buffer", "--write-out", "\n%{http_code}", url],
        ...["--header", `authorization: Bearer ${key}`],
        ...["--header", "content-type: application/json"],
        ...(body === undefined ? [] : ["--data", JSON.stringify(body)]),
      );
      const { stdout } = await run(program, words, { limitSeconds: ASK_SECONDS });
      const end = stdout.lastIndexOf("\n");
      return [Number(stdout.slice(end + 1)), stdout.slice(0, end)];
    },
    events: () =>
      (existsSync(swaps) ? readFileSync(swaps, "utf8").split("\n") : [])
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

/** The address on which llama-swap listens, which is a Docker network's elsewhere. */
async function withAddress({ path }: OwnNetwork, { onDemand }: MachinePlan): Promise<void> {
  const gateway = onDemand?.network?.gateway;
  if (gateway === undefined) return;
  await mustRun("nsenter", [`--net=${path}`, "ip", "address", "add", `${gateway}/28`, "dev", "lo"]);
}

function writeFiles({ files, secretFiles, onDemand }: MachinePlan): void {
  const write = (path: string, text: string, mode: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: Number.parseInt(mode, 8) });
  };
  for (const { path, text, mode } of files) write(path, text, mode);
  for (const { path, mode } of secretFiles) write(path, `${KEY}\n`, mode);
  copyFileSync(llamaSwap() ?? "", onDemand?.program.path ?? "");
}

async function makeServers(
  daemon: OwnDaemon,
  { inferenceServers }: MachinePlan,
  { image, volumes = [] }: PlannedRigOptions,
): Promise<void> {
  const { folder, docker } = daemon;
  const meminfo = join(folder, "meminfo");
  writeFileSync(meminfo, memory(readFileSync("/proc/meminfo", "utf8")));
  const more = [`${meminfo}:/proc/meminfo:ro`, ...volumes];
  const name = await image(daemon);
  for (const { container } of inferenceServers) {
    await docker("create", ...wordsOf(container, name, more));
    if (container.start === undefined) await docker("start", container.name);
  }
}

/** This computer's figures, but for the two that gates read. */
const memory = (text: string) =>
  text
    .replace(/^MemTotal:.*$/m, `MemTotal: ${TOTAL_KIB} kB`)
    .replace(/^MemAvailable:.*$/m, `MemAvailable: ${FREE_KIB} kB`);

function wordsOf(
  container: PlannedContainer,
  image: string,
  volumes: readonly string[],
): readonly string[] {
  const { name, env, labels, mounts, command } = container;
  const [entrypoint = "", ...words] = container.entrypoint ?? [];
  const bound = mounts.map(
    ({ source, target, readOnly }) => `${source}:${target}${readOnly ? ":ro" : ""}`,
  );
  const pairs = (option: string, of: Readonly<Record<string, string>>) =>
    Object.entries(of).flatMap(([key, value]) => [option, `${key}=${value}`]);
  return [
    ...["--name", name, "--network", "host", "--restart", container.restart],
    ...["--ipc", container.ipc, "--stop-timeout", String(container.stopGraceSeconds)],
    ...pairs("--label", labels),
    ...pairs("--env", env),
    ...[...bound, ...volumes].flatMap((each) => ["--volume", each]),
    ...["--entrypoint", entrypoint, image, ...words, ...command],
  ];
}

/** The planned unit, with the variables that it sets. */
function unitOf(machine: MachinePlan, { folder }: OwnDaemon, network: OwnNetwork): Unit {
  const { text } = fileOf(machine, "on-demand-unit");
  const variables = [...text.matchAll(/^Environment="(\w+)=(.*)"$/gm)];
  return new Unit({
    command: [
      ...["nsenter", `--net=${network.path}`],
      ...["python3", "-I", fileOf(machine, "on-demand-wrapper").path],
    ],
    env: {
      ...Object.fromEntries(variables.map(([, name = "", value = ""]) => [name, value])),
      DOCKER_HOST: `unix://${folder}/docker.sock`,
    },
    mark: "LOCAL_SERVING_STATE",
    log: join(folder, "unit.log"),
  });
}
