import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { makeImage } from "../../docker/makeImage";
import { describeEngineWithDocker } from "../../engine/available";
import { SHARE, TOTAL_GIB } from "../../engine/stackConfig";
import { Workspace } from "../../engine/workspace";
import { mustRun, run } from "../../layers/run";
import { FORWARD } from "./forward";
import { type OwnDaemon, startOwnDaemon } from "./ownDaemon";

describeEngineWithDocker("a disk that is too small for an image", () => {
  let daemon: OwnDaemon;
  let workspace: Workspace;
  let image: string;
  let forwarder: ChildProcess | undefined;
  const registry = createServer((from) => {
    const to = connect(Number(image.split(/[:/]/)[1]), "127.0.0.1");
    for (const end of [from, to]) end.on("error", () => [from, to].map((each) => each.destroy()));
    from.pipe(to).pipe(from);
  });

  beforeAll(async () => {
    const made = await makeImage(inject("dockerLayer"), {
      repository: "berriai/litellm",
      tag: "v1",
    });
    image = made.reference;
    daemon = await startOwnDaemon();
    registry.listen(join(daemon.folder, "registry.sock"));
    workspace = await Workspace.open({ env: { BRIDGE_KEY: "s3cret-NoOutputMayHoldThis" } });
    workspace.configure({
      "local-serving:machines": {
        dgx: {
          ...{ totalGiB: TOTAL_GIB, network: "net-full-disk", operatingSystemGiB: 1 },
          dockerHost: `unix://${daemon.folder}/docker.sock`,
          instanceA: {
            port: 8999,
            gpuMemoryUtilization: SHARE,
            servedModelName: "old",
            maxModelLen: 131072,
          },
          bridge: { image, port: 8998, servers: ["instance-a"] },
        },
      },
    });
  });
  afterAll(async () => {
    await workspace?.close();
    forwarder?.kill();
    registry.close();
    await daemon?.stop();
    await run("umount", [join(daemon?.folder ?? "", "data")]);
    await daemon?.close();
  });

  const up = async () => {
    const engine = join(workspace.project, "bundle/serving.cjs");
    const args = [engine, "up", "--yes", "--stack", workspace.stack];
    return run("node", args, { cwd: workspace.project, env: workspace.env });
  };
  /** The daemon's own folder on a disk of so many MB. */
  const onDisk = async (megabytes: number) => {
    await daemon.stop();
    const data = join(daemon.folder, "data");
    mkdirSync(data, { recursive: true });
    await run("umount", [data]);
    await mustRun("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", data]);
    await daemon.start();
    // The daemon has a network of its own, in which the tests' registry is not.
    forwarder?.kill();
    const network = [
      "--target",
      readFileSync(join(daemon.folder, "dockerd.pid"), "utf8").trim(),
      "--net",
    ];
    await mustRun("nsenter", [...network, "ip", "link", "set", "lo", "up"]);
    const port = image.split(/[:/]/)[1] ?? "";
    const forward = ["node", "-e", FORWARD, port, join(daemon.folder, "registry.sock")];
    forwarder = spawn("nsenter", [...network, ...forward], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (forwarder.stdout !== null) await once(forwarder.stdout, "data");
  };

  it("is told before anything is pulled, by what is missing", async () => {
    await onDisk(40);
    const { code, stdout, stderr } = await up();
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain("serving fetch");
    expect(await daemon.docker("images", "--quiet")).toBe("");
  });

  it("is told by `serving fetch`, where the image takes more than was foreseen and the provider keeps the cause", async () => {
    await onDisk(130);
    const { code, stderr } = await up();
    expect(code).not.toBe(0);
    expect(stderr.slice(stderr.lastIndexOf("The image"))).toBe(
      `The image ${image} could not be fetched: the Docker provider doesn't say why. \`serving fetch\` names the cause, then run \`serving up\` again (\`serving fetch\` loads everything first).\n`,
    );
    const fetch = await run("node", ["bundle/serving.cjs", "fetch", "--stack", workspace.stack], {
      cwd: workspace.project,
      env: workspace.env,
    });
    expect(fetch.code).toBe(1);
    expect(fetch.stdout + fetch.stderr).toContain(
      `The image ${image} could not be fetched: the disk is full. Free some`,
    );
    expect(await daemon.docker("images", "--quiet")).toBe("");
  });
});
