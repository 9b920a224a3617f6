import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { delimiter, join } from "node:path";
import { gatedEntrypoint } from "../../../components/inference-server/startGate";
import { wrapperText } from "../../../components/services/on-demand/wrapperText";
import { type OwnDaemon, startOwnDaemon } from "../docker/ownDaemon";
import { importRoot, putProgram, rootWithServer } from "./image";
import { makeNetwork, type OwnNetwork } from "./network";
import { withVariable } from "./processes";
import type { Behaviour } from "./stubServer";
import { Unit } from "./unit";

/** Servers of the rig: what each takes, in GiB, of the hundred that there are. */
export const GIB = { a: 40, b: 30, c: 80, d: 50 } as const;
export type Key = keyof typeof GIB;
export const KEYS = Object.keys(GIB) as Key[];
/** What runs together: two of a, b and d, or c alone. */
export const SETS: readonly (readonly Key[])[] = [["a", "b"], ["a", "d"], ["b", "d"], ["c"]];
const TOTAL_GIB = 100;
/** Only d is unloaded when it idles. */
const IDLE_SECONDS: Partial<Record<Key, number>> = { d: 4 };
const GRACE_SECONDS = 10;
const GIB_IN_MIB = 1024;
const GIB_IN_KIB = 1024 ** 2;

export const model = (key: Key) => `org/model-${key}`;
export const container = (key: Key) => `dgx-vllm-${key}`;
const port = (key: Key) => 9001 + KEYS.indexOf(key);
export const KEY = "sk-on-demand-1234567890";

const WRAPPER = "on-demand.py";
const IMAGE = "on-demand:test";
const LISTENS_ON = 8010;
/** Variable of a rig's containers: another one may run at the same time. */
const MARK = "ON_DEMAND_RIG";
// The gate's sleeps of one and five seconds; it counts sleeps, not seconds.
const SLEEP = '#!/bin/sh\n[ "$1" = 5 ] && exec /bin/sleep 0.5\nexec /bin/sleep 0.2\n';

/** Path of llama-swap, `undefined` where there is none. */
export function llamaSwap(): string | undefined {
  const paths = (process.env.PATH ?? "").split(delimiter).map((each) => join(each, "llama-swap"));
  return [process.env.LLAMA_SWAP ?? "", ...paths].find((path) => path !== "" && existsSync(path));
}

export interface Rig {
  readonly daemon: OwnDaemon;
  readonly unit: Unit;
  readonly folder: string;
  readonly address: string;
  /** Makes the container of a server, as `pulumi up` does; it isn't started. */
  create(key: Key): Promise<string>;
  behave(key: Key, behaviour: Behaviour): void;
  /** Writes what the wrapper reads at each start. */
  declare(options?: { readonly startWithin?: number; readonly retryAfter?: number }): void;
  /** Servers whose gate is open: their program runs. */
  open(): Key[];
  /** Tells the gates how much memory is left beside the servers that run. */
  measure(): void;
  /** Answer of the engine's own interface. */
  engine<Answer>(path: string): Promise<Answer>;
  running(): Promise<Key[]>;
  startedAt(key: Key): Promise<string>;
  events(): Record<string, unknown>[];
  close(): Promise<void>;
}

export async function startRig(): Promise<Rig> {
  const network = await makeNetwork();
  const daemon = await startOwnDaemon(network.path).catch(async (error: unknown) => {
    await network.close();
    throw error;
  });
  const { folder } = daemon;
  for (const name of ["gate", "shared", "behaviour", "state"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, WRAPPER), wrapperText());
  const unit = makeUnit(daemon, network);
  const rig = { ...pieces(daemon), daemon, unit, folder, address: network.address };
  const timer = setInterval(rig.measure, 100);
  const close = async () => {
    await unit.stop();
    clearInterval(timer);
    await daemon.close();
    await network.close();
  };
  try {
    rig.measure();
    writeGate(folder);
    rig.declare();
    writeFileSync(join(folder, "config.yaml"), JSON.stringify(swapConfig(folder)));
    writeFileSync(join(folder, "key"), `${KEY}\n`, { mode: 0o600 });
    await makeImage(daemon);
    for (const key of KEYS) await rig.create(key);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...rig, close };
}

function makeUnit({ folder }: OwnDaemon, network: OwnNetwork): Unit {
  return new Unit({
    command: ["nsenter", `--net=${network.path}`, "python3", "-I", join(folder, WRAPPER)],
    env: {
      DOCKER_HOST: `unix://${folder}/docker.sock`,
      LOCAL_SERVING_MACHINE: "dgx",
      LOCAL_SERVING_LISTEN: `${network.address}:${LISTENS_ON}`,
      LOCAL_SERVING_KEY_FILE: join(folder, "key"),
      LOCAL_SERVING_PROGRAM: llamaSwap() ?? "",
      LOCAL_SERVING_CONFIG: join(folder, "config.yaml"),
      LOCAL_SERVING_STATE: join(folder, "state"),
      LOCAL_SERVING_DECLARED: join(folder, "on-demand.json"),
    },
    mark: "LOCAL_SERVING_STATE",
    log: join(folder, "unit.log"),
  });
}

function pieces(daemon: OwnDaemon) {
  const { folder, docker } = daemon;
  const engine = <Answer>(path: string) =>
    asked<Answer>(join(folder, "docker.sock"), path.replace(/^/, "/v1.41"));
  const open = () => {
    const ours = withVariable(MARK, folder).map(({ args }) => args);
    return KEYS.filter((key) =>
      ours.some((args) => args.includes("/opt/stub.cjs") && args.includes(model(key))),
    );
  };
  return {
    engine,
    open,
    create: (key: Key) => docker(...containerWords(folder, key)),
    behave: (key: Key, behaviour: Behaviour) => {
      mkdirSync(join(folder, "behaviour/org"), { recursive: true });
      writeFileSync(join(folder, `behaviour/${model(key)}.json`), JSON.stringify(behaviour));
    },
    declare: ({ startWithin = 20, retryAfter = 600 } = {}) =>
      writeFileSync(
        join(folder, "on-demand.json"),
        JSON.stringify(declared(startWithin, retryAfter)),
      ),
    measure: () => measure(folder, TOTAL_GIB - open().reduce((sum, key) => sum + GIB[key], 0)),
    running: async () => {
      const filters = encodeURIComponent(JSON.stringify({ status: ["running"] }));
      const found = await engine<{ Names: string[] }[]>(`/containers/json?filters=${filters}`);
      const names = found.flatMap((each) => each.Names);
      return KEYS.filter((key) => names.includes(`/${container(key)}`));
    },
    startedAt: async (key: Key) =>
      (await engine<{ State: { StartedAt: string } }>(`/containers/${container(key)}/json`)).State
        .StartedAt,
    events: () => {
      const path = join(folder, "state/swaps.jsonl");
      const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
      return lines.filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

/** As the project makes it: behind the start gate, started by nobody but llama-swap. */
function containerWords(folder: string, key: Key): string[] {
  const [entrypoint = "", ...words] = gatedEntrypoint(container(key));
  const volumes = [
    `${folder}/meminfo:/proc/meminfo:ro`,
    `${folder}/gate:/run/local-serving:ro`,
    `${folder}/shared:/var/lib/local-serving`,
    `${folder}/behaviour:/opt/behaviour:ro`,
  ];
  return [
    ...["create", "--name", container(key), "--network", "host", "--restart", "no"],
    ...["--label", "local-serving.machine=dgx", "--label", "local-serving.start=onRequest"],
    ...volumes.flatMap((each) => ["--volume", each]),
    ...["--env", `VLLM_API_KEY=${KEY}`, "--env", `${MARK}=${folder}`],
    ...["--entrypoint", entrypoint, IMAGE, ...words],
    ...[model(key), "--port", String(port(key))],
  ];
}

function writeGate(folder: string): void {
  const lines = KEYS.flatMap((key) => [
    `server ${container(key)} ${GIB[key] * GIB_IN_MIB} ${GRACE_SECONDS} http://127.0.0.1:${port(key)}/health`,
    `end-when-spent ${container(key)}`,
  ]);
  writeFileSync(
    join(folder, "gate/gate"),
    `${["floor 1024", "starts 1000", ...lines].join("\n")}\n`,
  );
}

function declared(startWithinSeconds: number, retryAfterSeconds: number) {
  return {
    startWithinSeconds,
    retryAfterSeconds,
    sets: SETS.map((set) => set.map(container)),
    servers: KEYS.map((key) => ({
      key,
      container: container(key),
      model: model(key),
      port: port(key),
      graceSeconds: GRACE_SECONDS,
      idleSeconds: IDLE_SECONDS[key] ?? null,
    })),
  };
}

function swapConfig(folder: string) {
  const models = KEYS.map((key) => [
    model(key),
    {
      cmd: `python3 -I ${join(folder, WRAPPER)} start ${container(key)}`,
      proxy: `http://127.0.0.1:${port(key)}`,
      checkEndpoint: "/health",
      ttl: IDLE_SECONDS[key] ?? 0,
      concurrencyLimit: 100_000,
    },
  ]);
  const matrix = {
    vars: Object.fromEntries(KEYS.map((key) => [key, model(key)])),
    evict_costs: Object.fromEntries(KEYS.map((key) => [key, GIB[key]])),
    sets: Object.fromEntries(SETS.map((set, index) => [`s${index}`, set.join(" & ")])),
  };
  return {
    healthCheckTimeout: 90,
    logLevel: "info",
    captureBuffer: 0,
    sendLoadingState: false,
    performance: { disabled: true },
    apiKeys: [`\${env.LOCAL_SERVING_SWAP_KEY}`],
    models: Object.fromEntries(models),
    routing: { router: { use: "matrix", settings: { matrix } } },
  };
}

/** Figures of one length: the file that containers have mounted is written over in one piece. */
function measure(folder: string, gib: number): void {
  const path = join(folder, "meminfo");
  const kib = String(Math.max(0, Math.round(gib * GIB_IN_KIB))).padStart(12);
  const text = `MemTotal: ${TOTAL_GIB * GIB_IN_KIB} kB\nMemAvailable: ${kib} kB\n`;
  const before = existsSync(path) && statSync(path).size === text.length;
  writeFileSync(path, text, { flag: before ? "r+" : "w" });
}

/** `vllm` is the stub, and sleeps are short. */
async function makeImage(daemon: OwnDaemon): Promise<void> {
  const root = join(daemon.folder, "rootfs");
  mkdirSync(root);
  await rootWithServer(root, "stubServer");
  putProgram(root, "sleep", SLEEP);
  await importRoot(daemon, root, IMAGE);
}

function asked<Answer>(socketPath: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = get({ socketPath, path, timeout: 5000 }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(JSON.parse(text) as Answer);
        else reject(new Error(`${path}: ${answer.statusCode} ${text}`));
      });
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer"))).on("error", reject);
  });
}
