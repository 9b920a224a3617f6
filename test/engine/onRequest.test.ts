import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ask, type NoAnswer } from "@local-serving/base/http/ask";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Judged } from "../../policies/judge";
import { runServing } from "../cli/runServing";
import { pinnedImage } from "../docker/image";
import { statusOf } from "../docker/statusOf";
import { notRunning } from "../fixtures/onDemand";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { expectQuiet, succeeded } from "./quiet";
import { type StackParts, stackConfig } from "./stackConfig";
import { Workspace } from "./workspace";

const UP_SECONDS = 600;

describeEngineWithGpus("servers that start on request", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let portC: number;
  const config = (b: object = {}, c: object = {}) =>
    stackConfig(
      parts,
      { start: "onRequest", gpuMemoryUtilization: 0.5, ...b },
      // Two halves are more than 0.90, so that only one of them runs.
      { instanceA: "none", operatingSystemGiB: 0.1, memoryFloorGiB: 0, ...MACHINE },
      { c: { port: portC, servedModelName: `c-${parts.unique}`, ...c } },
    );
  const MACHINE = { waitForRequestsMinutes: 5 };
  const nameOf = (key: "b" | "c") =>
    key === "b" ? `vllm-model-${parts.unique}-${parts.portB}` : `vllm-c-${parts.unique}-${portC}`;
  const urlOf = (key: "b" | "c") => `http://127.0.0.1:${key === "b" ? parts.portB : portC}`;
  const serving = (...args: string[]) =>
    runServing([...args, "--file", join(workspace.project, "Pulumi.test.yaml")], {
      HOME: workspace.home,
      XDG_STATE_HOME: join(workspace.home, ".local/state"),
    });
  const stateOf = async (key: "b" | "c") =>
    (
      await mustRun("docker", [
        "inspect",
        "--format",
        "{{.State.Status}} {{.State.ExitCode}} {{.HostConfig.RestartPolicy.Name}}",
        nameOf(key),
      ])
    ).trim();
  const ready = (key: "b" | "c") => expect.poll(() => statusOf(`${urlOf(key)}/health`)).toBe(200);

  beforeAll(async () => {
    const portB = await freePort();
    portC = await freePort();
    const unique = `o${portB}`;
    // Servers of other tests on this daemon must not be this machine's.
    parts = { image: await pinnedImage(), portA: await freePort(), portB, unique, machine: unique };
    workspace = await Workspace.open({ config: config() });
    succeeded(await workspace.up("--skip-preview"));
  });
  afterAll(async () => workspace?.close());

  it("are made and not started, and that is as planned for every command", async () => {
    expect([await stateOf("b"), await stateOf("c")]).toEqual(["created 0 no", "created 0 no"]);
    await expectQuiet(workspace);
    expect((await serving("drift")).out).toBe(`${parts.machine}: as it was applied\n`);
    const status = JSON.parse((await serving("status", "--format", "json")).out).machines[0];
    expect(status.items).toEqual(["b", "c"].map(notRunning));
    const wait = await serving("wait");
    expect([wait.code, wait.out.match(/is not running, as planned/g)]).toEqual([
      0,
      Array(2).fill("is not running, as planned"),
    ]);
    const plan = JSON.parse((await serving("plan", "--format", "json")).out);
    expect(plan.machines[0].together.sets).toEqual([["b"], ["c"]]);
    const refused = plan.findings.filter(({ verdict }: Judged) => verdict === "refused");
    expect(refused).toEqual([]);
  });

  it("start by `serving start`, and stay quiet while they run, stopped or killed", async () => {
    const start = await serving("start", "b");
    expect([start.code, start.out], start.err).toEqual([
      0,
      expect.stringMatching(new RegExp(`^${nameOf("b")} is started\\.\n`)),
    ]);
    expect(await stateOf("b")).toBe("running 0 no");
    await ready("b");
    await expectQuiet(workspace);
    succeeded(await workspace.up("--skip-preview"));
    expect(await stateOf("b")).toBe("running 0 no");
    expect((await serving("drift")).code).toBe(0);
    const stop = await serving("stop", "b");
    expect([stop.code, stop.out]).toEqual([0, expect.stringMatching(/starts it again\.\n$/)]);
    expect(await stateOf("b")).toBe("exited 0 no");
    await expectQuiet(workspace);
    await mustRun("docker", ["start", nameOf("b")]);
    await ready("b");
    await mustRun("docker", ["kill", nameOf("b")]);
    expect(await stateOf("b")).toBe("exited 137 no");
    await expectQuiet(workspace);
    expect((await serving("drift")).code).toBe(0);
    const [item] = JSON.parse((await serving("status", "--format", "json")).out).machines[0].items;
    expect(item).toMatchObject({ key: "b", state: "exited", well: false });
    await networkRemoved();
  });

  /** One that is stopped is told of before it starts, and what doctor and drift say mends it. */
  async function networkRemoved(): Promise<void> {
    const network = `net-${parts.unique}`;
    await mustRun("docker", ["network", "rm", network]);
    const start = await serving("start", "b");
    expect([start.code, start.err]).toEqual([
      1,
      expect.stringContaining(
        `${nameOf("b")} can't be reached once it runs: its network ${network} was removed.`,
      ),
    ]);
    const { mend } = JSON.parse((await serving("drift", "--format", "json")).out);
    const commands = [
      ...["b", "c"].map((key) => `docker rm --force ${nameOf(key as "b")}`),
      `serving up --stack ${workspace.stack} --refresh`,
    ];
    expect(mend).toEqual(commands);
    const { diagnoses } = JSON.parse((await serving("doctor", "--format", "json")).out);
    // b was killed while it served, before.
    expect(diagnoses).toMatchObject([
      { id: "killed", evidence: expect.stringContaining("exit code 137") },
      {
        id: "network-off",
        command: `docker rm --force ${nameOf("b")} ${nameOf("c")} && serving up --stack ${workspace.stack} --refresh`,
      },
    ]);
    await mustRun("docker", ["rm", "--force", nameOf("b"), nameOf("c")]);
    succeeded(await workspace.up("--skip-preview", "--refresh"));
    expect((await serving("drift")).out).toBe(`${parts.machine}: as it was applied\n`);
  }

  it("are refused where they have no room, and start once a stop has let requests end", async () => {
    expect((await serving("start", "b")).code).toBe(0);
    await ready("b");
    const refused = await serving("start", "c");
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toMatch(/doesn't fit beside b .* First run `serving stop .*b`\. Nothing/);
    expect([await stateOf("b"), await stateOf("c")]).toEqual(["running 0 no", "created 0 no"]);

    const asked = heldRequest("b");
    await expect.poll(() => requestsAt("b")).toBe(1);
    const [answer, stop] = await Promise.all([asked, stopInShell("b"), releaseWhenWaited()]);
    expect(["", "closed"]).not.toContain(answer);
    expect([stop.code, stop.said]).toEqual([
      0,
      expect.stringContaining(`${parts.machine}.b: its requests have ended.`),
    ]);
    expect(await stateOf("b")).toBe("exited 0 no");
    await strangerInTheWay();
    expect((await serving("start", "c")).code).toBe(0);
    await ready("c");
    // What runs is verified, and what doesn't is skipped with the reason.
    const verify = JSON.parse((await serving("verify", "b", "--format", "json")).out);
    expect(new Set(verify.probes.map(({ status }: { status: string }) => status))).toEqual(
      new Set(["skip"]),
    );
    expect(verify.probes[0].detail).toBe(
      "b is not running, as planned: `serving start b` starts it",
    );
  });

  /** A server of this machine that the stack file doesn't have keeps c from starting. */
  async function strangerInTheWay(): Promise<void> {
    const old = `old-${parts.unique}`;
    const labels = [`local-serving.machine=${parts.machine}`, "local-serving.server=old"];
    await mustRun("docker", [
      ...["run", "--detach", "--name", old, ...labels.flatMap((each) => ["--label", each])],
      ...["--entrypoint", "sleep", parts.image.reference, "600"],
    ]);
    try {
      const refused = await serving("start", "c");
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringContaining(`${old} runs on this machine but isn't in the stack file.`),
      ]);
    } finally {
      await mustRun("docker", ["rm", "--force", old]);
    }
  }

  it("are left stopped where an update replaces them while they run, and the plan says so", async () => {
    workspace.configure(config({}, { environment: { SOME: "thing" } }));
    const review = await serving("plan", "--against", "applied");
    expect(review.out).toContain(
      "c starts on request: if it runs, it is stopped, and the new one isn't started (`serving start c`).",
    );
    succeeded(await workspace.up("--skip-preview"));
    expect(await stateOf("c")).toBe("created 0 no");
    await expectQuiet(workspace);
  });

  it("become servers that always run, and back", async () => {
    workspace.configure(config({ start: "always" }, { gpuMemoryUtilization: 0.3 }));
    succeeded(await workspace.up("--skip-preview"));
    await ready("b");
    expect(await stateOf("b")).toBe("running 0 unless-stopped");
    workspace.configure(config({}, { gpuMemoryUtilization: 0.3 }));
    succeeded(await workspace.up("--skip-preview"));
    expect(await stateOf("b")).toBe("created 0 no");
    await expectQuiet(workspace);
  });

  async function requestsAt(key: "b" | "c") {
    const { text } = await ask(`${urlOf(key)}/metrics`, { timeoutSeconds: UP_SECONDS });
    return Number(/^vllm:num_requests_running\S+ (\S+)$/m.exec(text)?.[1]);
  }

  /** What becomes of a request that runs until it is let go. */
  function heldRequest(key: "b" | "c"): Promise<string> {
    const model = key === "b" ? `model-${parts.unique}` : `c-${parts.unique}`;
    return ask(`${urlOf(key)}/v1/chat/completions`, {
      timeoutSeconds: UP_SECONDS,
      body: { model, messages: [{ role: "user", content: "Say hello." }], stand_in_held: true },
    }).then(
      ({ text }) => JSON.parse(text).choices[0].message.content as string,
      ({ reason }: NoAnswer) => reason,
    );
  }

  const said = () => join(workspace.root, "said");

  const whatIsSaid = () => (existsSync(said()) ? readFileSync(said(), "utf8") : "");

  /** Runs the command with what it says in a file, which decides when a request may end. */
  async function stopInShell(key: string) {
    const engine = join(workspace.project, "bundle/serving.cjs");
    const command = `node '${engine}' stop ${key} --stack ${workspace.stack} >'${said()}' 2>&1`;
    const { code } = await run("sh", ["-c", command], {
      ...{ cwd: workspace.project, env: workspace.env, limitSeconds: UP_SECONDS },
    });
    return { code, said: readFileSync(said(), "utf8") };
  }

  async function releaseWhenWaited(): Promise<void> {
    await expect.poll(whatIsSaid).toMatch(/\.b: waiting for 1 of its requests to end, at most/);
    await ask(`${urlOf("b")}/stand-in/release`, { timeoutSeconds: UP_SECONDS });
  }
});
