import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { gatedEntrypoint } from "../../components/inference-server/startGate";
import { mustRun, run } from "../layers/run";
import { describeDocker } from "./available";
import { type PinnedImage, pinnedImage } from "./image";

const TOTAL_KIB = 100 * 1024 ** 2;
/** 45 of 100 GiB, with an A of 30. */
const ARGUMENTS = ["org/m", "--served-model-name", "m", "--gpu-memory-utilization", "0.45", "--port", "8001"];
/** The gate counts its sleeps of five seconds. */
const SLEEPS_A_MINUTE = 12;
const DEAD = "http://host.docker.internal:9/health";

describeDocker("a container behind the start gate", () => {
  let image: PinnedImage;
  let folder: string;
  let container: string | undefined;
  let instanceA: Server | undefined;

  beforeAll(async () => {
    image = await pinnedImage();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "start-gate-"));
    // The gate's sleeps of five seconds take a twentieth of one; it counts sleeps, not seconds.
    writeFileSync(join(folder, "sleep"), "#!/bin/sh\necho >> /count/sleeps; exec /bin/sleep 0.05\n");
    mkdirSync(join(folder, "count"));
    chmodSync(join(folder, "sleep"), 0o755);
  });
  afterEach(async () => {
    if (container !== undefined) await run("docker", ["rm", "--force", container]);
    instanceA?.closeAllConnections();
    instanceA?.close();
    [container, instanceA] = [undefined, undefined];
    rmSync(folder, { recursive: true });
  });
  afterAll(async () => {
    await run("docker", ["rmi", "--force", image.tag]);
  });

  /** Figures of one length, so that the file that the container has mounted is written over in one piece. */
  const available = (gib: number) => {
    const kib = String(Math.round(gib * 1024 ** 2)).padStart(12);
    writeFileSync(join(folder, "meminfo"), `MemTotal: ${TOTAL_KIB} kB\nMemAvailable: ${kib} kB\n`, {
      flag: existsSync(join(folder, "meminfo")) ? "r+" : "w",
    });
  };
  const start = async (declared = "", options: string[] = [], slow = false) => {
    mkdirSync(join(folder, "gate"));
    writeFileSync(join(folder, "gate/instance-a"), declared);
    const [entrypoint = "", ...words] = gatedEntrypoint();
    container = await mustRun("docker", [
      ...["run", "--detach", "--add-host", "host.docker.internal:host-gateway"],
      ...["--volume", `${folder}/meminfo:/proc/meminfo:ro`],
      ...(slow
        ? []
        : ["--volume", `${folder}/sleep:/usr/local/bin/sleep:ro`, "--volume", `${folder}/count:/count`]),
      ...["--volume", `${folder}/gate:/run/local-serving:ro`],
      ...options,
      ...["--entrypoint", entrypoint, image.reference, ...words, ...ARGUMENTS],
    ]);
  };
  const said = async () => {
    const { stdout, stderr } = await run("docker", ["logs", container ?? ""]);
    return stdout + stderr;
  };
  const says = (words: string) => expect.poll(said, { interval: 100 }).toContain(words);
  const serves = () => says("Application startup complete.");
  const sleeps = () => {
    const file = join(folder, "count/sleeps");
    return existsSync(file) ? readFileSync(file, "utf8").length : 0;
  };
  const inspect = (fields: string) => mustRun("docker", ["inspect", "--format", fields, container ?? ""]);
  const declared = (url: string, seconds = 1800) => `a_share=0.3\na_seconds=${seconds}\na_url=${url}\n`;
  const listen = async () => {
    const server = createServer((_, answer) => answer.end());
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    instanceA = server;
    return `http://host.docker.internal:${(server.address() as AddressInfo).port}/health`;
  };
  const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  it("A first: starts beside an A that answers, with vLLM's own arguments", async () => {
    available(46);
    await start(declared(await listen()));
    await serves();
    expect(await said()).toContain(JSON.stringify(["serve", ...ARGUMENTS]));
    expect(await said()).not.toContain("start gate");
  });

  it("B first: waits while an A that is declared has not got its share, and starts once there is room for both", async () => {
    available(70);
    await start(declared(DEAD));
    await says("70.00 GiB are available, 45.00 are needed; waiting for instance A");
    await pause(500);
    expect(await said()).not.toContain("vLLM API server");
    available(75);
    await serves();
  });

  it("A absent by design: starts at once", async () => {
    available(45);
    await start();
    await serves();
    expect(await said()).not.toContain("start gate");
  });

  it("A declared but dead: starts when its time is over and memory is steady", async () => {
    available(60);
    await start(declared(DEAD, 60));
    await serves();
    expect(await said()).toMatch(
      /instance A did not answer for \d+ s, and 60\.00 GiB have been available for a minute/,
    );
  });

  it("memory that frees slowly: waits for it", async () => {
    available(20);
    await start();
    await says("start gate: waiting for 45.00 GiB (0.45 of the memory), 20.00 GiB are available");
    for (const gib of [30, 40, 44]) {
      available(gib);
      await pause(200);
    }
    expect(await said()).not.toContain("vLLM API server");
    available(50);
    await serves();
  });

  it("never enough: stays inside, also after a restart of its own, and restarts nothing", async () => {
    available(20);
    await start("", ["--restart", "unless-stopped"]);
    await says("start gate: waiting");
    await pause(1000);
    const restarts = () => inspect("{{.RestartCount}} {{.State.Running}}");
    expect(await restarts()).toBe("0 true");
    await mustRun("docker", ["restart", container ?? ""]);
    await pause(500);
    expect(await said()).not.toContain("vLLM API server");
    expect(await restarts()).toBe("0 true");
  });

  it("a server that crashes goes through the gate again", async () => {
    available(50);
    await start("", ["--restart", "unless-stopped"]);
    await serves();
    available(20);
    // Killed from inside, as by the kernel: a kill by Docker would count as a stop.
    await run("docker", ["exec", container ?? "", "/bin/sh", "-c", "kill -TERM 1"]);
    await says("start gate: waiting for 45.00 GiB");
    available(50);
    await says("start gate: open after");
  });

  it("a server that crashes in a loop: the loop ends in the gate once memory is gone", async () => {
    writeFileSync(join(folder, "vllm"), "#!/bin/sh\necho crash; exit 1\n", { mode: 0o755 });
    available(50);
    await start("", ["--restart", "unless-stopped", "--volume", `${folder}/vllm:/usr/local/bin/vllm:ro`]);
    await expect.poll(() => inspect("{{.RestartCount}}").then(Number)).toBeGreaterThan(2);
    expect(await said()).not.toContain("start gate");
    available(20);
    await says("start gate: waiting for 45.00 GiB");
    const [crashes, restarts] = [(await said()).match(/crash/g)?.length, await inspect("{{.RestartCount}}")];
    await pause(1000);
    expect((await said()).match(/crash/g)?.length).toBe(crashes);
    expect(await inspect("{{.RestartCount}} {{.State.Running}}")).toBe(`${restarts} true`);
  });

  it("says what it waits for in one line a minute of its own count", async () => {
    available(20);
    await start();
    await expect.poll(sleeps).toBeGreaterThan(3 * SLEEPS_A_MINUTE);
    const before = sleeps();
    const lines = (await said()).trim().split("\n").length;
    // Of the sleeps one is under way.
    expect(lines).toBeGreaterThanOrEqual(1 + Math.floor((before - 1) / SLEEPS_A_MINUTE));
    expect(lines).toBeLessThanOrEqual(1 + Math.floor(sleeps() / SLEEPS_A_MINUTE));
  });

  it("with room it costs nothing: no line, no sleep, and the server is process 1", async () => {
    available(80);
    await start(declared(DEAD));
    await serves();
    expect(await said()).not.toContain("start gate");
    expect(sleeps()).toBe(0);
    const first = await mustRun("docker", ["exec", container ?? "", "cat", "/proc/1/cmdline"]);
    expect(first.split("\0").slice(1, 3)).toEqual(["/opt/stand-in/vllm.cjs", "serve"]);
  });

  it("`docker stop` ends it at once while it waits", async () => {
    available(20);
    await start("", [], true);
    await says("start gate: waiting");
    await mustRun("docker", ["stop", "--time", "30", container ?? ""]);
    expect(await inspect("{{.State.ExitCode}}")).toBe("143");
  });
});
