import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ProbeResult } from "../../../cli/verify/probe";
import { describeEngineWithDocker } from "../../engine/available";
import { digestOf, TOTAL_GIB } from "../../engine/stackConfig";
import type { Update } from "../../engine/update";
import { Workspace } from "../../engine/workspace";
import { describeLayer } from "../../layers/describeLayer";
import { type Finished, run } from "../../layers/run";
import { type Machine, machineMissing } from "../remote/machine";
import { KV_DTYPE } from "../vllm/engine";
import { ADDRESSES, INTERFACE, type Rig, startRig } from "./rig";

const PORT = 8001;
const HEAD = `vllm-rig-dense-${PORT}`;
const WORKER = `${HEAD}-rank1`;
/** A start takes about a minute on two cores where nothing else runs. */
const BACK_SECONDS = 420;
/** vLLM's own processes, and not the gate, whose script holds their name. */
const VLLM = "bin/vllm serve|VLLM::";

const said = ({ stdout, stderr }: Finished) => stdout + stderr;

const missing = machineMissing();
const describeMachines = (name: string, tests: () => void) =>
  missing === undefined
    ? describeEngineWithDocker(name, tests)
    : describeLayer("docker", missing, name, tests);

describeMachines("one model on two machines, with the real vLLM", () => {
  let rig: Rig;
  let workspace: Workspace;
  let head: Machine;
  let worker: Machine;

  const configure = (server: Record<string, unknown> = {}) => {
    const machine = ({ dockerHost }: Machine, index: 0 | 1) => ({
      ...{
        totalGiB: TOTAL_GIB,
        dockerHost,
        operatingSystemGiB: 1,
        instanceA: "none",
        startsPerHour: 60,
      },
      link: { interface: INTERFACE, address: ADDRESSES[index] },
    });
    const b = {
      nodes: ["first", "second"],
      tensorParallelSize: 2,
      model: { id: "rig/dense", family: "qwen3", thinking: true },
      servedModelName: "rig-dense",
      image: rig.image,
      versions: {
        vllm: "0.30.0",
        transformers: "5.23.0",
        evidence: "read",
        digest: digestOf({ reference: rig.image }),
        source: "the environment",
      },
      port: PORT,
      gpuMemoryUtilization: 0.1,
      maxModelLen: 16_384,
      kvCacheDtype: KV_DTYPE,
      environment: {
        ...{ HF_HUB_OFFLINE: "1", TORCHDYNAMO_DISABLE: "1", VLLM_CPU_KVCACHE_SPACE: "1" },
        // The script of the model's words.
        ...{ VLLM_CPU_OMP_THREADS_BIND: "0|1", PYTHONPATH: "/opt/scripted" },
      },
      tools: { parser: "qwen3_coder" },
      reasoningParser: "qwen3",
      moeBackend: "marlin",
      extraArgs: [
        ...["--enforce-eager", "--cpu-distributed-timeout-seconds", "600"],
        ...["--logits-processors", "scripted:Scripted"],
      ],
      lockedMemoryBytes: 65_536,
      stopGraceSeconds: 20,
      ...server,
    };
    workspace.configure({
      "local-serving:machines": {
        first: { ...machine(head, 0), inferenceServers: { b } },
        second: machine(worker, 1),
      },
    });
  };
  const serving = (...args: string[]) =>
    run("node", ["bundle/serving.cjs", ...args, "--stack", workspace.stack], {
      ...{ cwd: workspace.project, env: workspace.env, limitSeconds: 900 },
    });
  const containers = (machine: Machine) => machine.inside("docker", "ps", "--format", "{{.Names}}");
  /** Names of the containers that an update made or removed, in its order. */
  const containersOf = ({ steps }: Update, op: string) =>
    steps
      .filter((step) => step.op === op && step.type === "docker:index/container:Container")
      .map(({ name }) => name);
  /** A container's log, from where it stood at the last `mark`. */
  const began: Record<string, number> = {};
  const whole = async (machine: Machine, name: string) =>
    said(
      await run("ssh", ["-T", machine.dockerHost, `docker logs ${name} 2>&1`], {
        env: workspace.env,
      }),
    );
  const mark = async () => {
    [began[HEAD], began[WORKER]] = [
      (await whole(head, HEAD)).length,
      (await whole(worker, WORKER)).length,
    ];
  };
  const logOf = async (machine: Machine, name: string) =>
    (await whole(machine, name)).slice(began[name]);
  const says = (machine: Machine, name: string, words: RegExp) =>
    expect
      .poll(() => logOf(machine, name), { interval: 2000, timeout: BACK_SECONDS * 1000 })
      .toMatch(words);
  /** HTTP status of a request for some tokens, "000" where nothing answers. */
  const token = async (tokens = 1, seconds = 10) => {
    const body = JSON.stringify({ model: "rig-dense", prompt: "the river", max_tokens: tokens });
    const words = [
      "-s",
      "-o",
      "/dev/null",
      "-w",
      "%{http_code}",
      "-m",
      `${seconds}`,
      "-H",
      "content-type: application/json",
    ];
    const asked = `curl ${words.map((word) => `'${word}'`).join(" ")} -d '${body}' http://${ADDRESSES[0]}:${PORT}/v1/completions || true`;
    return head.inside("sh", "-c", asked);
  };
  const isBack = () =>
    expect.poll(() => token(), { interval: 3000, timeout: BACK_SECONDS * 1000 }).toBe("200");
  const killed = (machine: Machine, pattern = VLLM) => machine.inside("pkill", "-9", "-f", pattern);

  beforeAll(async () => {
    rig = await startRig(inject("dockerLayer"));
    [head, worker] = rig.machines;
    workspace = await Workspace.open({ env: { PATH: rig.client.path } });
    configure();
  }, 600_000);
  afterAll(async () => {
    await workspace?.close();
    await rig?.close();
  }, 300_000);
  const step = (name: string, test: () => Promise<void>) =>
    it(name, { timeout: 900_000 }, async ({ onTestFailed }) => {
      onTestFailed(async () => {
        for (const [machine, rank] of [
          [head, HEAD],
          [worker, WORKER],
        ] as const)
          console.log(
            `${rank}:\n${(await whole(machine, rank)).split("\n").slice(-60).join("\n")}`,
          );
      });
      await test();
    });

  step("is refused before anything starts where a link isn't as it is declared", async () => {
    workspace.configure({});
    configure({});
    await worker.inside("ip", "link", "set", INTERFACE, "mtu", "1400");
    const refused = await workspace.up();
    expect(said(refused)).toMatch(/MTU/);
    expect([await containers(head), await containers(worker)]).toEqual(["", ""]);
    await worker.inside("ip", "link", "set", INTERFACE, "mtu", "1500");
  });

  step("is made by one update, the worker first", async () => {
    const up = await workspace.up();
    expect(up.code, said(up)).toBe(0);
    expect(containersOf(up, "create")).toEqual(["second-first.b", "first-b"]);
    expect([await containers(head), await containers(worker)]).toEqual([HEAD, WORKER]);
  });

  step("is ready once the head has answered a token", async () => {
    const wait = await serving("wait");
    expect(wait.code, said(wait)).toBe(0);
    expect(await token()).toBe("200");
  });

  step("changes nothing in a second preview", async () => {
    const preview = await workspace.preview();
    expect(
      preview.steps.filter(({ op }) => op !== "same").map(({ op, name }) => `${op} ${name}`),
    ).toEqual([]);
  });

  step("passes serving verify", async () => {
    const { stdout, stderr } = await serving("verify", "--format", "json");
    const { probes } = JSON.parse(stdout) as { probes: ProbeResult[] };
    expect(
      probes.filter(({ status }) => status === "fail"),
      stderr,
    ).toEqual([]);
    const passed = probes.filter(({ status }) => status === "pass").map(({ name }) => name);
    expect(passed).toEqual(
      expect.arrayContaining(["ranks-answer", "ranks-alike", "chat", "chat-tools", "thinking-on"]),
    );
  });

  step("comes back after the worker dies in service", async () => {
    await mark();
    await killed(worker);
    await says(head, HEAD, /second/);
    await isBack();
  });

  step("comes back after the worker dies in its start", async () => {
    await mark();
    await killed(worker);
    await says(worker, WORKER, /open after/);
    await sleep(3000);
    await killed(worker);
    await isBack();
  });

  step("comes back after the head dies, whose worker stays behind", async () => {
    await mark();
    await killed(head);
    await says(worker, WORKER, /start gate: stopped.*first/);
    await isBack();
  });

  step("waits for a worker that isn't there, names it, and spends no start", async () => {
    await worker.inside("docker", "stop", WORKER);
    await mark();
    await says(head, HEAD, /waiting.*second/);
    expect(await logOf(head, HEAD)).not.toMatch(/open after/);
    await worker.inside("docker", "start", WORKER);
    await isBack();
  });

  step("bridges a cut of the cable for some seconds", async () => {
    const asked = token(200, 90);
    await rig.cable("down");
    await sleep(10_000);
    await rig.cable("up");
    expect(await asked).toBe("200");
  });

  step("ends both ranks when the cable stays cut, and comes back with it", async () => {
    await mark();
    await rig.cable("down");
    await says(head, HEAD, /start gate: stopped/);
    await says(worker, WORKER, /start gate: stopped/);
    await rig.cable("up");
    await isBack();
  });

  step(
    "starts no rank beside one with other arguments, and starts once both have them",
    async () => {
      configure({ maxModelLen: 8192 });
      await workspace.up("--target", "**second-first.b**");
      const waits = async () => (await whole(head, HEAD)).trimEnd().split("\n").at(-1);
      await expect
        .poll(waits, { interval: 2000, timeout: BACK_SECONDS * 1000 })
        .toMatch(/second: it has other arguments/);
      const up = await workspace.up();
      expect(up.code, said(up)).toBe(0);
      expect((await serving("wait")).code).toBe(0);
      expect(await token()).toBe("200");
    },
  );

  step("is taken down, the head first", async () => {
    const down = await workspace.destroy();
    expect(down.code, said(down)).toBe(0);
    expect(containersOf(down, "delete")).toEqual(["first-b", "second-first.b"]);
    expect([await containers(head), await containers(worker)]).toEqual(["", ""]);
  });
});
