import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask } from "@local-serving/base/http/ask";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runServing } from "../../cli/runServing";
import { pinnedImage } from "../../docker/image";
import { describeEngineWithGpus } from "../../engine/available";
import { type UnitPrograms, unitPrograms } from "../../engine/on-demand/unitPrograms";
import { type StackParts, stackConfig } from "../../engine/stackConfig";
import { Workspace } from "../../engine/workspace";
import { freePort } from "../../layers/freePort";
import { mustRun } from "../../layers/run";
import { llamaSwap } from "../onDemand/rig";

/**
 * The commands around the real llama-swap and the wrapper, on a stack that the real Pulumi made: b
 * and c don't run together. systemd alone is played.
 */
const around = llamaSwap() === undefined ? describe.skip : describe;

around("commands and the real llama-swap", () => {
  describeEngineWithGpus("on a stack that was applied", () => {
    let workspace: Workspace;
    let parts: StackParts;
    let programs: UnitPrograms;
    let folder: string;
    let port: number;
    let portC: number;
    const nameOf = (key: "b" | "c") =>
      key === "b" ? `vllm-model-${parts.unique}-${parts.portB}` : `vllm-c-${parts.unique}-${portC}`;
    const modelOf = (key: "b" | "c") => `${key === "b" ? "model" : "c"}-${parts.unique}`;
    const serving = (...args: string[]) =>
      runServing([...args, "--file", join(workspace.project, "Pulumi.test.yaml")], {
        HOME: workspace.home,
        XDG_STATE_HOME: join(workspace.home, ".local/state"),
        PATH: `${programs.bin}:${process.env.PATH}`,
      });
    const json = async (...args: string[]) =>
      JSON.parse((await serving(...args, "--format", "json")).out);
    const running = async () =>
      (
        await mustRun("docker", [
          "ps",
          "--filter",
          `name=${parts.unique}`,
          "--format",
          "{{.Names}}",
        ])
      )
        .split("\n")
        .filter(Boolean);
    const said = (key: "b" | "c") =>
      ask(`http://127.0.0.1:${port}/v1/chat/completions`, {
        timeoutSeconds: 120,
        body: { model: modelOf(key), messages: [{ role: "user", content: "Say hello." }] },
      });

    beforeAll(async () => {
      process.env.LLAMA_SWAP ??= llamaSwap();
      folder = mkdtempSync(join(tmpdir(), "on-demand-"));
      programs = unitPrograms(folder);
      const portB = await freePort();
      portC = await freePort();
      port = await freePort();
      parts = { image: await pinnedImage(), portA: await freePort(), portB, unique: `s${portB}` };
      const config = stackConfig(
        parts,
        { start: "onRequest", gpuMemoryUtilization: 0.5 },
        {
          instanceA: "none",
          operatingSystemGiB: 0.1,
          memoryFloorGiB: 0,
          onDemand: { port, program: programs.program },
        },
        {
          c: {
            port: portC,
            model: { id: "org/other", family: "qwen3", thinking: true },
            servedModelName: `c-${parts.unique}`,
          },
        },
      );
      workspace = await Workspace.open({
        config,
        env: { PATH: `${programs.bin}:${process.env.PATH}` },
      });
      const up = await workspace.up("--skip-preview");
      expect(up.code, up.stdout).toBe(0);
    });
    afterAll(async () => {
      await workspace?.close();
      if (folder !== undefined) rmSync(folder, { recursive: true });
    });

    it("a request starts a server, and one for the other gives way to it", async () => {
      expect(JSON.parse((await said("b")).text).model).toBe(modelOf("b"));
      expect(await running()).toEqual([nameOf("b")]);
      expect(JSON.parse((await said("c")).text).model).toBe(modelOf("c"));
      expect(await running()).toEqual([nameOf("c")]);
    });

    it("status and drift know what runs, and that the rest is as planned", async () => {
      const status = await json("status");
      expect(
        status.machines[0].items.map(({ key, state }: Record<string, string>) => [key, state]),
      ).toEqual([
        ["b", "stopped"],
        ["c", "ready"],
        ["on-demand", "ready"],
      ]);
      expect((await serving("drift")).out).toBe("dgx: as it was applied\n");
    });

    it("serving start lets llama-swap swap, and serving stop stops", async () => {
      const start = await serving("start", "b");
      expect([start.code, start.out], start.err).toEqual([
        0,
        expect.stringMatching(new RegExp(`^${nameOf("b")} is ready \\(\\d+ s\\)\\.\n`)),
      ]);
      expect(await running()).toEqual([nameOf("b")]);
      const stop = await serving("stop", "b");
      expect(stop.code, stop.err).toBe(0);
      expect(await running()).toEqual([]);
      expect((await serving("drift")).out).toBe("dgx: as it was applied\n");
    });

    it("verify --each starts each once, and leaves what ran before", async () => {
      expect((await said("c")).status).toBe(200);
      const each = await serving("verify", "--each", "--yes", "--only", "models");
      expect(each.code, `${each.out}${each.err}`).toBe(0);
      expect(await running()).toEqual([nameOf("c")]);
    });
  });
});
