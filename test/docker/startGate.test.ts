import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { hostOf } from "../../cli/sees/host";
import { gatedEntrypoint } from "../../components/inference-server/startGate";
import { mustRun, run } from "../layers/run";
import { describeDocker } from "./available";
import { type PinnedImage, pinnedImage } from "./image";

const TOTAL_KIB = 100 * 1024 ** 2;
const ARGUMENTS = [
  "org/m",
  "--served-model-name",
  "m",
  "--gpu-memory-utilization",
  "0.45",
  "--port",
  "8001",
];
const NAME = "vllm-m-8001";
/** The server takes 45 GiB and gets six seconds to end. */
const SERVER = `floor 2048\nstarts 3\nserver ${NAME} 46080 6 http://127.0.0.1:8001/health\n`;
const DEAD = "http://host.docker.internal:9/health";

describeDocker("a container behind the start gate", () => {
  let image: PinnedImage;
  let folder: string;
  /** The newest of them. */
  let container: string | undefined;
  const containers: string[] = [];
  let instanceA: Server | undefined;

  beforeAll(async () => {
    image = await pinnedImage();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "start-gate-"));
    // The gate's sleeps of five seconds take a twentieth of one; it counts sleeps, not seconds.
    writeFileSync(join(folder, "sleep"), "#!/bin/sh\nexec /bin/sleep 0.05\n");
    chmodSync(join(folder, "sleep"), 0o755);
  });
  afterEach(async () => {
    for (const each of containers.splice(0)) await run("docker", ["rm", "--force", each]);
    instanceA?.closeAllConnections();
    instanceA?.close();
    [container, instanceA] = [undefined, undefined];
    rmSync(folder, { recursive: true });
  });

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
  const declare = (text: string) => writeFileSync(join(folder, "gate/gate"), text);
  const start = async (
    text = SERVER,
    options: string[] = [],
    { slow = false, name = NAME } = {},
  ) => {
    mkdirSync(join(folder, "gate"), { recursive: true });
    mkdirSync(join(folder, "shared"), { recursive: true });
    declare(text);
    const [entrypoint = "", ...words] = gatedEntrypoint(name);
    container = await mustRun("docker", [
      ...["run", "--detach", "--add-host", "host.docker.internal:host-gateway"],
      ...["--volume", `${folder}/meminfo:/proc/meminfo:ro`],
      ...(slow ? [] : ["--volume", `${folder}/sleep:/usr/local/bin/sleep:ro`]),
      ...["--volume", `${folder}/gate:/run/local-serving:ro`],
      ...["--volume", `${folder}/shared:/var/lib/local-serving`],
      ...options,
      ...["--entrypoint", entrypoint, image.reference, ...words, ...ARGUMENTS],
    ]);
    containers.push(container);
    return container;
  };
  const said = async (of = container) => {
    const { stdout, stderr } = await run("docker", ["logs", of ?? ""]);
    return stdout + stderr;
  };
  const says = (words: string | RegExp, of = container) =>
    expect.poll(() => said(of), { interval: 100, timeout: 15_000 }).toMatch(words);
  /** A `vllm` in the place of the image's. */
  const vllm = (body: string) => {
    writeFileSync(join(folder, "vllm"), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return ["--volume", `${folder}/vllm:/usr/local/bin/vllm:ro`];
  };
  /**
   * Names of what runs in the container, `<defunct>` behind those that ended and that nobody asked
   * about.
   */
  const programs = async () => {
    const lines = (await mustRun("docker", ["top", container ?? "", "-o", "pid,comm"]))
      .trim()
      .split("\n");
    return new Set(lines.slice(1).map((line) => line.trim().replace(/^\d+ +/, "")));
  };
  const serves = () => says("Application startup complete.");
  const inspect = (fields: string) =>
    mustRun("docker", ["inspect", "--format", fields, container ?? ""]);
  /** With an instance A of 30 GiB. */
  const declared = (url: string, seconds = 1800) => `instance-a 30720 ${seconds} ${url}\n${SERVER}`;
  const listen = async () => {
    const server = createServer((_, answer) => answer.end());
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    instanceA = server;
    return `http://host.docker.internal:${(server.address() as AddressInfo).port}/health`;
  };
  const pause = (milliseconds: number) =>
    new Promise((resolve) => setTimeout(resolve, milliseconds));

  it("A first: starts beside an A that answers, with vLLM's own arguments", async () => {
    available(46);
    await start(declared(await listen()));
    await serves();
    const commands = await mustRun("docker", ["top", container ?? "", "-o", "pid,args"]);
    expect(commands).toContain(`vllm.cjs serve ${ARGUMENTS.join(" ")}`);
    expect(await said()).not.toContain("waiting");
  });

  it("B first: waits while an A that is declared has not got its share, and starts once there is room for both", async () => {
    available(70);
    await start(declared(DEAD));
    await says("70.00 GiB are available, 45.00 GiB are needed; waiting for instance A");
    await pause(500);
    expect(await said()).not.toContain("non-default args");
    available(75);
    await serves();
  });

  it("A declared but dead: starts when its time is over and memory is steady", async () => {
    available(60);
    await start(declared(DEAD, 60));
    await serves();
    expect(await said()).toMatch(
      /instance A did not answer for \d+ s, and 60\.00 GiB have been available for a minute/,
    );
  });

  it("never enough: stays inside, also after a restart of its own, and restarts nothing", async () => {
    available(20);
    await start(SERVER, ["--restart", "unless-stopped"]);
    await says("start gate: waiting for 45.00 GiB, 20.00 GiB are available");
    await pause(1000);
    const restarts = () => inspect("{{.RestartCount}} {{.State.Running}}");
    expect(await restarts()).toBe("0 true");
    await mustRun("docker", ["restart", container ?? ""]);
    await pause(500);
    expect(await said()).not.toContain("non-default args");
    expect(await restarts()).toBe("0 true");
  });

  it("a server that crashes goes through the gate again", async () => {
    available(50);
    await start(SERVER, ["--restart", "unless-stopped"]);
    await serves();
    available(20);
    await run("docker", [
      "exec",
      container ?? "",
      "/bin/sh",
      "-c",
      `kill -KILL ${await pidOf("vllm.cjs")}`,
    ]);
    await says("start gate: waiting for 45.00 GiB");
    expect(await inspect("{{.RestartCount}}")).toBe("1");
    available(50);
    await says(/start gate: open after [1-9]/);
  });

  it("a server that crashes in a loop: closed after its starts of the hour, unhealthy, over restarts, until its command", async () => {
    available(50);
    const health = ["--health-cmd", "false", "--health-interval", "1s", "--health-retries", "1"];
    await start(SERVER, [
      ...["--restart", "unless-stopped", "--name", NAME, ...health],
      ...vllm("echo crash; exit 3"),
    ]);
    const crashes = async () => (await said()).match(/crash/g)?.length;
    const closed = /start gate: closed: 3 starts within an hour failed.*: (docker exec .*)/;
    await says(closed);
    expect([await crashes(), await inspect("{{.RestartCount}} {{.State.Running}}")]).toEqual([
      3,
      "3 true",
    ]);
    await expect
      .poll(() => inspect("{{.State.Health.Status}}"), { timeout: 10_000 })
      .toBe("unhealthy");
    await mustRun("docker", ["restart", container ?? ""]);
    await expect
      .poll(async () => (await said()).match(new RegExp(closed, "g"))?.length)
      .toBeGreaterThan(1);
    expect(await crashes()).toBe(3);
    const [program = "", ...words] = closed.exec(await said())?.[1]?.split(" ") ?? [];
    await mustRun(program, words);
    await expect.poll(crashes, { timeout: 15_000 }).toBe(6);
  });

  it("memory gone: stops vLLM and all of its group, takes their ends, and starts again when it is back", async () => {
    available(50);
    const server = 'trap "" TERM; (/bin/sleep 0.2 &); /bin/sleep 600 & echo "vllm $*"; wait; wait';
    await start(SERVER, ["--restart", "unless-stopped", ...vllm(server)]);
    await says("vllm serve org/m");
    await says("start gate: open after 0 s, 50.00 GiB are available");
    available(1.5);
    await says(
      "start gate: stopped at the floor: 1.50 GiB are available, below 2.00 GiB for 3 s; vLLM gives way and waits again",
    );
    await says("start gate: waiting for 45.00 GiB, 1.50 GiB are available");
    await expect.poll(programs).toEqual(new Set(["sh", "sleep"]));
    available(46);
    await says(/start gate: open after \d+ s, 46\.00 GiB/);
    await says(/vllm serve org\/m[\s\S]*vllm serve org\/m/);
    expect(await inspect("{{.RestartCount}} {{.State.Running}}")).toBe("0 true");
  });

  it("two servers that start in the same moment never take more than there is", async () => {
    available(89.9);
    const two = `${SERVER}server other 46080 6 http://127.0.0.1:8002/health\n`;
    const options = vllm('echo "vllm $*"; exec /bin/sleep 600');
    const both = await Promise.all([start(two, options), start(two, options, { name: "other" })]);
    const open = async () =>
      (await Promise.all(both.map((each) => said(each)))).filter((text) =>
        text.includes("vllm serve org/m"),
      ).length;
    await expect.poll(open, { timeout: 15_000 }).toBe(1);
    const waiting = both[(await said(both[0])).includes("vllm serve org/m") ? 1 : 0];
    await says("which is starting and takes 45.00 GiB", waiting);
    expect(await open()).toBe(1);
    const first = both.find((each) => each !== waiting) ?? "";
    // Killed, it leaves its claim behind, and nobody holds it any more.
    await mustRun("docker", ["kill", first]);
    await says("vllm serve org/m", waiting);
  });

  it("with room it costs nothing: no sleep, and the server is in a group of its own", async () => {
    available(80);
    await start(declared(DEAD), [], { slow: true });
    await serves();
    expect((await said()).split("\n")[0]).toBe(
      "start gate: open after 0 s, 80.00 GiB are available",
    );
    const first = await mustRun("docker", ["exec", container ?? "", "cat", "/proc/1/cmdline"]);
    expect(first.split("\0").slice(0, 2)).toEqual(["/bin/sh", "-c"]);
    const pid = await pidOf("vllm.cjs");
    const stat = await mustRun("docker", ["exec", container ?? "", "cat", `/proc/${pid}/stat`]);
    expect(stat.split(" ")[4]).toBe(pid);
  });

  it("`docker stop` ends it at once while it waits, and hands it to the server while that runs", async () => {
    available(20);
    await start(SERVER, [], { slow: true });
    // Its first line may be older than the start that Docker notes, and comes again only after a
    // minute.
    const lines: string[] = [];
    const startedAt = await inspect("{{.State.StartedAt}}");
    const { stop } = hostOf("").follow(container ?? "", startedAt, (line) => lines.push(line));
    onTestFinished(stop);
    const waiting = "start gate: waiting for 45.00 GiB, 20.00 GiB are available";
    await expect.poll(() => lines, { timeout: 30_000 }).toContain(waiting);
    await mustRun("docker", ["stop", "--time", "30", container ?? ""]);
    expect(await inspect("{{.State.ExitCode}}")).toBe("143");
    available(80);
    await start(
      SERVER,
      vllm('trap "exit 7" TERM; echo "vllm $*"; while :; do /bin/sleep 0.1; done'),
    );
    await says("vllm serve org/m");
    await mustRun("docker", ["stop", "--time", "30", container ?? ""]);
    expect(await inspect("{{.State.ExitCode}}")).toBe("7");
  });

  it.each([
    ["exit 3", "3", "with code 3"],
    ["kill -KILL $$", "137", "by signal 9 (KILL)"],
  ])("says how its server ended, and ends alike: %s", async (body, code, how) => {
    available(80);
    await start(SERVER, vllm(body));
    await mustRun("docker", ["wait", container ?? ""]);
    expect(await inspect("{{.State.ExitCode}}")).toBe(code);
    expect((await said()).trim().split("\n").at(-1)).toMatch(
      /^start gate: vLLM ended after \d+ s, /,
    );
    expect((await said()).trim()).toMatch(new RegExp(`, ${how.replace(/[()]/g, "\\$&")}$`));
  });

  it("a server that is started by request: ends once its starts are spent, until the command that it names", async () => {
    available(80);
    const byRequest = `${SERVER}end-when-spent ${NAME}\n`;
    await start(byRequest, ["--name", NAME, ...vllm("exit 3")]);
    const ends = async () => {
      await mustRun("docker", ["wait", NAME]);
      return inspect("{{.State.ExitCode}}");
    };
    const again = async () => {
      await mustRun("docker", ["start", NAME]);
      return ends();
    };
    expect([await ends(), await again(), await again(), await again(), await again()]).toEqual([
      "3",
      "3",
      "3",
      "1",
      "1",
    ]);
    const closed = /start gate: closed: 3 starts within an hour failed.*: (docker run .*)/;
    const [, command = ""] = closed.exec(await said()) ?? [];
    await mustRun("sh", ["-c", command]);
    expect(await again()).toBe("3");
  });

  it("without the hub where the cache has the server's models, unless a variable says otherwise", async () => {
    available(80);
    const text = `${SERVER}model ${NAME} org/m\n`;
    const repository = join(folder, "cache/hub/models--org--m");
    // As in vLLM's own image; this one has no users, so that Docker takes `/` for root's home.
    const home = ["--env", "HOME=/root"];
    const cache = ["--volume", `${folder}/cache:/root/.cache/huggingface`, ...home];
    const asked = vllm(`echo "hub offline: \${HF_HUB_OFFLINE-unset}"`);
    const offline = async (...options: string[]) => {
      await start(text, [...cache, ...asked, ...options]);
      await mustRun("docker", ["wait", container ?? ""]);
      return /hub offline: (.*)/.exec(await said())?.[1];
    };
    mkdirSync(join(repository, "refs"), { recursive: true });
    mkdirSync(join(repository, "snapshots/0123abcd"), { recursive: true });
    writeFileSync(join(repository, "refs/main"), "0123abcd");
    writeFileSync(join(repository, "snapshots/0123abcd/config.json"), "{}");
    expect(await offline()).toBe("unset");
    const shard = "model-00001-of-00001.safetensors";
    const index = JSON.stringify({ weight_map: { "model.norm": shard } });
    writeFileSync(join(repository, "snapshots/0123abcd", shard), "x");
    writeFileSync(join(repository, "snapshots/0123abcd/model.safetensors.index.json"), index);
    expect(await offline()).toBe("1");
    expect(await said()).toContain("the cache has all of org/m, so vLLM asks no hub");
    expect(await offline("--env", "HF_HUB_OFFLINE=0")).toBe("0");
    expect(await offline("--env", "HF_HOME=/elsewhere")).toBe("unset");
  });

  /** Id inside the container of the process with this word in its argv. */
  async function pidOf(word: string): Promise<string> {
    const look = `for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || case $(cat $p/cmdline 2>/dev/null) in *${word}*serve*) echo \${p#/proc/} ;; esac; done`;
    return (await mustRun("docker", ["exec", container ?? "", "/bin/sh", "-c", look])).trim();
  }
});
