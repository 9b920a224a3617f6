import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../../docker/image";
import { makeImage } from "../../docker/makeImage";
import { startRegistry } from "../../docker/registry";
import { describeEngineWithGpus } from "../../engine/available";
import { DaemonProxy } from "../../engine/daemonProxy";
import { VerifiedStack } from "../../engine/verifiedStack";
import { mustRun, run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";

const VERIFIED = ["up", "--verified", "--yes"];

/** Bytes of the disk that holds the record and the applied plan. */
const DISK = 1_000_000;

describeEngineWithGpus("`serving up --verified` while something goes away", () => {
  const folder = temporaryFolder("gone-away-");
  const disk = join(folder, "disk");
  let proxy: DaemonProxy;
  let stack: VerifiedStack;
  let right: PinnedImage;

  beforeAll(async () => {
    proxy = new DaemonProxy(join(folder, "docker.sock"));
    await proxy.start();
    mkdirSync(disk);
    await mustRun("mount", ["-t", "tmpfs", "-o", `size=${DISK}`, "tmpfs", disk]);
    const machine = { dockerHost: `unix://${proxy.path}`, stateDirectory: disk };
    stack = await VerifiedStack.open(undefined, { machine });
    right = await pinnedImage();
  }, 600_000);
  afterAll(async () => {
    await stack.close();
    await proxy.stop();
    await run("umount", [disk]);
  });

  const isOld = async (said: string) => {
    expect((await stack.running()).image, said).toBe(stack.parts.image.reference);
    expect(await stack.callsTools(), said).toBe(true);
  };

  it("the registry: nothing is touched", async () => {
    const layer = inject("dockerLayer");
    if (layer.missing !== undefined) throw new Error(layer.missing);
    const own = await startRegistry(temporaryFolder("registry-"));
    const image = await makeImage({ ...layer, registry: own.address });
    await mustRun("docker", ["rmi", "--force", image.tag, image.reference]);
    own.stop();
    stack.configure(image);
    const { code, stdout, stderr } = await stack.serving(...VERIFIED);
    expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([1, "Nothing was changed."]);
    await isOld(stdout + stderr);
  });

  it("the room on the disk: nothing is touched", async () => {
    const filler = join(disk, "filler");
    await run("dd", ["if=/dev/zero", `of=${filler}`, "bs=4096"]);
    stack.configure(right);
    const { code, stdout, stderr } = await stack.serving(...VERIFIED);
    rmSync(filler);
    expect(code, stdout + stderr).toBe(1);
    expect(stderr).toMatch(/update\.json, the record of how far the update is, can't be written: /);
    await isOld(stdout + stderr);
  });

  it("the daemon: the next `serving up` finishes it", async () => {
    proxy.goneAtRequest("/containers/create");
    stack.configure(right);
    const away = await stack.serving(...VERIFIED);
    expect(away.code, away.stdout + away.stderr).toBe(1);
    expect(away.stderr).toContain("`serving up` finishes it once it answers.");
    await proxy.start();
    const next = await stack.serving("up", "--yes");
    expect(next.code, next.stdout + next.stderr).toBe(0);
    expect(next.stderr).toContain("was interrupted: it was applying the stack file.");
    expect((await stack.running()).image).toBe(right.reference);
    expect(await stack.callsTools()).toBe(true);
    expect(existsSync(join(disk, "dgx/update.json"))).toBe(false);
  });
});
