import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { MachinePlan } from "../../components/plan/types";
import { runServing } from "../cli/runServing";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { type HostProcess, startInstanceA } from "./instanceA";
import { SHARE, type StackParts, stackConfig, TOTAL_GIB } from "./stackConfig";
import { Workspace } from "./workspace";

const TOKEN = "hf_NoOutputMayHoldThis0";

interface Found {
  readonly kind: string;
  readonly where: string;
  readonly what: string;
  readonly mend: readonly string[];
}

describeEngineWithGpus("what drifted on a real machine, and what mends it", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let image: PinnedImage;
  let instanceA: HostProcess;
  let container: string;
  let applied: MachinePlan;

  beforeAll(async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    instanceA = await startInstanceA(portA, SHARE);
    image = await pinnedImage();
    parts = { image, portA, portB, unique: `d${portB}` };
    container = `vllm-model-${parts.unique}-${portB}`;
    workspace = await Workspace.open({ config: config(), env: { TEST_HF_TOKEN: TOKEN } });
    const up = await workspace.up("--skip-preview");
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    applied = JSON.parse(
      readFileSync(
        join(workspace.home, ".local/share/local-serving/dgx/applied-plan.json"),
        "utf8",
      ),
    ).machine;
  });
  afterAll(async () => {
    instanceA.stop();
    await workspace.close();
  });

  const config = (machine: object = {}) =>
    stackConfig(
      parts,
      { huggingFaceTokenVariable: "TEST_HF_TOKEN" },
      { clients: { codex: {} }, ...machine },
    );
  const serving = (...args: string[]) =>
    runServing([...args, "--file", join(workspace.project, "Pulumi.test.yaml")], {
      HOME: workspace.home,
    });
  async function drift() {
    const { code, out, err } = await serving("drift", "--format", "json");
    expect(err).toBe("");
    expect(out).not.toContain(TOKEN);
    const { machines, mend } = JSON.parse(out);
    expect(machines).toHaveLength(1);
    const drifts = machines[0].drifts as Found[];
    return {
      code,
      found: drifts.map(({ kind, what }) => `${kind} ${what}`).sort(),
      drifts,
      mend: mend as string[],
    };
  }
  const NOTHING = { code: 0, found: [], drifts: [], mend: [] };
  const path = (role: string) => applied.files.find((file) => file.role === role)?.path ?? "";
  /** Runs what the command says, as it is typed in the project; a person says yes to an update. */
  async function mend(commands: readonly string[]): Promise<void> {
    for (const command of commands) {
      const typed = command
        .replace(/^serving up\b.*/, "$& --yes --non-interactive")
        .replace(/^serving /, "node bundle/serving.cjs ");
      const done = await run("sh", ["-c", typed], {
        cwd: workspace.project,
        env: workspace.env,
        limitSeconds: 300,
      });
      expect(done.code, `${typed}\n${done.stdout}${done.stderr}`).toBe(0);
    }
  }
  const id = () =>
    mustRun("docker", ["inspect", "--format", "{{.Id}} {{.State.Status}}", container]);

  it("is nothing after an `up`", async () => {
    expect(await drift()).toEqual(NOTHING);
    expect((await serving("drift")).out).toBe("dgx: as it was applied\n");
  });

  it("is a stopped container, which `up` leaves stopped and a preview names; `serving start` mends it", async () => {
    const before = await id();
    const { code, out } = await serving("stop", "b");
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`${container} is stopped. MemAvailable is `),
    ]);
    const { found, mend: commands } = await drift();
    expect(found).toEqual(["container status"]);
    const status = JSON.parse((await serving("status", "--format", "json")).out).machines[0]
      .items[0];
    expect(status).toMatchObject({ key: "b", state: "exited", well: false });
    const up = await workspace.up();
    expect(up.code).toBe(0);
    expect(up.stdout).toContain(
      `${container} is stopped. An update that doesn't replace it leaves it stopped:`,
    );
    expect(await id()).toBe(before.replace("running", "exited"));
    await mend(commands);
    expect(await id()).toBe(before);
    expect(await drift()).toEqual(NOTHING);
  });

  it("is a restart policy and a network that somebody changed; mended without a restart", async () => {
    const before = await id();
    await mustRun("docker", ["update", "--restart", "no", container]);
    await mustRun("docker", ["network", "disconnect", applied.network, container]);
    const { found, mend: commands } = await drift();
    expect(found).toEqual(["container network", "container restart"]);
    await mend(commands);
    expect([await id(), await drift()]).toEqual([before, NOTHING]);
  });

  it("is files that were edited, closed or removed; an update writes them again, and no container is replaced", async () => {
    const before = await id();
    writeFileSync(path("codex-config"), "mine\n");
    chmodSync(path("launcher-codex"), 0o644);
    rmSync(path("start-gate"));
    rmSync(applied.secretFiles[0]?.path ?? "");
    const { found, mend: commands } = await drift();
    expect(found).toEqual(["client mode", "client text", "file file", "file file"]);
    expect(commands).toHaveLength(1);
    expect((await workspace.up()).steps).toEqual([]);
    expect((await drift()).found).toHaveLength(4);
    await mend(commands);
    expect([await id(), await drift()]).toEqual([before, NOTHING]);
    expect(readFileSync(`${path("codex-config")}.edited`, "utf8")).toBe("mine\n");
  });

  it("is a container that is gone, which a plain `up` doesn't see", async () => {
    await mustRun("docker", ["rm", "--force", container]);
    const { found, mend: commands } = await drift();
    expect(found).toEqual(["container container"]);
    expect((await workspace.up()).steps).toEqual([]);
    await mend(commands);
    expect(await drift()).toEqual(NOTHING);
  });

  it("is a container that somebody made by hand under its name", async () => {
    await mustRun("docker", ["rm", "--force", container]);
    const words = (applied.containers[0]?.command ?? []).map((word) =>
      word === "4096" ? "2048" : word,
    );
    await mustRun("docker", [
      ...[
        "run",
        "--detach",
        "--name",
        container,
        "--env",
        `HF_TOKEN=${TOKEN}`,
        "--publish",
        `127.0.0.1:${parts.portB}:${parts.portB}`,
      ],
      ...["--entrypoint", "vllm", image.reference, "serve", ...words],
    ]);
    const { found, drifts, mend: commands } = await drift();
    expect(drifts.find(({ what }) => what === "--max-model-len")).toMatchObject({
      planned: "4096",
      found: "2048",
    });
    for (const what of [
      "entrypoint",
      "env MAX_JOBS",
      "restart",
      "network",
      "label local-serving.machine",
      "mount /jit-cache",
    ])
      expect(found).toContain(`container ${what}`);
    await mend(commands);
    expect(await drift()).toEqual(NOTHING);
  });

  it("is an instance A of another share, and a memory that isn't the declared one; the stack file says both", async () => {
    instanceA.stop();
    await expect.poll(() => instanceA.answers()).toBe(false);
    instanceA = await startInstanceA(parts.portA, 2 * SHARE);
    const { found, drifts } = await drift();
    expect(found).toEqual(["instance-a instanceA.gpuMemoryUtilization"]);
    expect(drifts[0]).toMatchObject({
      planned: String(SHARE),
      found: String(2 * SHARE),
      mend: ["serving up --stack test"],
    });
    workspace.configure(
      config({ instanceA: { port: parts.portA, gpuMemoryUtilization: 2 * SHARE } }),
    );
    await mend(["serving up --stack test"]);
    expect(await drift()).toEqual(NOTHING);
    // As if memory had been taken out since: the record says more than there is.
    const record = path("start-gate").replace("start-gate/gate", "applied-plan.json");
    const text = readFileSync(record, "utf8");
    writeFileSync(record, text.replace(`"totalGiB": ${TOTAL_GIB}`, `"totalGiB": ${TOTAL_GIB + 4}`));
    expect((await drift()).drifts).toMatchObject([
      { kind: "memory", what: "totalGiB", found: String(TOTAL_GIB) },
    ]);
    writeFileSync(record, text);
  });

  it("is no difference between the stack file and what was applied, which is only noted", async () => {
    workspace.configure({
      ...config({
        instanceA: { port: parts.portA, gpuMemoryUtilization: 2 * SHARE },
        memoryFloorGiB: 1,
      }),
    });
    const { code, out } = await serving("drift");
    expect([code, out.split("\n")[1]]).toEqual([
      0,
      "  The stack file has changes that aren't applied: `serving plan --against applied` shows them.",
    ]);
  });

  it("shows in the log of the server without its keys", async () => {
    const { code, out } = await serving("logs", "b", "--tail", "500");
    expect(code).toBe(0);
    expect(out).toContain("start gate: open");
    expect(out).not.toContain(TOKEN);
  });
});
