import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { hasOnDemand, type SwapMachine } from "../../../cli/sees/onDemand/onDemand";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import { loadStackFile } from "../../../components/settings/load";
import { serverInput } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker, inspectedAsPlanned } from "../fakeDocker";
import { servingOn } from "../onRequest/servingOn";

export type State = Record<string, unknown>;
export const STOPPED: State = { Status: "exited", ExitCode: 0 };
export const RUNNING: State = { Status: "running", StartedAt: "2026-11-27T00:00:00Z" };
export const SHA = "01".repeat(32);

/** What of it a test is about. */
interface Made {
  readonly states: Readonly<Record<string, State | undefined>>;
  /** Ports of llama-swap and of the servers. */
  readonly port?: number;
  readonly ports?: Readonly<Record<string, number>>;
  readonly onDemand?: object;
  readonly unit?: string;
}

const UNIT = "ActiveState=active\nUnitFileState=enabled\n";

/** A machine with servers b and c on demand, of which one fits, and the programs on it. */
export class MadeMachine {
  readonly home = temporaryFolder("on-demand-");
  readonly file = join(this.home, "Pulumi.dgx.yaml");
  readonly docker: FakeDocker;
  private states: Readonly<Record<string, State | undefined>>;

  constructor({ states, port = 9, ports = {}, onDemand = {}, unit = UNIT }: Made) {
    this.states = states;
    const on = (key: string, own: number) =>
      serverInput({
        ...{ servedModelName: key, aliases: [], port: ports[key] ?? own },
        ...{ start: "onRequest", gpuMemoryUtilization: 0.5, stopGraceSeconds: 1 },
      });
    const dgx = {
      totalGiB: 121.63,
      instanceA: "none",
      onDemand: { port, program: { version: "v250", sha256: SHA }, ...onDemand },
      inferenceServers: { b: on("b", 1), c: on("c", 2) },
    };
    writeFileSync(this.file, stringify({ config: { "local-serving:machines": { dgx } } }));
    this.docker = new FakeDocker({
      // Rewritten by `now`: it is the first file.
      "inspect 4711": { out: this.inspected() },
      ...this.one(),
      "inspect --type": { err: "Error: No such object\n", code: 1 },
      ps: { out: "4711\n" },
      version: { out: "28.0.0\n" },
      ...{ logs: {}, stop: {}, start: {}, run: {} },
    });
    const program = (name: string, text: string) =>
      writeFileSync(join(this.docker.folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    program("systemctl", `printf '%s' '${unit}'`);
    program("loginctl", `printf 'Linger=yes\\n'`);
    program("journalctl", 'echo "$*"');
  }

  /** The containers are in these states from now on. */
  now(states: Readonly<Record<string, State>>): void {
    this.states = { ...this.states, ...states };
    writeFileSync(join(this.docker.folder, "0.out"), this.inspected());
  }

  /** Each container by its name, as it is at first. */
  private one() {
    return Object.fromEntries(
      (JSON.parse(this.inspected()) as { Name: string }[]).map((each) => [
        `inspect --type container ${each.Name.slice(1)}`,
        { out: JSON.stringify([each]) },
      ]),
    );
  }

  /** Writes into the state folder of the wrapper. */
  wrote(name: string, text: string): void {
    const path = join(this.plan.onDemand.folder, "state", name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
  }

  private planned: SwapMachine | undefined;

  get plan(): SwapMachine {
    this.planned ??= this.read();
    return this.planned;
  }

  private read(): SwapMachine {
    const [only] = plan(loadStackFile(this.file), { home: this.home }).machines as MachinePlan[];
    if (only === undefined || !hasOnDemand(only)) throw new Error("there is one machine");
    return only;
  }

  serving(...args: string[]) {
    return servingOn(this, args);
  }

  private inspected(): string {
    const { plan, states } = this;
    return JSON.stringify(
      plan.inferenceServers.flatMap(({ key, container }) =>
        states[key] === undefined ? [] : [inspectedAsPlanned(container, states[key])],
      ),
    );
  }
}

/** An event as the wrapper writes it, so many minutes ago. */
export const event = (minutes: number, name: string, server: string, more: object = {}): string =>
  `${JSON.stringify({ at: ago(minutes), event: name, server, ...more })}\n`;

export const ago = (minutes: number): string =>
  new Date(Date.now() - minutes * 60_000).toISOString();
