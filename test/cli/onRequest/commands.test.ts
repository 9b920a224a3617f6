import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { containerDifferences } from "../../../cli/drift/containers";
import { changeSections } from "../../../cli/plan/changeReport";
import { dockerRun } from "../../../cli/plan/dockerRun";
import { partsOf } from "../../../cli/update/parts";
import { changesOf, lossText } from "../../../components/change";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import { judgeMachine } from "../../../components/preflight/judgeMachine";
import { stoppedContainers } from "../../../components/preflight/preflight";
import type { MachineFacts } from "../../../components/preflight/types";
import { loadStackFile } from "../../../components/settings/load";
import { serverInput } from "../../fixtures/machine";
import { notRunning } from "../../fixtures/onDemand";
import { fileOf } from "../../fixtures/services";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker, inspectedAsPlanned } from "../fakeDocker";
import { servingOn } from "./servingOn";

type State = Record<string, unknown>;
const STOPPED = { Status: "exited", ExitCode: 0 };
const ON_REQUEST = { start: "onRequest", gpuMemoryUtilization: 0.5 };
const RUNNING = { Status: "running" };

/** A machine with servers b and c of which one fits, in these states. */
class Machine {
  readonly home = temporaryFolder("on-request-");
  readonly file = join(this.home, "Pulumi.dgx.yaml");
  readonly docker: FakeDocker;

  constructor(
    readonly states: Readonly<Record<string, State | undefined>>,
    server: object = {},
    machine: object = {},
    { log = "", networks = "bridge e\nlocal-serving e\n" } = {},
  ) {
    const on = (key: string, port: number) =>
      serverInput({ servedModelName: key, aliases: [], port, ...ON_REQUEST, ...server });
    const dgx = {
      totalGiB: 121.63,
      instanceA: "none",
      inferenceServers: { b: on("b", 1), c: on("c", 2) },
      ...machine,
    };
    writeFileSync(this.file, stringify({ config: { "local-serving:machines": { dgx } } }));
    const there = this.plan.inferenceServers.flatMap(({ key, container }) =>
      states[key] === undefined ? [] : [inspectedAsPlanned(container, states[key])],
    );
    const answers = Object.fromEntries(
      there.map((each) => [
        `inspect --type container ${each.Name.slice(1)}`,
        { out: JSON.stringify([each]) },
      ]),
    );
    this.docker = new FakeDocker({
      ...answers,
      "inspect --type": { err: "Error: No such object\n", code: 1 },
      ps: { out: there.length === 0 ? "" : "4711\n" },
      "inspect 4711": { out: JSON.stringify(there) },
      version: { out: "28.0.0\n" },
      ...{ logs: { out: log }, start: {}, run: {} },
      "network ls": { out: networks },
    });
  }

  get plan(): MachinePlan {
    const [only] = plan(loadStackFile(this.file), { home: this.home }).machines;
    if (only === undefined) throw new Error("there is one machine");
    return only;
  }

  serving(...args: string[]) {
    return servingOn(this, args);
  }
}

describe("serving start of a server that starts on request", () => {
  it("is refused where it doesn't fit, and names what to stop: nothing is asked or stopped", async () => {
    const { code, out, err, did } = await new Machine({ b: RUNNING, c: STOPPED }).serving(
      "start",
      "c",
    );
    expect([code, out, did]).toEqual([1, "", []]);
    expect(err).toBe(
      "c takes 61.76 GiB and doesn't fit beside b (61.76 GiB). First run `serving stop b`. Nothing was changed.\n",
    );
  });

  it("starts it where it fits, and doesn't wait for it", async () => {
    const { code, out, err, did } = await new Machine({ b: STOPPED, c: STOPPED }).serving(
      "start",
      "c",
    );
    expect([code, out, err, did]).toEqual([
      0,
      "vllm-c-2 is started.\n`serving status --wait` follows it.\n",
      "",
      ["start vllm-c-2"],
    ]);
  });

  it("takes one that runs for done, whatever else runs", async () => {
    const { code, err } = await new Machine({ b: RUNNING, c: RUNNING }).serving("start", "c");
    expect([code, err]).toEqual([0, ""]);
  });

  it.each([
    ["start", "c"],
    ["wait", "--server", "b"],
  ])("says what took the place of --yes: %s", async (...words) => {
    const { err } = await new Machine({ b: STOPPED, c: STOPPED }).serving(...words, "--yes");
    expect(err).toMatch(/^`--yes` does nothing, since nothing is asked: .* what to stop\./);
    expect((await new Machine({}).serving(words[0] ?? "", "--help")).out).not.toContain("--yes");
  });

  it("refuses one that isn't there", async () => {
    const { code, err, did } = await new Machine({ b: RUNNING }).serving("start", "c");
    expect([code, err, did]).toEqual([
      1,
      "There is no container vllm-c-2 on dgx: `serving up --refresh` makes it.\n",
      [],
    ]);
  });
});

describe("serving start --again", () => {
  it.each(["always", "onRequest"])(
    "lets the gate forget failed starts: start: %s",
    async (start) => {
      const machine = new Machine(
        { b: STOPPED, c: STOPPED },
        { start, gpuMemoryUtilization: 0.2, stopGraceSeconds: 1 },
      );
      const { did } = await machine.serving("start", "b", "--again");
      expect(did[0]).toBe(
        `run --rm --volumes-from vllm-b-1 --entrypoint rm sha256:${"1".repeat(64)} -f /var/lib/local-serving/vllm-b-1.starts`,
      );
    },
  );
});

describe("a server that starts on request and doesn't run", () => {
  it.each([[{ Status: "created" }], [STOPPED], [{ Status: "exited", ExitCode: 137 }]])(
    "is as planned for status, wait and drift: %o",
    async (state) => {
      const machine = new Machine({ b: state, c: STOPPED });
      const status = await machine.serving("status", "--format", "json");
      expect(JSON.parse(status.out).machines[0].items).toEqual(["b", "c"].map(notRunning));
      const wait = await machine.serving("wait");
      expect([wait.code, wait.out]).toEqual([
        0,
        "b is not running, as planned: `serving start b` starts it.\nc is not running, as planned: `serving start c` starts it.\n",
      ]);
      const [b] = machine.plan.containers;
      if (b === undefined) throw new Error("b has a container");
      expect(containerDifferences(b, inspectedAsPlanned(b, state))).toEqual([]);
    },
  );

  it("is not as planned with another restart policy, paused, or after a failure", async () => {
    const machine = new Machine({ b: { Status: "exited", ExitCode: 1 }, c: STOPPED });
    const [b] = machine.plan.containers;
    if (b === undefined) throw new Error("b has a container");
    const restarted = {
      ...inspectedAsPlanned(b, STOPPED),
      HostConfig: {
        RestartPolicy: { Name: "always" },
        PortBindings: inspectedAsPlanned(b).HostConfig.PortBindings,
      },
    };
    expect(containerDifferences(b, restarted).map(({ what }) => what)).toEqual(["restart"]);
    expect(containerDifferences(b, inspectedAsPlanned(b, { Status: "paused" }))).toHaveLength(1);
    const status = await machine.serving("status", "--format", "json");
    expect([status.code, JSON.parse(status.out).machines[0].items[0]]).toEqual([
      1,
      {
        key: "b",
        state: "exited",
        well: false,
        note: "it ended with exit code 1: `serving logs b` says why, `serving start b` starts it again",
      },
    ]);
  });

  const killed = { b: { Status: "exited", ExitCode: 137 }, c: STOPPED };
  const SERVED = "INFO:     Application startup complete.\n";

  it("is told of where it was killed while it served, by status and doctor", async () => {
    const machine = new Machine(killed, {}, {}, { log: SERVED });
    const status = await machine.serving("status", "--format", "json");
    expect([status.code, JSON.parse(status.out).machines[0].items[0]]).toEqual([
      1,
      {
        key: "b",
        state: "exited",
        well: false,
        note: "it was killed while it served (exit code 137): `serving doctor` looks for why, `serving start b` starts it again",
      },
    ]);
    const { out } = await machine.serving("doctor", "--format", "json");
    expect(JSON.parse(out).diagnoses).toMatchObject([
      { id: "killed", evidence: "container vllm-b-1: exited, exit code 137, 0 restarts" },
    ]);
    // A stop that took too long ends so, too.
    const slow = new Machine(killed, {}, {}, { log: `${SERVED}INFO:     Shutting down\n` });
    const stopped = await slow.serving("status", "--format", "json");
    expect(JSON.parse(stopped.out).machines[0].items).toEqual(["b", "c"].map(notRunning));
  });

  it("is not started, and drift and doctor say what mends it, where its network was removed", async () => {
    const machine = new Machine({ b: STOPPED, c: RUNNING }, {}, {}, { networks: "bridge e\n" });
    const { code, err, did } = await machine.serving("start", "b");
    expect([code, err, did]).toEqual([
      1,
      "vllm-b-1 can't be reached once it runs: its network local-serving was removed. `serving status --against applied` says what fixes it. Nothing was changed.\n",
      [],
    ]);
    const { out } = await machine.serving("doctor", "--format", "json");
    expect(JSON.parse(out).diagnoses).toMatchObject([
      {
        id: "network-off",
        cause:
          "The Docker network local-serving was removed, so nothing reaches vllm-b-1, vllm-c-2.",
        evidence: "not on local-serving: vllm-b-1, vllm-c-2",
        command: "docker rm --force vllm-b-1 && serving up --refresh",
      },
    ]);
  });

  it("is named by bench, with what starts it", async () => {
    const { code, err } = await new Machine({ b: STOPPED, c: STOPPED }).serving("bench", "b");
    expect([code, err]).toEqual([
      1,
      "b is not running, as planned: `serving start b` starts it.\n",
    ]);
  });

  it("is not waited for by its name: that says what starts it", async () => {
    const { code, out, err } = await new Machine({ b: STOPPED, c: STOPPED }).serving(
      "wait",
      "--server",
      "b",
    );
    expect([code, out, err]).toEqual([
      1,
      "",
      "b is not running, as planned: `serving start b` starts it.\n",
    ]);
  });

  it("is skipped by verify, with the sentence", async () => {
    const machine = new Machine({ b: STOPPED, c: STOPPED });
    const { code, out } = await machine.serving("verify", "b", "--format", "json");
    const { probes } = JSON.parse(out) as { probes: { status: string; detail: string }[] };
    // A script must not take it for a proof.
    expect([code, probes.length > 5]).toEqual([1, true]);
    expect((await machine.serving("verify", "b", "--record")).code).toBe(1);
    const text = (await machine.serving("verify", "b")).out.split("\n");
    expect(text.slice(-4)).toEqual([
      `0 passed, 0 failed, ${probes.length} skipped`,
      "Not asked: vllm-b-1: b is not running, as planned: `serving start b` starts it",
      "Every probe was skipped, so this run proves nothing (exit code 1).",
      "",
    ]);
    expect([...new Set(probes.map(({ status, detail }) => `${status}: ${detail}`))]).toEqual([
      "skip: b is not running, as planned: `serving start b` starts it",
    ]);
  });

  it("is no trouble for doctor", async () => {
    const machine = new Machine({
      b: { Status: "exited", ExitCode: 137 },
      c: { Status: "created" },
    });
    const { out } = await machine.serving("doctor", "--format", "json");
    const ids = (JSON.parse(out).diagnoses as { id: string }[]).map(({ id }) => id);
    for (const id of ["container-not-running", "killed", "unknown"]) expect(ids).not.toContain(id);
  });

  it("needs no memory at an update, and is no surprise there", async () => {
    const machine = new Machine({ b: STOPPED, c: STOPPED });
    const facts = (running: object[]) =>
      ({
        docker: { reachable: true, gpuRuntime: true, containers: running },
        memory: { totalGiB: 121.63, availableGiB: 3 },
        ...{ listeners: [], directories: [], fileFolders: [], faultyVariables: [], kernel: {} },
      }) as unknown as MachineFacts;
    const memoryOf = (running: object[]) =>
      judgeMachine(machine.plan, facts(running)).filter(({ message }) =>
        /Not enough/.test(message),
      );
    expect(memoryOf([])).toEqual([]);
    const [b] = machine.plan.containers;
    const tooLittle = { name: b?.name, ports: [], gpuMemoryUtilization: 0.1 };
    expect(memoryOf([tooLittle])).toHaveLength(1);
    for (const [name, value] of Object.entries(machine.docker.env)) vi.stubEnv(name, value);
    expect(await stoppedContainers(machine.plan)).toEqual([]);
    vi.unstubAllEnvs();
  });
});

describe("an update of a server that starts on request", () => {
  const stopped = new Machine({});
  const other = new Machine({}, { environment: { SOME: "thing" } });
  const resident = new Machine({}, { start: "always", gpuMemoryUtilization: 0.2 });

  it("makes it and doesn't start it, and says so", () => {
    const [change] = changesOf([], [stopped.plan]);
    const [first] = changeSections(change === undefined ? [] : [change]);
    expect(first?.lines).toContain(
      "b starts on request: it is made and not started (`serving start b`).",
    );
  });

  it("leaves the new one stopped where it replaces one, and nobody waits for it", () => {
    const changes = changesOf([stopped.plan], [other.plan]);
    const [first] = changeSections(changes);
    expect(first?.lines).toContain(
      "b starts on request: if it runs, it is stopped, and the new one isn't started (`serving start b`).",
    );
    expect(changes[0]?.losses.map(lossText)[0]).toBe(
      "b (b) is gone until `serving start b`, if it is running. `serving up` lets its requests end first; those that outlast 10 min (`waitForRequestsMinutes`) are cut off.",
    );
    expect(partsOf(changes, [stopped.plan, other.plan], {})).toEqual([
      { name: "dgx.b" },
      { name: "dgx.c" },
    ]);
    const back = changesOf([stopped.plan], [resident.plan]);
    expect(
      partsOf(back, [resident.plan], {}).map(({ withinSeconds = 0 }) => withinSeconds > 0),
    ).toEqual([true, true]);
  });

  it("is a `docker create`, and scraped under a label of its own", () => {
    const [b] = stopped.plan.containers;
    expect(b && dockerRun(b).split("\n")[0]).toBe("docker create \\");
    const watched = new Machine({}, {}, { monitoring: "scrape" });
    expect(fileOf(watched.plan, "scrape-targets").text).toContain("start: onRequest");
  });
});
