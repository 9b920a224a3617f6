import { Failed } from "@local-serving/base/commandLine/exit";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { describe, expect, it } from "vitest";
import { waitForStart } from "../../../cli/wait/waitForStart";

type Waiting = Parameters<typeof waitForStart>[0];

const RUNNING: ContainerState = {
  id: "4711",
  name: "vllm-model-8001",
  image: "image",
  imageId: "sha256:1",
  status: "running",
  startedAt: "2026-11-21T13:00:00Z",
  exitCode: 0,
  oomKilled: false,
  restartCount: 0,
  error: "",
  health: "starting",
  ports: [],
  mounts: [],
  labels: {},
  compileJobs: {},
};

/** A container that goes through these states, one for each look; the last one stays. */
function scripted(
  states: readonly (ContainerState | Failed | undefined)[],
  log: readonly string[] = [],
  image = true,
  downloaded = 0,
  letGo = false,
) {
  let looks = 0;
  const followed: string[] = [];
  let stopped = 0;
  const host: Waiting["host"] = {
    containers: async () => {
      const state = states[Math.min(looks++, states.length - 1)];
      if (state instanceof Failed) throw state;
      return state === undefined ? [] : [state];
    },
    imageIsThere: async () => image,
    downloadedBytes: async () => downloaded,
    follow: (_, since, line) => {
      followed.push(since);
      for (const each of log) line(each);
      return {
        stop: () => {
          stopped += 1;
        },
        ended: () => letGo,
      };
    },
  };
  return { host, followed, stops: () => stopped };
}

const phases: string[] = [];
function wait(host: Waiting["host"], overlay: Partial<Waiting> = {}) {
  phases.length = 0;
  return waitForStart({
    container: "vllm-model-8001",
    image: "image",
    host,
    healthy: async () => false,
    timeoutSeconds: 5,
    intervalMilliseconds: 1,
    progress: ({ phase, note }) => phases.push(note === undefined ? phase : `${phase}: ${note}`),
    ...overlay,
  });
}

/** `true` from this look on. */
const healthyFrom = (look: number) => {
  let looks = 0;
  return async () => ++looks >= look;
};

describe("a start that is followed", () => {
  it("from no image over no container to ready", async () => {
    const { host, stops } = scripted([undefined, undefined, RUNNING]);
    const result = await wait(host, { healthy: healthyFrom(3) });
    expect(result).toMatchObject({ outcome: "ready", phase: "ready", reason: "", lastLines: [] });
    expect([...new Set(phases)]).toEqual([
      "waiting for the container: its image is here; `serving up` creates the container, after what it depends on",
      "starting",
      "ready",
    ]);
    expect(stops()).toBe(1);
  });

  it.each<[string, number, string]>([
    ["as far as it can know", 0, "not here yet: it is being pulled, or `serving up` has not begun"],
    [
      "with what is seen to arrive",
      1_288_490_189,
      "not here yet; Docker is downloading, 1.2 GiB of layers are not unpacked yet",
    ],
    [
      "with the little that is seen to arrive",
      91_226_112,
      "not here yet; Docker is downloading, 87 MiB of layers are not unpacked yet",
    ],
  ])("says that the image is missing, %s", async (_, downloaded, note) => {
    const { host, followed } = scripted([undefined], [], false, downloaded);
    const result = await wait(host, { timeoutSeconds: 0.02 });
    expect(result).toMatchObject({
      outcome: "timeout",
      phase: "waiting for the image",
      reason: "not ready after 0.02 s (waiting for the image)",
      lastLines: [],
    });
    expect(new Set(phases)).toEqual(new Set([`waiting for the image: ${note}`]));
    expect(followed).toEqual([]);
  });

  it("goes from the image over the container to its start", async () => {
    const looks = [undefined, undefined, { ...RUNNING, status: "created", startedAt: "" }, RUNNING];
    const { host, followed } = scripted(looks);
    const images = [false, true];
    const seen = { ...host, imageIsThere: async () => images.shift() ?? true };
    expect(await wait(seen, { healthy: healthyFrom(2) })).toMatchObject({ outcome: "ready" });
    expect(phases.map((each) => each.split(":")[0])).toEqual([
      ...["waiting for the image", "waiting for the container", "container not started"],
      ...["starting", "ready"],
    ]);
    expect(followed).toEqual([RUNNING.startedAt]);
  });

  it("is over at a gate that stays closed, with the log since it last opened", async () => {
    const closed =
      "closed: 3 starts within an hour failed. Find out why; without one: docker exec b rm b.starts";
    const { host } = scripted(
      [RUNNING],
      [
        "start gate: open after 0 s, 60.00 GiB are available",
        "ValueError: the start before",
        "start gate: open after 5 s, 60.00 GiB are available",
        "ValueError: the last start",
        `start gate: ${closed}`,
      ],
    );
    expect(await wait(host)).toMatchObject({
      outcome: "died",
      phase: "gate closed",
      reason: closed,
      lastLines: [
        "start gate: open after 5 s, 60.00 GiB are available",
        "ValueError: the last start",
        `start gate: ${closed}`,
      ],
    });
  });

  it("that Docker can't start is dead at once, in Docker's words", async () => {
    const error = "driver failed programming external connectivity: Bind for 127.0.0.1:8001 failed";
    const { host } = scripted([
      { ...RUNNING, status: "created", startedAt: "", exitCode: 128, error },
    ]);
    expect(await wait(host)).toMatchObject({
      outcome: "died",
      phase: "container not started",
      reason: `Docker can't start it: ${error}`,
    });
  });

  it("is ready by Docker's health check where the server can't be asked from here", async () => {
    const { host } = scripted([RUNNING, { ...RUNNING, health: "healthy" }]);
    expect((await wait(host, { healthy: async () => "unknown" })).outcome).toBe("ready");
  });

  it("died: the reason and the end of the log, at once", async () => {
    const log = Array.from({ length: 50 }, (_, index) => `line ${index}`);
    const { host } = scripted(
      [RUNNING, { ...RUNNING, status: "exited", exitCode: 137, oomKilled: true }],
      log,
    );
    const result = await wait(host);
    expect(result).toMatchObject({
      outcome: "died",
      reason: "it ended with exit code 137, killed for memory",
    });
    expect(result.lastLines).toHaveLength(30);
    expect(result.lastLines.at(-1)).toBe("line 49");
    expect(result.seconds).toBeLessThan(2);
  });

  it("died and was started again by Docker: that is a death too", async () => {
    const again = { ...RUNNING, startedAt: "2026-11-21T13:05:00Z", restartCount: 1 };
    const config = `Initializing a V1 LLM engine (v0.30.0) with config: ${"x".repeat(5000)}`;
    const { host, followed, stops } = scripted(
      [RUNNING, again],
      [config, "ValueError: no"],
      true,
      0,
      true,
    );
    const result = await wait(host);
    expect(result).toMatchObject({
      outcome: "died",
      reason: "it ended; Docker has started it again once",
      cause: "ValueError: no",
      lastLines: [`${config.slice(0, 400)} ...`, "ValueError: no"],
    });
    expect(followed).toEqual([RUNNING.startedAt]);
    expect(stops()).toBe(1);
  });

  it("a container in Docker's pause between two starts is dead", async () => {
    const { host } = scripted([{ ...RUNNING, status: "restarting", exitCode: 1, restartCount: 6 }]);
    expect((await wait(host)).outcome).toBe("died");
  });

  it("restarts of an earlier day don't count against a start that goes well", async () => {
    const { host } = scripted([{ ...RUNNING, restartCount: 3 }]);
    expect((await wait(host, { healthy: healthyFrom(3) })).outcome).toBe("ready");
  });

  it("started anew in the middle by somebody, it is followed from its beginning", async () => {
    const again = { ...RUNNING, startedAt: "2026-11-21T13:05:00Z" };
    const { host, followed } = scripted(
      [RUNNING, again],
      ["Capturing CUDA graphs (decode, FULL): 50%|"],
    );
    const result = await wait(host, { healthy: healthyFrom(4) });
    expect(result.outcome).toBe("ready");
    expect(followed).toEqual([RUNNING.startedAt, again.startedAt]);
  });

  it("is followed on where Docker lets go of the log of a container that runs", async () => {
    const before = Date.now();
    const { host, followed } = scripted([RUNNING], ["Starting to load model m"], true, 0, true);
    const result = await wait(host, { healthy: healthyFrom(3) });
    expect(result.outcome).toBe("ready");
    expect(followed.length).toBeGreaterThan(1);
    expect(followed[0]).toBe(RUNNING.startedAt);
    // From shortly before now on: not the whole log again.
    expect(Date.parse(followed[1] ?? "")).toBeGreaterThan(before - 10_000);
    expect(Date.parse(followed[1] ?? "")).toBeLessThanOrEqual(before);
  });

  it("puts up with a Docker that is too busy to answer, once it has answered", async () => {
    const busy = new Failed("docker inspect gave no answer within 15 s.");
    const { host } = scripted([RUNNING, busy, busy, RUNNING]);
    const result = await wait(host, { healthy: healthyFrom(2) });
    expect(result.outcome).toBe("ready");
    expect(phases).toContain("starting: docker inspect gave no answer within 15 s.");
  });

  it("a Docker that never answered is none", async () => {
    const { host } = scripted([
      new Failed("docker ps failed: Cannot connect to the Docker daemon"),
    ]);
    await expect(wait(host)).rejects.toThrow("Cannot connect to the Docker daemon");
  });

  it("shows the end of the log without keys and without what a terminal would obey", async () => {
    const log = [
      "non-default args: {'model_tag': 'm', 'api_key': ['first-key', 'second-key'], 'port': 8001}",
      "\u001b[31mERROR\u001b[0m 401 for token hf_Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo",
    ];
    const { host } = scripted([{ ...RUNNING, status: "exited", exitCode: 1 }], log);
    expect((await wait(host)).lastLines).toEqual([
      "non-default args: {'model_tag': 'm', 'api_key': [<redacted>], 'port': 8001}",
      "ERROR 401 for token <redacted>",
    ]);
  });

  it("runs out of time in its phase, with the end of the log", async () => {
    const log = ["Model loading took 20.6 GiB memory and 68 seconds"];
    const { host } = scripted([RUNNING], log);
    const result = await wait(host, { timeoutSeconds: 0.05 });
    expect(result).toMatchObject({
      outcome: "timeout",
      phase: "compiling",
      reason: "not ready after 0.05 s (compiling)",
      lastLines: log,
    });
  });

  it("leaves a rank that nobody waits for any more, and only after one look", async () => {
    const { host, stops } = scripted([RUNNING]);
    const result = await wait(host, { over: () => true });
    expect(result).toMatchObject({ outcome: "left", reason: "" });
    expect(stops()).toBe(1);
  });
});
