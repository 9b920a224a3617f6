import { chmodSync, existsSync, mkdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { gatedEntrypoint } from "../../../components/inference-server/startGate";
import { copyTools } from "../../docker/rootfs";
import { mustRun } from "../../layers/run";
import { type OwnDaemon, startOwnDaemon } from "./ownDaemon";
import { remainsOf } from "./remains";

const IMAGE = "start-gate:test";
const TOTAL_KIB = 100 * 1024 ** 2;
const ARGUMENTS = ["org/m", "--gpu-memory-utilization", "0.45", "--port", "8001"];
const NAME = "vllm-m-8001";
/** The server takes 45 GiB and gets six seconds to end. */
const SERVER = `floor 2048\nstarts 3\nserver ${NAME} 46080 6 8001\n`;
/** With an A of 30 GiB. */
const DECLARED_A = `instance-a 30720 1800 http://192.0.2.1/health\n${SERVER}`;

/**
 * What the image's `vllm` says once it has been started, which is when it would take its memory.
 */
const STARTED = "vllm serve org/m";

const PROGRAMS = {
  // A shell's `exec sleep` would be process 1, which TERM does not end.
  vllm: 'trap "exit 0" TERM; echo "vllm $*"; /bin/sleep 600 & wait $!',
  // The container has no network; instance A answers where its file lies.
  curl: "[ -e /run/local-serving/answers ]",
  // The gate's sleeps of five seconds take a twentieth of one; it counts sleeps, not seconds.
  sleep: "exec /bin/sleep 0.05",
};

const { missing } = inject("ownDaemon");
const title = (text: string) => (missing === undefined ? text : `${text} (skipped: ${missing})`);
const describeOwnDaemon = (text: string, tests: () => void) =>
  describe.skipIf(missing !== undefined)(title(text), tests);

/**
 * Docker's restart policy starts a container again with the daemon, whatever has happened to memory
 * meanwhile.
 */
describeOwnDaemon("a container behind the start gate, and a restart of the Docker daemon", () => {
  let daemon: OwnDaemon;
  let container: string | undefined;
  let folder: string;

  beforeAll(async () => {
    daemon = await startOwnDaemon();
    folder = daemon.folder;
    for (const name of ["gate", "shared"]) mkdirSync(join(folder, name));
    await makeImage(daemon);
  });
  afterEach(async () => {
    if (container !== undefined) await daemon.docker("rm", "--force", container);
    container = undefined;
    rmSync(join(folder, "gate/answers"), { force: true });
  });
  afterAll(() => daemon?.close());

  /**
   * Figures of one length, so that the file that the container has mounted is written over in one
   * piece.
   */
  const available = (gib: number) => {
    const kib = String(Math.round(gib * 1024 ** 2)).padStart(12);
    writeFileSync(join(folder, "meminfo"), `MemTotal: ${TOTAL_KIB} kB\nMemAvailable: ${kib} kB\n`, {
      flag: existsSync(join(folder, "meminfo")) ? "r+" : "w",
    });
  };
  const start = async (declared = SERVER) => {
    writeFileSync(join(folder, "gate/gate"), declared);
    const [entrypoint = "", ...words] = gatedEntrypoint(NAME);
    container = await daemon.docker(
      ...["run", "--detach", "--restart", "unless-stopped", "--network", "none"],
      ...[
        "--volume",
        `${folder}/meminfo:/proc/meminfo:ro`,
        "--volume",
        `${folder}/gate:/run/local-serving:ro`,
        "--volume",
        `${folder}/shared:/var/lib/local-serving`,
      ],
      ...["--entrypoint", entrypoint, IMAGE, ...words, ...ARGUMENTS],
    );
  };
  const said = (since = "0") => daemon.docker("logs", "--since", since, container ?? "");
  const says = (words: string, since?: string) =>
    expect.poll(() => said(since), { timeout: 10_000, interval: 100 }).toContain(words);
  const starts = async () => (await said()).split(STARTED).length - 1;
  const state = (field: string) =>
    daemon.docker("inspect", "--format", `{{.State.${field}}}`, container ?? "");
  const startAgain = async () => {
    const before = new Date().toISOString();
    await daemon.start();
    return before;
  };
  /** It says so once a minute of its own count. */
  const waitsForAMinute = (since: string) =>
    expect
      .poll(async () => (await said(since)).match(/^start gate: .*waiting/gm)?.length ?? 0, {
        timeout: 10_000,
      })
      .toBeGreaterThan(1);
  const ENDS = [
    ["stopped", () => daemon.stop()],
    ["ended by a loss of power", () => daemon.losePower()],
  ] as const;

  it.each(ENDS)(
    "%s while the gate waits: waits again, and starts once there is room",
    async (_, end) => {
      // Enough for B alone; instance A would find 25 of its 30 GiB.
      available(70);
      await start(DECLARED_A);
      const waits = "70.00 GiB are available, 45.00 GiB are needed; waiting for instance A";
      await says(waits);
      await end();
      const again = await startAgain();
      await says(waits, again);
      await waitsForAMinute(again);
      expect(await starts()).toBe(0);
      expect(await state("Running")).toBe("true");
      available(75);
      await says(STARTED);
      expect(await said(again)).toMatch(/start gate: open after \d+ s, 75\.00 GiB are available/);
      expect(await starts()).toBe(1);
    },
  );

  it.each(ENDS)(
    "%s while B runs: starts again at once with room, else only when there is room",
    async (_, end) => {
      available(50);
      await start();
      await says(STARTED);
      await end();
      await says(STARTED, await startAgain());
      expect(await said()).not.toContain("waiting");
      await end();
      available(20);
      const again = await startAgain();
      await says("start gate: waiting for 45.00 GiB, 20.00 GiB are available", again);
      await waitsForAMinute(again);
      expect(await starts()).toBe(2);
      available(50);
      await says(STARTED, again);
      expect(await starts()).toBe(3);
    },
  );

  it("stopped while the gate waits: starts at once beside an instance A that answers by then", async () => {
    available(70);
    await start(DECLARED_A);
    await says("waiting for instance A");
    await daemon.stop();
    writeFileSync(join(folder, "gate/answers"), "");
    available(46);
    const again = await startAgain();
    await says(STARTED, again);
    expect(await said(again)).not.toContain("waiting");
  });

  it("killed while B runs: B runs on and is ended by the next daemon, and a start by hand goes through the gate", async () => {
    available(50);
    await start();
    await says(STARTED);
    const b = Number(await state("Pid"));
    await daemon.kill();
    expect(remainsOf(daemon.folder).processes).toContain(b);
    available(20);
    const again = await startAgain();
    // Docker takes its own ending of B for a stop by hand, and doesn't start B again.
    expect(remainsOf(daemon.folder).processes).not.toContain(b);
    await daemon.docker("start", container ?? "");
    await says("start gate: waiting for 45.00 GiB", again);
    await waitsForAMinute(again);
    expect(await starts()).toBe(1);
    available(50);
    await says(STARTED, again);
  });

  it("a B that was stopped by hand stays stopped", async () => {
    available(20);
    await start();
    await says("start gate: waiting");
    await daemon.docker("stop", container ?? "");
    await daemon.stop();
    available(50);
    const again = await startAgain();
    await sleep(1000);
    expect(await state("Status")).toBe("exited");
    expect(await said(again)).toBe("");
  });
});

describeOwnDaemon("a Docker daemon of a test", () => {
  it("is in a network of its own, and leaves nothing behind when it was killed and B runs on", async () => {
    const daemon = await startOwnDaemon();
    try {
      await makeImage(daemon);
      const id = await daemon.docker("run", "--detach", "--network", "none", IMAGE, "vllm");
      const before = remainsOf(daemon.folder);
      expect(before.processes).toContain(
        Number(await daemon.docker("inspect", "--format", "{{.State.Pid}}", id)),
      );
      expect(before.mounts.join("\n")).toContain(`${daemon.folder}/data/`);
      expect(before.cgroups.join("\n")).toContain(id);
      const network = (pid: number) => readlinkSync(`/proc/${pid}/ns/net`);
      expect(before.processes.map(network)).not.toContain(network(process.pid));
      await daemon.kill();
    } finally {
      await daemon.close();
    }
    expect(remainsOf(daemon.folder)).toEqual({
      processes: [],
      mounts: [],
      cgroups: [],
      sockets: [],
    });
    expect(existsSync(daemon.folder)).toBe(false);
  });
});

/** A shell, its tools and the programs above: what the gate needs, and nothing to pull. */
async function makeImage({ docker, folder }: OwnDaemon): Promise<void> {
  const root = join(folder, "rootfs");
  mkdirSync(join(root, "usr/local/bin"), { recursive: true });
  await copyTools(root);
  for (const [name, body] of Object.entries(PROGRAMS)) {
    writeFileSync(join(root, "usr/local/bin", name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(root, "usr/local/bin", name), 0o755);
  }
  const archive = `${root}.tar`;
  await mustRun("tar", [
    "--create",
    "--file",
    archive,
    "--directory",
    root,
    "--owner=0",
    "--group=0",
    ".",
  ]);
  await docker("import", "--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin", archive, IMAGE);
}
