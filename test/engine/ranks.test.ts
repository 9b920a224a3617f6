import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { link, twoMachines } from "../fixtures/ranks";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { describeEngineWithGpus } from "./available";
import { DaemonProxy } from "./daemonProxy";
import { machinesProgram } from "./machinesProgram";
import type { Update } from "./update";
import { Workspace } from "./workspace";

/** More than any computer has free: the start gates wait, and nothing of vLLM runs. */
const NEVER_FREE = { totalGiB: 4000, gpuMemoryUtilization: 0.5 };

describeEngineWithGpus(
  "a server over two machines, which here are two sockets of one daemon",
  () => {
    let workspace: Workspace;
    let proxy: DaemonProxy;
    let image: PinnedImage;
    let unique: string;
    let port: number;
    let folder: string;

    const configOf = (server: Record<string, unknown> = {}) => {
      const { totalGiB, gpuMemoryUtilization } = NEVER_FREE;
      const machine = (last: number, more: Record<string, unknown>) => ({
        ...{ totalGiB, link: link(last), network: `net${last}-${unique}` },
        ...more,
      });
      const machines = twoMachines(
        {
          ...{
            image: image.reference,
            servedModelName: `model-${unique}`,
            port,
            gpuMemoryUtilization,
            masterPort: 29600,
          },
          ...{ lockedMemoryBytes: 65536, stopGraceSeconds: 3, maxModelLen: 4096, ...server },
        },
        machine(1, { dockerHost: process.env.DOCKER_HOST ?? "unix:///var/run/docker.sock" }),
        machine(2, { dockerHost: `unix://${proxy.path}` }),
      );
      return { "local-serving:machines": machines };
    };
    const containers = (update: Update) =>
      update.steps
        .filter(({ type }) => type.endsWith(":Container"))
        .map(({ op, name }) => `${op} ${name}`);
    const inspect = async (name: string, format: string): Promise<unknown> =>
      JSON.parse(await mustRun("docker", ["inspect", "--format", `{{json ${format}}}`, name]));

    beforeAll(async () => {
      [image, port] = [await pinnedImage(), await freePort()];
      unique = `r${port}`;
      folder = temporaryFolder("ranks-");
      proxy = new DaemonProxy(join(folder, "second.sock"));
      await proxy.start();
      workspace = await Workspace.open({ program: machinesProgram(), config: configOf() });
    });

    afterAll(async () => {
      await workspace.close();
      await proxy.stop();
      rmSync(folder, { recursive: true });
    });

    it("is made worker first, head last, as the plan has it", async () => {
      const up = await workspace.up("--skip-preview");
      expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
      expect(containers(up)).toEqual(["create dgx2-dgx1.b", "create dgx1-b"]);
      for (const name of [`vllm-model-${unique}-${port}`, `vllm-model-${unique}-${port}-rank1`]) {
        expect(await inspect(name, ".State.Running")).toBe(true);
        expect(await inspect(name, ".HostConfig")).toMatchObject({
          ...{ NetworkMode: "host", IpcMode: "private", ShmSize: 64 * 1024 ** 3 },
          Devices: [
            { PathOnHost: "/dev/null", PathInContainer: "/dev/null", CgroupPermissions: "rwm" },
          ],
          CapAdd: ["CAP_IPC_LOCK"],
        });
      }
    });

    it("has no change in the next preview, nor after a look at what runs", async () => {
      expect((await workspace.preview("--diff")).steps).toEqual([]);
      expect((await workspace.refresh()).code).toBe(0);
      expect((await workspace.preview("--diff")).steps).toEqual([]);
    });

    it("is replaced on both machines by one change, the head ended first and started last", async () => {
      workspace.configure(configOf({ maxModelLen: 8192 }));
      const up = await workspace.up("--skip-preview");
      expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
      expect(containers(up)).toEqual([
        ...["delete-replaced dgx1-b", "delete-replaced dgx2-dgx1.b", "replace dgx2-dgx1.b"],
        ...["create-replacement dgx2-dgx1.b", "replace dgx1-b", "create-replacement dgx1-b"],
      ]);
    });

    it("goes head first, worker last", async () => {
      const down = await workspace.destroy("--skip-preview");
      expect(down, down.stdout + down.stderr).toMatchObject({ code: 0 });
      expect(containers(down)).toEqual(["delete dgx1-b", "delete dgx2-dgx1.b"]);
    });
  },
);
