import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { Failed } from "@local-serving/base/commandLine/exit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileOnDisk } from "../../../cli/sees/file";
import type { Host } from "../../../cli/sees/host";
import { plan } from "../../../components/plan/plan";
import { DIGEST, serverInput, stack } from "../../fixtures/machine";
import { BRIDGE } from "../../fixtures/services";
import { httpServer } from "../../layers/httpServer";
import type { StandIn } from "../../stand-in/server";
import { inspected, inspectedAsPlanned } from "../fakeDocker";
import {
  emptyHost,
  failed,
  machineOf,
  planned,
  resultOf,
  run,
  standIn,
  startPlanned,
} from "./environment";
import { withChatUi } from "./services";

let server: StandIn;
beforeAll(async () => {
  server = await startPlanned();
});
afterAll(() => server.close());

/** Port of a small HTTP server that answers paths with JSON, until the test is over. */
async function answering(
  answers: Readonly<Record<string, unknown>>,
  address = "127.0.0.1",
  at = 0,
  statuses: Readonly<Record<string, number>> = {},
) {
  const listener: RequestListener = (request, response) => {
    const path = request.url ?? "";
    const answer = answers[path];
    const status = answer === undefined ? 404 : (statuses[path] ?? 200);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { detail: "Not Found" }));
  };
  return (await httpServer(listener, at, address)).port;
}

const disk = (files: Readonly<Record<string, FileOnDisk>>): Partial<Host> => ({
  file: async (path) => files[path],
});

describe("instance A", () => {
  const probe = async (host: Partial<Host>, port = server.port) => {
    const plan = planned(8001, {}, { instanceA: { gpuMemoryUtilization: 0.45, port } });
    return resultOf(await run(plan, { only: ["instance-a"] }, emptyHost(host)), "instance-a");
  };
  const startTimes = (...times: string[]) => ({
    listener: async () => ({ pid: 77 }),
    startTime: async () => times.shift(),
  });

  it("answers and is the same process", async () => {
    expect(await probe(startTimes("4711", "4711"))).toMatchObject({
      status: "pass",
      detail: "serves model, org/model; same process as before (process 77)",
    });
  });

  it("restarted meanwhile", async () => {
    const result = await probe(startTimes("4711", "4712"));
    expect([result.status, result.detail]).toEqual([
      "fail",
      "it is not the same process as before the probes: it was restarted meanwhile",
    ]);
  });

  it("of another user: answers, and its start can't be read", async () => {
    expect((await probe({ listener: async () => ({}) })).detail).toBe(
      "serves model, org/model; its process belongs to another user, and it does not say when it started",
    );
  });

  it.each([
    [
      "the same",
      [1_780_000_000, 1_780_000_000],
      "pass",
      "same process as before (started 2026-05-28T20:26:40.000Z)",
    ],
    [
      "restarted",
      [1_780_000_000, 1_780_000_300],
      "fail",
      "it is not the same process as before the probes",
    ],
    ["lying", [1e300, 1e300], "pass", "it does not say when it started"],
  ])("of another user, by its own metrics: %s", async (_, starts, status, detail) => {
    const times = [...starts];
    const other = await standIn({
      routes: {
        "GET /metrics": () => ({
          status: 200,
          text: `vllm:num_requests_running 0.0\nprocess_start_time_seconds ${times.shift()}\n`,
        }),
      },
    });
    const result = await probe({ listener: async () => ({}) }, other);
    expect(result.status).toBe(status);
    expect(result.detail).toContain(detail);
  });

  it("down", async () => {
    const result = await probe({}, 1);
    expect(result).toMatchObject({
      status: "fail",
      detail: "nothing listens there (connection refused)",
    });
    expect(result.fix).toContain("`instanceA: none`");
  });
});

describe("containers", () => {
  const plan = () => planned(8001);
  const [container] = machineOf(plan()).containers;
  if (container === undefined) throw new Error("no container");
  const inspect = (state: Record<string, unknown>, image = container.image) =>
    JSON.stringify([inspectedAsPlanned({ ...container, image }, state)]);
  const probe = async (text: string) =>
    resultOf(
      await run(plan(), { only: ["containers"] }, emptyHost({ docker: async () => text })),
      "containers",
    );

  it.each([
    ["running", inspect({ Health: { Status: "healthy" } }), "pass", "vllm-model-"],
    ["starting", inspect({ Health: { Status: "starting" } }), "pass", "vllm-model-"],
    ["unhealthy", inspect({ Health: { Status: "unhealthy" } }), "fail", "is unhealthy"],
    ["ended", inspect({ Status: "exited" }), "fail", "is exited"],
    ["another image", inspect({}, "other:latest"), "fail", "has image other:latest, but "],
    ["not there", "[]", "fail", "is not there"],
    [
      "no JSON",
      "Error: boom",
      "fail",
      "docker inspect printed `Error: boom` instead of a list in JSON.",
    ],
    [
      "started during the run",
      inspect({ StartedAt: "2999-01-01T00:00:00Z" }),
      "fail",
      "vllm-model-8001 was started during this run",
    ],
  ])("%s", async (_, text, status, detail) => {
    const result = await probe(text);
    expect(result.status).toBe(status);
    expect(result.detail).toContain(detail);
  });

  it.each([
    [0, "vllm-model-8001"],
    [1, "vllm-model-8001 (Docker has started it again once, last at 2026-11-21T08:00:00Z)"],
    [3, "vllm-model-8001 (Docker has started it again 3 times, last at 2026-11-21T08:00:00Z)"],
  ])("says how often Docker started it again: %i", async (RestartCount, detail) => {
    const [state] = JSON.parse(inspect({ StartedAt: "2026-11-21T08:00:00Z" }));
    const result = await probe(
      JSON.stringify([{ ...state, RestartCount, Name: "/vllm-model-8001" }]),
    );
    expect([result.status, result.detail]).toEqual(["pass", detail]);
  });

  const DOCKER_FIX = "`dockerHost` of machines.dgx";
  it.each([
    ["Error: No such container: vllm-model-8001", "vllm-model-8001 is not there", "serving up"],
    ["Cannot connect to the Docker daemon", "Cannot connect to the Docker daemon", DOCKER_FIX],
    ["No `docker` on PATH: install the Docker client.", "No `docker` on PATH", DOCKER_FIX],
  ])(
    "tells a missing container from a Docker that does not answer: %s",
    async (said, detail, fix) => {
      const docker = async () => {
        throw new Failed(said);
      };
      const [result] = await run(plan(), { only: ["containers"] }, emptyHost({ docker }));
      expect(result?.status).toBe("fail");
      expect(result?.detail).toContain(detail);
      expect(result?.fix).toContain(fix);
    },
  );
});

describe("memory", () => {
  const probe = async (availableKib: number) => {
    const host = emptyHost({
      meminfo: async () => `MemTotal:       127600592 kB\nMemAvailable:   ${availableKib} kB\n`,
      docker: async (args) =>
        args[0] === "top" ? "PID RSS COMMAND\n10 1048576 vllm\n11 3145728 VLLM::EngineCor\n" : "",
      listener: async () => ({ pid: 7 }),
      residentGiB: async () => 3.25,
    });
    const plan = planned(8001, {}, { instanceA: { gpuMemoryUtilization: 0.45 } });
    return resultOf(await run(plan, { only: ["memory"] }, host), "memory");
  };

  it("says what is available and what each process holds", async () => {
    expect(await probe(10 * 1024 ** 2)).toMatchObject({
      status: "pass",
      detail:
        "10.0 of 121.7 GiB available; resident: vllm-model-8001 4.0 GiB, instance A 3.3 GiB (its listening process); vllm-model-8001 is not there",
    });
  });

  it("fails where next to nothing is left", async () => {
    const result = await probe(1024 ** 2);
    expect(result.status).toBe("fail");
    expect(result.fix).toContain("gpuMemoryUtilization of a server of machines.dgx");
  });

  it("is skipped where there is no /proc/meminfo", async () => {
    const host = emptyHost({ meminfo: async () => "" });
    const [result] = await run(planned(8001), { only: ["memory"] }, host);
    expect(result).toMatchObject({
      status: "skip",
      detail: expect.stringContaining("this system has no readable /proc/meminfo"),
    });
  });
});

describe("a server's KV cache", () => {
  const config: unknown = JSON.parse(
    readFileSync("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json", "utf8"),
  );
  const models = { "org/model": { source: "config.json", config, weightsGB: 22 } };
  const { image } = serverInput();
  /** Figures of one start, in the two forms that vLLM's log had. */
  const FIGURES = [
    "GPU KV cache size: 456,766 tokens",
    "Maximum concurrency for 262,144 tokens per request: 1.74x",
  ];
  const LOGS = {
    "two lines, up to 0.27": `INFO Available KV cache memory: 4.61 GiB\nINFO ${FIGURES[0]}\nINFO ${FIGURES[1]}\n`,
    "one line, from 0.28": `INFO Available KV cache memory: 4.61 GiB\nINFO ${FIGURES.join(", ")}\n`,
  };
  const RECORD =
    "Record what was measured, so that the next plan matches it: `serving verify --only memory` prints the lines.";
  const LINES = [
    "Record in the stack file, below machines.dgx.inferenceServers.b (`serving verify --only memory --record` does it):",
    "  measured:",
    "    chargedGiB: 50.12",
    "    kvTokens: 456766",
    "    maxConcurrency: 1.74",
    '    at: "2026-11-21"',
    `    image: ${DIGEST}`,
  ];

  /**
   * The probe over a machine with instance A at 0.45 and this server, running as it says with this
   * log.
   */
  async function probes(
    log: string,
    settings: Record<string, unknown> = {},
    overlay: Partial<Host> = {},
    only = ["memory"],
  ) {
    const server = { maxModelLen: 262_144, kvCacheDtype: "fp8", ...settings };
    const settled = stack({ instanceA: { gpuMemoryUtilization: 0.45 } }, server);
    const planned = plan(settled, { home: "/home/me", models });
    const { entrypoint, command } = machineOf(planned).containers[0] ?? {};
    const inspect = {
      Config: {
        Image: image,
        Entrypoint: entrypoint,
        Cmd: overlay.env?.CMD?.split(" ") ?? command,
      },
      State: { Status: "running", StartedAt: "2026-11-21T08:00:00.1Z" },
    };
    const host = emptyHost({
      docker: async (args) => (args[0] === "inspect" ? JSON.stringify([inspect]) : ""),
      memoryLines: async () => ({ text: log }),
      listener: async () => ({}),
      ...overlay,
    });
    return run(planned, { only }, host);
  }

  const probe = async (...given: Parameters<typeof probes>) =>
    resultOf(await probes(...given), "memory");

  it.each([
    ["its log says what was left", LOGS["one line, from 0.28"], LINES.join("\n"), RECORD],
    ["its log was cut", `INFO ${FIGURES.join(", ")}\n`, "", ""],
  ])("is to be recorded by one word of both probes: %s", async (_, log, lines, record) => {
    const labels = 'kv_cache_size_tokens="456766",kv_cache_max_concurrency="1.60"';
    const text = `vllm:num_requests_running 0.0\nvllm:cache_config_info{${labels}} 1.0\n`;
    const port = await standIn({ routes: { "GET /metrics": () => ({ status: 200, text }) } });
    const results = await probes(log, { port }, {}, ["memory", "kv-cache"]);
    const { fix } = resultOf(results, "memory");
    expect(resultOf(results, "kv-cache").detail).toContain("planned 1.64 to 11.87 (-2.7 %)");
    expect([fix.includes("measured:"), resultOf(results, "kv-cache").fix]).toEqual([
      lines !== "",
      record,
    ]);
  });

  it.each(Object.entries(LOGS))(
    "predicted against measured, and the lines to record: %s",
    async (_, log) => {
      const { status, detail, fix } = await probe(log);
      expect(status).toBe("pass");
      expect(detail).toContain(
        "vllm-model-8001: measured 4.61 GiB of KV cache, 1.74 whole windows at once; planned 4.34 to 31.34 GiB (estimated), 1.64 to 11.87",
      );
      expect(fix.split("\n").slice(0, LINES.length)).toEqual(LINES);
    },
  );

  it("says where the log was not read to its end", async () => {
    const cutShort = "its log was not read beyond 20 s: a later start may be missing";
    const memoryLines = async () => ({ text: LOGS["one line, from 0.28"], cutShort });
    expect((await probe("", {}, { memoryLines })).detail).toMatch(new RegExp(`; ${cutShort}$`));
  });

  it("what to try next: within what the ledger leaves, and a fixed cache with its share", async () => {
    const { fix } = await probe(LOGS["one line, from 0.28"]);
    expect(fix.split("\n").slice(LINES.length)).toEqual([
      "Worth trying for vllm-model-8001:",
      "  maxModelLen: 106896 (4 whole windows at once at utilization 0.45)",
      expect.stringMatching(
        /^ {2}kvCacheMemoryBytes: 4949949808 \(.* gpuMemoryUtilization 0\.45, /,
      ),
    ]);
  });

  it("recorded, the next plan meets the same start, and there is nothing to record", async () => {
    const measured = {
      nonKvGiB: 50.12,
      kvTokens: 456_766,
      maxConcurrency: 1.74,
      at: "2026-11-21",
      image: DIGEST,
    };
    const { status, detail, fix } = await probe(LOGS["one line, from 0.28"], { measured });
    expect([status, fix.includes("measured:")]).toEqual(["pass", false]);
    expect(detail).toContain("planned 4.61 GiB (measured), 1.74");
    const less = LOGS["one line, from 0.28"].replace("4.61", "4.30").replace("1.74x", "1.63x");
    expect(await probe(less, { measured })).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("7.2 % off"),
    });
  });

  it("of a container that runs with other settings than the stack file's is recorded, and not compared", async () => {
    const started = ["serve", "org/model", "--gpu-memory-utilization", "0.5"].join(" ");
    const { detail, fix } = await probe(LOGS["one line, from 0.28"], {}, { env: { CMD: started } });
    expect(detail).toContain(
      "not comparable: it runs with utilization 0.5 (stack file: 0.45); `serving up` applies the stack file",
    );
    // 0.5 x 121.63 - 4.61
    expect(fix).toContain("chargedGiB: 56.21\n");
  });

  it("without instance A proves nothing of the pair, and says so", async () => {
    const words = "Instance A is not running, so this record does not prove that both fit.";
    const log = LOGS["one line, from 0.28"];
    expect((await probe(log)).fix).not.toContain(words);
    expect((await probe(log, {}, { listener: async () => undefined })).fix).toContain(words);
  });

  it("that was refused fails, with the refusal's figures", async () => {
    const { status, detail } = await probe(
      "Free memory on device cuda:0 (48.5/121.63 GiB) on startup is less than desired GPU memory utilization (0.45, 54.73 GiB).",
    );
    expect(status).toBe("fail");
    expect(detail).toContain(
      "vllm-model-8001: it did not start: it needed 54.73 GiB (utilization 0.45), but only 48.50 of 121.63 GiB was available",
    );
  });

  it("without lines in the log is not judged", async () => {
    const { status, detail } = await probe("");
    expect(status).toBe("pass");
    expect(detail).toContain("its log says nothing of the KV cache");
  });
});

describe("files", () => {
  const plan = planned(
    8001,
    {},
    {
      bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" },
      clients: { claudeCode: {}, codex: {}, keyVariable: "LOCAL_KEY" },
    },
  );
  const machine = machineOf(plan);
  const pathOf = (role: string) =>
    [...machine.files, ...machine.secretFiles].find((file) => file.role === role)?.path ?? role;
  const SETTINGS = pathOf("claude-code-settings");
  const LAUNCHER = pathOf("launcher-codex");
  const KEY = pathOf("bridge-key");
  const textOf = (path: string) => machine.files.find((file) => file.path === path)?.text;
  const well: Record<string, FileOnDisk> = {
    ...Object.fromEntries(machine.files.map(({ path, mode, text }) => [path, { mode, text }])),
    [KEY]: { mode: "0600", text: "the-real-key\n" },
  };
  const probe = async (files: Record<string, FileOnDisk | undefined>, env: Host["env"] = {}) => {
    const there = Object.fromEntries(
      Object.entries({ ...well, ...files }).filter(([, each]) => each !== undefined),
    );
    return run(
      plan,
      { only: ["files", "launchers", "env-key"] },
      emptyHost({ ...disk(there as Record<string, FileOnDisk>), env }),
    );
  };
  const statuses = async (files: Record<string, FileOnDisk | undefined>) =>
    (await probe(files)).map(({ name, status }) => `${name} ${status}`);

  it("as planned", async () => {
    expect(await statuses({})).toEqual(["files pass", "launchers pass", "env-key pass"]);
    const results = await probe({});
    expect(resultOf(results, "files").detail).toBe(`${machine.files.length} files`);
    expect(JSON.stringify(results)).not.toContain("the-real-key");
  });

  it.each([
    ["missing", { [SETTINGS]: undefined }, `${SETTINGS} is missing`],
    [
      "edited",
      { [SETTINGS]: { mode: "0644", text: "{}" } },
      `${SETTINGS} was changed on the machine`,
    ],
    [
      "another mode",
      { [SETTINGS]: { mode: "0666", text: "{}" } },
      `${SETTINGS} has mode 0666, but 0644 is planned`,
    ],
    ["unreadable", { [SETTINGS]: { mode: "0644", text: undefined } }, "can't be read by this user"],
    [
      "a key open to all",
      { [KEY]: { mode: "0644", text: "x" } },
      `${KEY} has mode 0644, but 0600 is planned`,
    ],
    ["no key", { [KEY]: undefined }, `${KEY} is missing`],
  ])("%s", async (_, files: Record<string, FileOnDisk | undefined>, detail) => {
    expect(await statuses(files)).toEqual(["files fail", "launchers pass", "env-key pass"]);
    expect(resultOf(await probe(files), "files").detail).toContain(detail);
  });

  it("tells an edited stack file from a changed machine by what was applied", async () => {
    const old = '{"env":{"OLD":"1"}}\n';
    const files = machine.files.map((file) =>
      file.path === SETTINGS ? { ...file, text: old } : file,
    );
    const record = JSON.stringify({ machine: { ...machine, files } });
    const results = await probe({
      [SETTINGS]: { mode: "0644", text: old },
      [pathOf("applied-plan")]: { mode: "0600", text: record },
    });
    expect(resultOf(results, "files").detail).toBe(
      `${SETTINGS} is as last applied: the stack file was edited since`,
    );
  });

  it("a launcher that can't be started", async () => {
    const launcher = { [LAUNCHER]: { mode: "0644", text: textOf(LAUNCHER) } };
    expect(await statuses(launcher)).toEqual(["files fail", "launchers fail", "env-key pass"]);
    expect(resultOf(await probe(launcher), "launchers").detail).toBe(
      `${LAUNCHER} is not executable (mode 0644)`,
    );
  });

  it("a key variable that nothing sets, and one that the shell sets", async () => {
    const without = { [LAUNCHER]: { mode: "0755", text: "#!/bin/sh\nexec codex\n" } };
    expect(await statuses(without)).toEqual(["files fail", "launchers pass", "env-key fail"]);
    expect(resultOf(await probe(without), "env-key").detail).toContain(
      "LOCAL_KEY is not set, and no launcher",
    );
    const shell = resultOf(await probe(without, { LOCAL_KEY: "secret-in-the-shell" }), "env-key");
    expect([shell.status, shell.detail]).toEqual(["pass", "LOCAL_KEY is set in this shell"]);
  });
});

describe("the simple server", () => {
  const ollama = async (
    answers: Readonly<Record<string, unknown>>,
    overlay: object = {},
    host: Partial<Host> = {},
  ) => {
    const simpleServer = {
      mode: "host",
      port: await answering(answers),
      models: ["qwen3:8b"],
      ...overlay,
    };
    const plan = planned(8001, {}, { simpleServer });
    const only = [
      "ollama-version",
      "ollama-models",
      "ollama-listen",
      "ollama-directory",
      "ollama-memory",
      "ollama-context",
    ];
    const models = disk({ "/usr/share/ollama/.ollama/models": { mode: "0755", text: undefined } });
    return run(plan, { only }, emptyHost({ ...models, ...host }));
  };
  const WELL = {
    "/api/version": { version: "0.34.4" },
    "/api/tags": { models: [{ name: "qwen3:8b" }] },
    "/api/ps": {
      models: [
        {
          name: "qwen3:8b",
          size: 9.6 * 2 ** 30,
          size_vram: 9.6 * 2 ** 30,
          context_length: 32_768,
        },
      ],
    },
  };

  it("is well", async () => {
    const results = await ollama(WELL, {}, { lanAddresses: async () => ["127.0.0.2"] });
    expect(results.map(({ name, status, detail }) => `${name} ${status}: ${detail}`)).toEqual([
      "ollama-version pass: Ollama 0.34.4",
      "ollama-models pass: qwen3:8b",
      "ollama-listen pass: only on 127.0.0.1",
      "ollama-directory pass: /usr/share/ollama/.ollama/models",
      "ollama-memory pass: qwen3:8b 9.60 GiB",
      "ollama-context pass: qwen3:8b 32768 tokens",
    ]);
  });

  const LOADED = [{ name: "qwen3:8b", size: 9.6 * 2 ** 30 }];
  const RECORD =
    "Record in the stack file, below machines.dgx.simpleServer:\n  loadedGiB:\n    qwen3:8b: 9.6";
  const TAGGED = { models: ["m"], loadedGiB: { m: 1 } };
  it.each<[string, object, object[], string, string]>([
    ["as counted", { loadedGiB: { "qwen3:8b": 9.5 } }, LOADED, "pass", ""],
    ["not yet counted", {}, LOADED, "pass", RECORD],
    ["more than counted", { loadedGiB: { "qwen3:8b": 6 } }, LOADED, "fail", RECORD],
    ["declared without its tag", TAGGED, [{ name: "m:latest", size: 2 ** 30 }], "pass", ""],
    [
      "named like a member of every object",
      { models: ["toString"] },
      [{ name: "toString:latest", size: 2 ** 30 }],
      "pass",
      RECORD.replace("qwen3:8b: 9.6", "toString: 1"),
    ],
    ["of somebody else", {}, [{ name: "other:1b", size: 2 ** 30 }], "pass", ""],
    ["none loaded", {}, [], "skip", ""],
  ])("a loaded model's memory: %s", async (_, overlay, models, status, fix) => {
    const result = resultOf(
      await ollama({ ...WELL, "/api/ps": { models } }, overlay),
      "ollama-memory",
    );
    expect([result.status, result.fix]).toEqual([status, fix]);
  });

  it.each<[string, object, object, string, string]>([
    ["of an Ollama that doesn't say it", {}, {}, "pass", "this Ollama doesn't say the context"],
    ["shorter than declared", { context_length: 4096 }, {}, "fail", "4096 tokens, and 32768 are"],
    ["longer than declared", { context_length: 262_144 }, {}, "fail", "a context of 262144"],
    [
      "as long as the model's own",
      { context_length: 8192 },
      { model_info: { "qwen3.context_length": 8192 } },
      "pass",
      "qwen3:8b 8192 tokens",
    ],
    [
      "partly on the processor",
      { size_vram: 2.4 * 2 ** 30, context_length: 32_768 },
      {},
      "fail",
      "75 % of qwen3:8b is on the processor",
    ],
  ])("a loaded model's context: %s", async (_, overlay, shown, status, detail) => {
    const models = [{ name: "qwen3:8b", size: 9.6 * 2 ** 30, ...overlay }];
    const answers = { ...WELL, "/api/ps": { models }, "/api/show": shown };
    const result = resultOf(await ollama(answers), "ollama-context");
    expect(result.status).toBe(status);
    expect(result.detail).toContain(detail);
  });

  const ON_LAN = { lanAddresses: async () => ["127.0.0.2"] };
  const NO_FILE = { file: async () => undefined };
  it.each<[string, object, object, Partial<Host>, string]>([
    [
      "ollama-version",
      { "/api/version": { version: "0.17.0" } },
      {},
      {},
      "Ollama 0.17.0: releases below 0.17.1",
    ],
    ["ollama-version", { "/api/version": { hello: 1 } }, {}, {}, "it gives no version"],
    ["ollama-models", { "/api/tags": { models: null } }, {}, {}, "not there: qwen3:8b"],
    ["ollama-listen", {}, { listen: "0.0.0.0" }, ON_LAN, "does not answer on 127.0.0.2"],
    ["ollama-directory", {}, {}, NO_FILE, "/usr/share/ollama/.ollama/models is not there"],
  ])("%s fails on its own fault alone: %j", async (name, answers, overlay, host, detail) => {
    const results = await ollama({ ...WELL, ...answers }, overlay, host);
    expect(failed(results)).toEqual([name]);
    const result = resultOf(results, name);
    expect(result.detail).toContain(detail);
    expect(result.fix).not.toBe("");
  });
});

describe("a simple server that is declared for loopback", () => {
  it("and answers on the network: its drop-in does not apply", async () => {
    const near = await answering({ "/api/version": { version: "0.34.4" } });
    await answering({ "/api/version": { version: "0.34.4" } }, "127.0.0.2", near);
    const plan = planned(8001, {}, { simpleServer: { mode: "host", port: near } });
    const host = emptyHost({ lanAddresses: async () => ["127.0.0.2"] });
    const [result] = await run(plan, { only: ["ollama-listen"] }, host);
    expect([result?.status, result?.detail, result?.fix]).toEqual([
      "fail",
      "it is declared for 127.0.0.1 alone, but answers on 127.0.0.2",
      "Ollama asks for no key. Let its drop-in apply: sudo systemctl daemon-reload && sudo systemctl restart ollama.service. Other computers reach its models through the bridge, with a key (`bridge.listen`, `bridge.keyVariable`).",
    ]);
  });
});

describe("a server that is published on loopback", () => {
  const verdict = async (port: number, listen = "127.0.0.1", lan = ["127.0.0.2"]) => {
    const host = emptyHost({ lanAddresses: async () => lan });
    const [result] = await run(planned(port, { listen }), { only: ["network-closed"] }, host);
    return [result?.status, result?.detail];
  };

  it("answers there alone, or the probe says where else", async () => {
    const port = await answering({ "/health": {} });
    expect(await verdict(port)).toEqual(["pass", `vllm-model-${port} on 127.0.0.2`]);
    await answering({ "/invocations": {} }, "127.0.0.2", port);
    expect(await verdict(port)).toEqual([
      "fail",
      `vllm-model-${port} answers on 127.0.0.2:${port}`,
    ]);
  });

  it("is not looked for where there is no network, or where it is published there", async () => {
    expect(await verdict(8001, "127.0.0.1", [])).toEqual([
      "skip",
      "this machine has no network address",
    ]);
    expect(await verdict(8001, "0.0.0.0")).toEqual([
      "skip",
      "the plan publishes nothing on loopback",
    ]);
  });
});

describe("the chat UI", () => {
  const inside = async (args: readonly string[]) => {
    if (args[0] !== "exec") return "";
    const url = args.at(-1) ?? "";
    if (url.includes("11434")) return '{"models":[{"name":"qwen3:8b"}]}';
    return `{"data":[{"id":"${url.includes("8001") ? "model" : "a-model"}"}]}`;
  };
  const ui = async (
    answers: Readonly<Record<string, unknown>>,
    host: Partial<Host> = {},
    modelsStatus = 200,
  ) => {
    const port = await answering(answers, "127.0.0.1", 0, { "/api/models": modelsStatus });
    const only = ["chat-ui-health", "chat-ui-models"];
    return run(withChatUi(port), { only }, emptyHost({ docker: inside, ...host }));
  };
  const lists = (...ids: string[]) => ({
    "/health": { status: true },
    "/api/models": { data: ids.map((id) => ({ id })) },
  });
  const key = { LOCAL_SERVING_CHAT_UI_KEY: "sk-of-the-chat-ui" };

  it("is healthy and sees the models of each connection", async () => {
    const results = await ui(lists());
    expect(results.map(({ status }) => status)).toEqual(["pass", "pass"]);
    expect(resultOf(results, "chat-ui-models").detail).toContain(
      "model, a-model, qwen3:8b (asked from inside",
    );
  });

  it("lists them itself, where a token of it is given", async () => {
    const well = resultOf(
      await ui(lists("model", "a-model", "qwen3:8b"), { env: key }),
      "chat-ui-models",
    );
    expect([well.status, well.detail]).toEqual(["pass", "model, a-model, qwen3:8b (its own list)"]);
    const blind = resultOf(await ui(lists("model"), { env: key }), "chat-ui-models");
    expect([blind.status, blind.detail]).toEqual(["fail", "its own list lacks a-model, qwen3:8b"]);
    expect(blind.fix).toContain("an administrator's token");
    expect(JSON.stringify([well, blind])).not.toContain(key.LOCAL_SERVING_CHAT_UI_KEY);
  });

  it("refuses a token of another time", async () => {
    const answers = { "/health": { status: true }, "/api/models": { detail: "401 Unauthorized" } };
    const result = resultOf(await ui(answers, { env: key }, 401), "chat-ui-models");
    expect([result.status, result.detail]).toEqual([
      "fail",
      "it refuses the token in LOCAL_SERVING_CHAT_UI_KEY",
    ]);
    expect(result.fix).toContain("Settings, Account, JWT Token");
  });

  describe("by the variables that its container runs with", () => {
    const running = async (change: (env: Record<string, string>) => Record<string, string>) => {
      const docker = async (args: readonly string[]) => {
        if (args[0] !== "inspect") return inside(args);
        const env = machineOf(withChatUi(1)).chatUi?.container.env ?? {};
        const name = machineOf(withChatUi(1)).chatUi?.container.name ?? "";
        const variables = Object.entries(change({ ...env })).map(
          ([key, value]) => `${key}=${value}`,
        );
        return JSON.stringify([inspected({ name, env: variables })]);
      };
      return resultOf(await ui(lists(), { docker }), "chat-ui-models");
    };

    it("has the planned connections", async () => {
      expect((await running((env) => ({ ...env, PATH: "/usr/bin" }))).status).toBe("pass");
    });

    it.each<[string, (env: Record<string, string>) => Record<string, string>, string]>([
      [
        "an address without /v1",
        (env) => ({
          ...env,
          OPENAI_API_BASE_URLS: env.OPENAI_API_BASE_URLS?.replace("8001/v1", "8001") ?? "",
          OPENAI_API_KEYS: "a-real-key;another",
        }),
        "http://vllm-model-8001:8001/v1",
      ],
      ["no Ollama", ({ OLLAMA_BASE_URLS: _, ...env }) => env, "http://host.docker.internal:11434"],
      [
        "the one kind switched off",
        (env) => ({ ...env, ENABLE_OPENAI_API: "False" }),
        "http://vllm-model-8001:8001/v1, http://host.docker.internal:8000/v1",
      ],
    ])("%s", async (_, change, lost) => {
      const result = await running(change);
      expect([result.status, result.detail]).toEqual([
        "fail",
        `its container runs without the planned connection ${lost}`,
      ]);
      expect(result.fix).toContain("serving up");
      expect(JSON.stringify(result)).not.toContain("a-real-key");
    });
  });

  it("is not ready", async () => {
    const results = await ui({ "/health": { status: false } });
    expect(results.map(({ status }) => status)).toEqual(["fail", "pass"]);
  });

  it("can't reach a connection from inside its container", async () => {
    const docker = async (args: readonly string[]) => {
      if (args.at(-1)?.includes(":8000/"))
        throw new Failed("docker exec failed: curl: (7) Failed to connect");
      return inside(args);
    };
    const results = await ui(lists(), { docker });
    expect(results.map(({ status }) => status)).toEqual(["pass", "fail"]);
    expect(resultOf(results, "chat-ui-models").detail).toBe(
      `http://host.docker.internal:8000/v1 can't be reached from inside ${results[0]?.target} (docker exec failed: curl: (7) Failed to connect)`,
    );
  });
});
