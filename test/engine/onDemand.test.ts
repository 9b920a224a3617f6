import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { statusOf } from "../docker/statusOf";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { type UnitPrograms, unitPrograms } from "./on-demand/unitPrograms";
import { expectQuiet, succeeded } from "./quiet";
import { type StackParts, stackConfig } from "./stackConfig";
import { Workspace } from "./workspace";

const UNIT = "local-serving-dgx-on-demand.service";
const OTHER_MODEL = { id: "org/other", family: "qwen3", thinking: true };

/** Calls without those that only repeat the one before: it waits until llama-swap answers. */
const deduplicated = (calls: readonly string[]) =>
  calls.filter((call, index) => call !== calls[index - 1]);

describeEngineWithGpus("models on demand", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let programs: UnitPrograms;
  let folder: string;
  let port: number;
  let portC: number;
  const config = (onDemand: object | null = {}, b: object = {}, c: object = {}) =>
    stackConfig(
      parts,
      { start: "onRequest", gpuMemoryUtilization: 0.5, ...b },
      {
        instanceA: "none",
        operatingSystemGiB: 0.1,
        memoryFloorGiB: 0,
        ...(onDemand === null
          ? {}
          : { onDemand: { port, program: programs.program, ...onDemand } }),
      },
      {
        c: {
          port: portC,
          start: "onRequest",
          model: OTHER_MODEL,
          servedModelName: `c-${parts.unique}`,
          ...c,
        },
      },
    );
  const withoutOnDemand = () => config(null, { gpuMemoryUtilization: 0.3 });
  const nameOf = (key: "b" | "c") =>
    key === "b" ? `vllm-model-${parts.unique}-${parts.portB}` : `vllm-c-${parts.unique}-${portC}`;
  const own = (...names: string[]) =>
    join(workspace.home, ".local/share/local-serving/dgx/on-demand", ...names);
  const unitFile = () => join(workspace.home, ".config/systemd/user", UNIT);
  const health = () => statusOf(`http://127.0.0.1:${port}/health`);
  const stateOf = async (key: "b" | "c") =>
    (await mustRun("docker", ["inspect", "--format", "{{.State.Status}}", nameOf(key)])).trim();
  const idOf = async (key: "b" | "c") =>
    (await mustRun("docker", ["inspect", "--format", "{{.Id}}", nameOf(key)])).trim();
  const restarts = () =>
    programs.calls(workspace.home).filter((call) => call.includes(" restart ")).length;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "on-demand-"));
    programs = unitPrograms(folder);
    const portB = await freePort();
    portC = await freePort();
    port = await freePort();
    parts = { image: await pinnedImage(), portA: await freePort(), portB, unique: `d${portB}` };
    workspace = await Workspace.open({
      config: config(),
      env: { PATH: `${programs.bin}:${process.env.PATH}` },
    });
    succeeded(await workspace.up("--skip-preview"));
  });
  afterAll(async () => {
    await workspace?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it("are llama-swap as a user unit with linger, and containers that nothing has started", async () => {
    expect([await stateOf("b"), await stateOf("c")]).toEqual(["created", "created"]);
    expect(deduplicated(programs.calls(workspace.home))).toEqual([
      // The preflight asks first, for linger as the unit's script does then.
      "systemctl --user show --property=Version",
      expect.stringMatching(/^loginctl show-user \S+ --property=Linger --value$/),
      expect.stringMatching(/^loginctl enable-linger \S+$/),
      "systemctl --user show --property=Version",
      "systemctl --user daemon-reload",
      `systemctl --user enable --quiet ${UNIT}`,
      `systemctl --user restart ${UNIT}`,
      expect.stringMatching(/ is-active --quiet /),
    ]);
    expect(await health()).toBe(200);
    expect(readFileSync(own("llama-swap")).equals(readFileSync(programs.program.from))).toBe(true);
    await expectQuiet(workspace);
  });

  it("stay quiet for Pulumi while they run, exited and killed", async () => {
    await mustRun("docker", ["start", nameOf("b")]);
    await expectQuiet(workspace);
    await mustRun("docker", ["kill", nameOf("b")]);
    expect(await stateOf("b")).toBe("exited");
    await expectQuiet(workspace);
  });

  it("have their unit left alone where a container is replaced alone", async () => {
    const before = [restarts(), await idOf("b"), await idOf("c")];
    workspace.configure(config({}, {}, { environment: { SOME: "thing" } }));
    succeeded(await workspace.up("--skip-preview"));
    const after = [restarts(), await idOf("b"), await idOf("c")];
    expect([after[0], after[1] === before[1], after[2] === before[2]]).toEqual([
      before[0],
      true,
      false,
    ]);
    expect(await health()).toBe(200);
  });

  it("have it restarted once where llama-swap's own settings change, and no container is touched", async () => {
    const before = [await idOf("b"), await idOf("c")];
    const times = restarts();
    workspace.configure(config({ retryAfterMinutes: 1 }, {}, { environment: { SOME: "thing" } }));
    succeeded(await workspace.up("--skip-preview"));
    expect(restarts()).toBe(times + 1);
    expect([await idOf("b"), await idOf("c")]).toEqual(before);
    expect(await health()).toBe(200);
    expect(JSON.parse(readFileSync(own("on-demand.json"), "utf8")).retryAfterSeconds).toBe(60);
  });

  it("refuse a program with another sum, and keep the one that is there", async () => {
    const wrong = { ...programs.program, sha256: "0".repeat(64) };
    workspace.configure(config({ program: wrong }));
    const { code, stdout, stderr } = await workspace.up("--skip-preview");
    expect(code).not.toBe(0);
    expect(`${stdout}${stderr}`).toContain(
      `${wrong.from} has the SHA-256 ${programs.program.sha256}, and \`onDemand.program.sha256\` is ${wrong.sha256}. It is not taken, and nothing was replaced.`,
    );
    expect(readFileSync(own("llama-swap")).equals(readFileSync(programs.program.from))).toBe(true);
    expect(await health()).toBe(200);
  });

  it("may always run, and be started on request again", async () => {
    workspace.configure(config({}, { gpuMemoryUtilization: 0.3, start: "always" }));
    succeeded(await workspace.up("--skip-preview"));
    await expect.poll(() => stateOf("b")).toBe("running");
    expect(readFileSync(own("config.yaml"), "utf8")).not.toContain(`model-${parts.unique}`);
    workspace.configure(config({}, { gpuMemoryUtilization: 0.3 }));
    succeeded(await workspace.up("--skip-preview"));
    expect(await stateOf("b")).toBe("created");
    expect(readFileSync(own("config.yaml"), "utf8")).toContain(`model-${parts.unique}`);
    await expectQuiet(workspace);
  });

  it("leave nothing of llama-swap where `onDemand` goes, and the containers stay", async () => {
    workspace.configure(withoutOnDemand());
    const before = await idOf("c");
    succeeded(await workspace.up("--skip-preview"));
    expect(programs.calls(workspace.home).slice(-4)).toEqual([
      "systemctl --user show --property=Version",
      `systemctl --user disable --now --quiet ${UNIT}`,
      `systemctl --user is-active --quiet ${UNIT}`,
      "systemctl --user daemon-reload",
    ]);
    expect([existsSync(own()), existsSync(unitFile())]).toEqual([false, false]);
    await expect(health()).resolves.not.toBe(200);
    expect(await idOf("c")).toBe(before);
    await expectQuiet(workspace);
  });
});
