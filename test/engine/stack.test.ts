import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { type HostProcess, startInstanceA } from "./instanceA";
import { digestOf, SHARE, type StackParts, stackConfig } from "./stackConfig";
import type { Update } from "./update";
import { Workspace } from "./workspace";

const TOKEN = "hf_NoOutputMayHoldThis";

describeEngineWithGpus("the stack on a real machine", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let newer: PinnedImage;
  let instanceA: HostProcess;
  let startOfA: string;
  let container: string;

  beforeAll(async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    instanceA = await startInstanceA(portA, SHARE);
    startOfA = instanceA.startTime();
    parts = { image: await pinnedImage(), portA, portB, unique: `s${portB}` };
    newer = await pinnedImage({ tag: "v0.30.1" });
    container = `vllm-model-${parts.unique}-${portB}`;
    workspace = await Workspace.open({ config: stackConfig(parts), env: { TEST_HF_TOKEN: TOKEN } });
  });

  afterAll(async () => {
    instanceA.stop();
    await workspace.close();
  });

  const inspect = async (format: string): Promise<unknown> =>
    JSON.parse(await mustRun("docker", ["inspect", "--format", `{{json ${format}}}`, container]));
  const appliedPlan = () =>
    join(workspace.home, ".local/share/local-serving/dgx/applied-plan.json");
  const steps = (update: Update) =>
    update.steps.map(({ op, type, name }) => `${op} ${type.split(":").at(-1)} ${name}`).sort();
  const kernels = async () =>
    ((await inspect(".Mounts")) as { Name?: string; Destination: string }[]).find(
      ({ Destination }) => Destination === "/jit-cache",
    )?.Name;
  /** What a reviewer reads of a change, without the warnings. */
  const previewOf = async (server: object, machine: object = {}, ...flags: string[]) => {
    workspace.configure(stackConfig(parts, { ...server }, { ...machine }));
    const preview = await workspace.preview("--diff", ...flags);
    workspace.configure(stackConfig(parts));
    return preview;
  };

  it("is created by the first `up`", async () => {
    const up = await workspace.up("--policy-pack", join(workspace.project, "policies"));
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(steps(up).filter((step) => step.startsWith("create"))).toContain(
      "create Container dgx-b",
    );
    expect(await inspect(".Config.Image")).toBe(parts.image.reference);
    expect(await inspect(".HostConfig.DeviceRequests")).toMatchObject([{ Count: -1 }]);
    expect(await inspect(".HostConfig.IpcMode")).toBe("host");
    expect(await inspect(".HostConfig.RestartPolicy.Name")).toBe("unless-stopped");
    expect(await inspect(".HostConfig.PortBindings")).toEqual({
      [`${parts.portB}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: String(parts.portB) }],
    });
    expect(await inspect(".Config.Healthcheck.StartPeriod")).toBe(45 * 60 * 1e9);
    expect(await inspect(".HostConfig.Ulimits")).toContainEqual({
      Name: "memlock",
      Soft: 65536,
      Hard: 65536,
    });
  });

  it("says a warning of the plan once, whether a preview came before or not", async () => {
    for (const flags of [[], ["--skip-preview"]]) {
      const up = await workspace.up(...flags);
      const said = up.stdout + up.stderr;
      expect(said.match(/its KV cache isn't planned\. /g), said).toHaveLength(1);
    }
  });

  it("serves the declared name first and the hub id as an alias", async () => {
    const models = async () => {
      const answer = await fetch(`http://127.0.0.1:${parts.portB}/v1/models`).catch(
        () => undefined,
      );
      return (
        (await answer?.json()) as { data: { id: string; max_model_len: number }[] } | undefined
      )?.data;
    };
    await expect.poll(models).toBeDefined();
    expect((await models())?.map((each) => [each.id, each.max_model_len])).toEqual([
      [`model-${parts.unique}`, 4096],
      ["org/model", 4096],
    ]);
  });

  it("makes the model cache as the operator's own folder", () => {
    const cache = statSync(join(workspace.home, ".cache/huggingface"));
    expect(cache.isDirectory()).toBe(true);
    expect(cache.uid).toBe(process.getuid?.());
  });

  it("tells where it is and how the memory adds up, and nothing secret", async () => {
    expect(await workspace.outputs()).toEqual({
      endpoints: {
        dgx: {
          "instance-a": `http://127.0.0.1:${parts.portA}/v1`,
          b: `http://127.0.0.1:${parts.portB}/v1`,
        },
      },
      clients: { dgx: {} },
      memory: { dgx: { leftGiB: expect.any(Number) } },
    });
  });

  it("changes nothing at the second `up`, nor when the machine is read again", async () => {
    const id = await inspect(".Id");
    expect(steps(await workspace.up())).toEqual([]);
    const refreshed = await workspace.preview("--refresh", "--diff", "--expect-no-changes");
    expect(refreshed, refreshed.stdout).toMatchObject({ code: 0, steps: [] });
    expect(await inspect(".Id")).toBe(id);
  });

  /**
   * What every change writes down: the machine's facts for the policies, and the plan that was
   * applied.
   */
  const isRecord = (step: string) => / Machine | dgx-applied-plan$/.test(step);
  /** Or for the start gates: what each server takes. */
  const isFile = (step: string) => isRecord(step) || step.endsWith(" dgx-start-gate");
  const REPLACES_CONTAINER = [
    "create-replacement Container dgx-b",
    "delete-replaced Container dgx-b",
    "replace Container dgx-b",
  ];
  it.each<[string, object, string[], RegExp]>([
    ["utilization", { gpuMemoryUtilization: 0.03 }, ["command"], /"0\.02" => "0\.03"/],
    [
      "tool parser",
      { tools: { parser: "qwen3_xml" } },
      ["command"],
      /"qwen3_coder" => "qwen3_xml"/,
    ],
    [
      "a variable",
      { environment: { NCCL_DEBUG: "INFO" } },
      ["envs"],
      /\+ \[\d+\]: "NCCL_DEBUG=INFO"|"NCCL_DEBUG=INFO"/,
    ],
    [
      "health check",
      { healthcheck: { intervalSeconds: 2 } },
      ["healthcheck"],
      /interval\s*: "1s" => "2s"/,
    ],
  ])(
    "a change of %s replaces the container and nothing else",
    async (_, server, diffs, sentence) => {
      const preview = await previewOf(server);
      expect(steps(preview).filter((step) => !isFile(step))).toEqual(REPLACES_CONTAINER);
      expect(
        preview.steps.find(({ op, name }) => op === "replace" && name === "dgx-b")?.diffs,
      ).toEqual(diffs);
      expect(preview.stdout).toMatch(sentence);
    },
  );

  it("one changed flag is read in 60 lines, the container's change among the first 30", async () => {
    const lines = (await previewOf({ maxNumSeqs: 8 })).stdout.split("\n");
    expect(lines.length, lines.join("\n")).toBeLessThanOrEqual(60);
    const at = lines.findIndex(
      (line) => line.includes("--max-num-seqs") || line.includes('=> "8"'),
    );
    expect(at).toBeGreaterThan(0);
    expect(at).toBeLessThan(30);
  });

  it.each<[string, string[]]>([
    ["alone", []],
    ["beside the policy pack", ["--policy-pack", "policies"]],
  ])("a preview that is refused shows all, fails, and says why once: %s", async (_, flags) => {
    const preview = await previewOf({ gpuMemoryUtilization: 0.95 }, {}, ...flags);
    const said = preview.stdout + preview.stderr;
    expect(preview.code, said).not.toBe(0);
    expect(steps(preview)).toEqual(expect.arrayContaining(REPLACES_CONTAINER));
    expect(preview.steps.filter(({ op }) => op === "delete")).toEqual([]);
    expect(said.match(/claim 0\.97 of its memory, and 0\.90 is the limit\./g), said).toHaveLength(
      1,
    );
    expect(said).toContain("Refused, and nothing was changed:\n");
    expect(said).not.toMatch(/^ +at .*:\d+:\d+/m);
    expect(said).not.toContain("--outputs:--");
  });

  it("a change of the image pulls it and replaces the container", async () => {
    const preview = await previewOf({ image: newer.reference });
    expect(steps(preview).filter((step) => step.startsWith("replace"))).toEqual([
      "replace Container dgx-b",
      "replace RemoteImage dgx-b-image",
    ]);
    expect(preview.stdout).toContain(`"${parts.image.reference}" => "${newer.reference}"`);
  });

  it("a new served name replaces the container under its new name", async () => {
    const preview = await previewOf({ servedModelName: "other" });
    expect(steps(preview).filter((step) => step.startsWith("replace"))).toEqual([
      "replace Container dgx-b",
    ]);
    expect(preview.stdout).toContain(`"${container}" => "vllm-other-${parts.portB}"`);
  });

  it("another model cache makes the folder and replaces the container", async () => {
    const preview = await previewOf({}, { modelCache: "~/models" });
    expect(steps(preview).filter((step) => !isRecord(step))).toEqual(
      [...REPLACES_CONTAINER, "update Command dgx-b-model-cache"].sort(),
    );
    expect(preview.stdout).toContain(
      `"${workspace.home}/.cache/huggingface" => "${workspace.home}/models"`,
    );
  });

  it("a corrected version record and a corrected declaration of A restart nothing", async () => {
    const preview = await previewOf(
      {
        versions: {
          vllm: "0.30.0",
          transformers: "5.11.0",
          evidence: "read",
          digest: digestOf(parts.image),
          source: "test",
        },
      },
      { instanceA: { port: parts.portA, gpuMemoryUtilization: 2 * SHARE, maxModelLen: 131072 } },
    );
    expect(preview.code).toBe(0);
    // The start gate reads what is declared of A from a file.
    expect(
      steps(preview).filter(
        (step) => /Container dgx|RemoteImage|Command/.test(step) && !isRecord(step),
      ),
    ).toEqual(["update Command dgx-start-gate"]);
    expect(preview.stdout).toContain('"5.10.4" => "5.11.0"');
  });

  it("another memory floor and budget of starts reach the gate of the container that runs, which stays", async () => {
    const id = await inspect(".Id");
    const changed = stackConfig(parts, {}, { memoryFloorGiB: 0.5, startsPerHour: 5 });
    workspace.configure(changed);
    const up = await workspace.up();
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(steps(up)).toContain("update Command dgx-start-gate");
    expect(steps(up).filter((step) => !step.startsWith("same") && !isFile(step))).toEqual([]);
    expect(await inspect(".Id")).toBe(id);
    const declared = await mustRun("docker", ["exec", container, "cat", "/run/local-serving/gate"]);
    expect(declared.split("\n").slice(1, 3)).toEqual(["floor 512", "starts 5"]);
    expect((await workspace.preview("--expect-no-changes")).code).toBe(0);
    workspace.configure(stackConfig(parts));
    expect((await workspace.up()).code).toBe(0);
    expect(await inspect(".Id")).toBe(id);
  });

  it("really replaces: a changed utilization and image run afterwards, with the compiled kernels' volume kept", async () => {
    const volume = await kernels();
    await mustRun("docker", ["exec", container, "/bin/sh", "-c", "echo kept > /jit-cache/kernel"]);
    workspace.configure(
      stackConfig(parts, {
        gpuMemoryUtilization: 0.03,
        image: newer.reference,
        huggingFaceTokenVariable: "TEST_HF_TOKEN",
      }),
    );
    const up = await workspace.up();
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(up.stdout + up.stderr).not.toContain(TOKEN);
    expect(await inspect(".Config.Image")).toBe(newer.reference);
    expect((await inspect(".Config.Cmd")) as string[]).toContain("0.03");
    expect(await kernels()).toBe(volume);
    expect(
      await mustRun("docker", ["exec", container, "/bin/sh", "-c", "cat /jit-cache/kernel"]),
    ).toBe("kept");
    expect((await workspace.preview("--refresh", "--expect-no-changes")).code).toBe(0);
  });

  it("hands over a token as a file that nobody else reads, and nowhere else", async () => {
    const inside = ["exec", container, "/bin/sh", "-c", 'cat "$HF_TOKEN_PATH"'];
    expect(await mustRun("docker", inside)).toBe(TOKEN);
    const file = join(
      workspace.home,
      ".local/share/local-serving/dgx/secrets/b-hugging-face-token",
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await mustRun("docker", ["inspect", container])).not.toContain(TOKEN);
    expect(await workspace.state()).not.toContain(TOKEN);
    expect(readFileSync(appliedPlan(), "utf8")).not.toContain(TOKEN);
  });

  it("keeps the plan that was applied on the machine", () => {
    const utilization = () =>
      (
        JSON.parse(readFileSync(appliedPlan(), "utf8")) as {
          machine: { ledger: { aggregateUtilization: number } };
        }
      ).machine.ledger.aggregateUtilization;
    expect(utilization()).toBe(0.05);
  });

  it("stops a plain `up` at 0.95 before the first resource, with the figures", async () => {
    const id = await inspect(".Id");
    workspace.configure(stackConfig(parts, { gpuMemoryUtilization: 0.95 }));
    const up = await workspace.up("--skip-preview");
    expect(up.code).not.toBe(0);
    expect(steps(up).filter((step) => !step.includes("Stack"))).toEqual([]);
    expect(up.stdout + up.stderr).toContain("Refused, and nothing was changed:");
    expect(up.stdout + up.stderr).toMatch(/aggregate-utilization: .*0\.97/);
    expect(up.stdout + up.stderr).not.toContain("    at ");
    expect(await inspect(".Id")).toBe(id);
  });

  it("leaves instance A as it was: the same process, answering, throughout", async () => {
    expect(instanceA.startTime()).toBe(startOfA);
    expect(await instanceA.answers()).toBe(true);
  });

  it("is gone after `down`, with models and images kept and A untouched", async () => {
    const models = join(workspace.home, ".cache/huggingface/hub");
    mkdirSync(models, { recursive: true });
    writeFileSync(join(models, "weights"), "kept");
    workspace.configure(stackConfig(parts));
    expect(await workspace.destroy()).toMatchObject({ code: 0 });
    expect((await run("docker", ["inspect", container])).code).not.toBe(0);
    expect((await run("docker", ["network", "inspect", `net-${parts.unique}`])).code).not.toBe(0);
    expect((await run("docker", ["volume", "inspect", `net-${parts.unique}-b-jit`])).code).not.toBe(
      0,
    );
    expect(existsSync(join(models, "weights"))).toBe(true);
    expect(existsSync(join(workspace.home, ".local"))).toBe(false);
    await mustRun("docker", ["image", "inspect", parts.image.reference]);
    expect(instanceA.startTime()).toBe(startOfA);
    expect(await instanceA.answers()).toBe(true);
  });
});
