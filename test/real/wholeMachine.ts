import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ProbeResult } from "../../cli/verify/probe";
import type { Summary } from "../../cli/verify/report";
import type { MachinePlan } from "../../components/plan/types";
import { bundledServing } from "../cli/harness/bundledServing";
import { createSmallestModel } from "../simple-server/realOllama";
import type { FaultName } from "../stand-in/faults";
import { type StandIn, startStandIn } from "../stand-in/server";
import { DockerOfProcesses } from "./dockerOfProcesses";
import { type Egress, watchEgress } from "./egress";
import { type LitellmOptions, onLoopback, startLitellm } from "./litellm";
import { startOllama } from "./ollama";
import { signUp, startOpenWebUi } from "./openWebUi";
import { type Ran, runToEnd, type Serving } from "./process";
import { PROJECT, SECRETS, TINY, writeWholeStack } from "./wholeStack";

/** An address of this machine that is not loopback, as other machines and containers reach it. */
export const OTHER_ADDRESS = Object.entries(networkInterfaces())
  .filter(([name]) => !/^(docker|br-|veth)/.test(name))
  .flatMap(([, addresses]) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

export interface RealPrograms {
  readonly litellm: string;
  readonly openWebUi: string;
  readonly ollama: string;
}

export interface Verified {
  readonly code: number | null;
  readonly probes: readonly ProbeResult[];
  readonly summary: Summary;
  readonly seconds: number;
  /** Everything that it printed, on both outputs. */
  readonly printed: string;
}

/**
 * The machine of the default stack file, every service of it running: LiteLLM, Open WebUI and
 * Ollama are the real ones, set up with the very files and variables of the plan; the two engines,
 * which need a GPU, are stand-ins.
 */
export class WholeMachine {
  private readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "whole-machine-")));
  private readonly home = join(this.folder, "home");
  private readonly file = join(this.folder, "Pulumi.whole.yaml");
  private readonly serving = bundledServing();
  private readonly docker = new DockerOfProcesses(
    join(this.folder, "docker"),
    OTHER_ADDRESS ?? "127.0.0.1",
  );
  private readonly services = new Map<"bridge" | "chat-ui" | "ollama", Serving>();
  private readonly engines = new Map<"A" | "B", StandIn>();
  private token = "";
  private planned: MachinePlan | undefined;

  private constructor(
    private readonly programs: RealPrograms,
    readonly egress: Egress,
  ) {}

  static async start(programs: RealPrograms): Promise<WholeMachine> {
    const machine = new WholeMachine(
      programs,
      await watchEgress(OTHER_ADDRESS ? [OTHER_ADDRESS] : []),
    );
    try {
      machine.planned = await writeWholeStack(machine.file, machine.folder, machine.home);
      await Promise.all([machine.startA(), machine.startB()]);
      await Promise.all([machine.startBridge(), machine.startOllama()]);
      await createSmallestModel(machine.simpleServer.baseUrl, TINY);
      await machine.startChatUi();
      const admin = await signUp(machine.chatUiUrl, "me@example.org");
      machine.token = ((await admin.json()) as { token: string }).token;
      return machine;
    } catch (error) {
      await machine.close();
      throw error;
    }
  }

  get machine(): MachinePlan {
    if (this.planned === undefined) throw new Error("not planned yet");
    return this.planned;
  }

  get simpleServer() {
    const { simpleServer } = this.machine;
    if (simpleServer.mode !== "host") throw new Error("the plan has no Ollama on the host");
    return simpleServer;
  }

  get chatUiUrl(): string {
    return `http://127.0.0.1:${this.machine.chatUi?.port}`;
  }

  get administrator(): string {
    return this.token;
  }

  /** Starts the engine behind instance B, also in the place of one that runs. */
  async startB(fault?: FaultName): Promise<void> {
    await this.engines.get("B")?.close();
    const [b] = this.machine.inferenceServers;
    if (b === undefined) throw new Error("the plan has no inference server");
    const { container } = b;
    const planned = this.machine.kv[container.name]?.maxConcurrency;
    const engine = await startStandIn([...container.command, "--host", "127.0.0.1"], {
      ...(planned === undefined ? {} : { kvConcurrency: planned }),
      ...(fault === undefined ? {} : { fault }),
    });
    this.engines.set("B", engine);
    this.docker.runs(container, process.pid);
  }

  async startA(): Promise<void> {
    const { hostInstance } = this.machine;
    if (hostInstance === "none") throw new Error("the plan has no instance A");
    const names = ["org/a-model", "--served-model-name", "a-model"];
    const bounds = [
      "--port",
      String(hostInstance.port),
      "--max-model-len",
      String(hostInstance.maxModelLen),
    ];
    this.engines.set("A", await startStandIn([...names, ...bounds]));
  }

  async stopA(): Promise<void> {
    await this.engines.get("A")?.close();
    this.engines.delete("A");
  }

  /** Starts the bridge, also in the place of one that runs. */
  async startBridge(options: LitellmOptions = {}): Promise<void> {
    await this.stop("bridge");
    const { bridge } = this.machine;
    if (bridge === null) throw new Error("the plan has no bridge");
    const folder = join(this.folder, "bridge");
    const program = this.programs.litellm;
    const key = SECRETS.BRIDGE_KEY;
    const proxy = await startLitellm(program, this.machine, folder, this.egress, {
      key,
      ...options,
    });
    this.services.set("bridge", proxy);
    this.docker.runs(bridge.container, proxy.pid);
  }

  /**
   * Starts the chat UI with the variables of the plan, changed by `change`, on the data that is
   * there.
   */
  async startChatUi(
    change: (env: Record<string, string>) => Record<string, string> = (env) => env,
  ) {
    await this.stop("chat-ui");
    const { chatUi } = this.machine;
    if (chatUi === null) throw new Error("the plan has no chat UI");
    const inside = change({ ...chatUi.container.env });
    const here = Object.entries(inside).map(([name, value]) => [
      name,
      onLoopback(value, OTHER_ADDRESS),
    ]);
    const data = join(this.folder, "chat-ui");
    mkdirSync(data, { recursive: true });
    const variables = Object.fromEntries(here) as Record<string, string>;
    const options = { data, port: chatUi.port, egress: this.egress };
    const ui = await startOpenWebUi(this.programs.openWebUi, variables, options);
    this.services.set("chat-ui", ui);
    this.docker.runs(chatUi.container, ui.pid, inside);
  }

  /**
   * Starts Ollama with the drop-in's variables, or with others where the drop-in is not applied.
   */
  async startOllama(otherwise: Readonly<Record<string, string>> = {}, at?: string): Promise<void> {
    await this.stop("ollama");
    const folder = join(this.folder, "ollama");
    this.services.set(
      "ollama",
      await startOllama(this.programs.ollama, this.machine, folder, this.egress, otherwise, at),
    );
  }

  async stop(service: "bridge" | "chat-ui" | "ollama"): Promise<void> {
    await this.services.get(service)?.stop();
    this.services.delete(service);
    const container = this.machine.containers.find(({ role }) => role === service);
    if (container !== undefined) this.docker.ended(container);
  }

  /** Runs `serving verify` as it is delivered, as an operator of this machine would. */
  run(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const token = { LOCAL_SERVING_CHAT_UI_KEY: this.token };
    return runToEnd(process.execPath, [this.serving, "verify", "--file", this.file, ...args], {
      env: { ...this.docker.env, HOME: this.home, ...token, ...SECRETS, ...env },
      cwd: PROJECT,
      seconds: 120,
    });
  }

  async verify(env: Readonly<Record<string, string>> = {}): Promise<Verified> {
    const started = performance.now();
    const { code, out, err } = await this.run(["--format", "json"], env);
    const seconds = (performance.now() - started) / 1000;
    if (out === "") throw new Error(`verify printed nothing on stdout; it said:\n${err}`);
    const { probes, summary } = JSON.parse(out) as Pick<Verified, "probes" | "summary">;
    return { code, probes, summary, seconds, printed: out + err };
  }

  /** Values that nothing may print. */
  get secrets(): string[] {
    return [...Object.values(SECRETS), this.token];
  }

  async close(): Promise<void> {
    await Promise.all([...this.services.values()].map((service) => service.stop()));
    await Promise.all([
      ...[...this.engines.values()].map((engine) => engine.close()),
      this.egress.close(),
    ]);
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(dirname(this.serving), { recursive: true, force: true });
  }
}
