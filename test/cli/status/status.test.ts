import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { HERE } from "@local-serving/machines/address";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import * as api from "../../../cli/sees/api";
import { readSystem } from "../../../cli/sees/system";
import { keepVerify } from "../../../cli/verify/lastVerify";
import { plan } from "../../../components/plan/plan";
import { loadStackFile } from "../../../components/settings/load";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";
import { FakeSsh } from "../../layers/fakeSsh";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type StandIn, startStandIn } from "../../stand-in/server";
import { markApplied } from "../applied";
import { type Answers, FakeDocker, inspectedAsPlanned } from "../fakeDocker";
import { runServing } from "../runServing";

const HOURS_AGO = new Date(Date.now() - 3 * 3_600_000).toISOString();

/** Metrics of a server that writes 40 tokens between two looks. */
let tokens = 1000;
const metrics = (generated: number) => `vllm:num_requests_running{engine="0"} 2.0
vllm:num_requests_waiting{engine="0"} 1.0
vllm:kv_cache_usage_perc{engine="0"} 0.124
vllm:prefix_cache_queries_total{engine="0"} 1000.0
vllm:prefix_cache_hits_total{engine="0"} 871.0
vllm:generation_tokens_total{engine="0"} ${generated}.0
`;

let server: StandIn;
beforeAll(async () => {
  const show = () => {
    tokens += 40;
    return { status: 200, text: metrics(tokens) };
  };
  const routes = { "GET /metrics": show };
  server = await startStandIn(["model", "--host", "127.0.0.1", "--port", "0"], { routes });
});
afterAll(() => server.close());

/** A machine with a server on a port, a bridge and a chat UI, of which Docker says this. */
function machineWith(
  states: Readonly<Record<string, Record<string, unknown> | undefined>> = {},
  {
    port = server.port,
    machine = {},
    answers = {},
  }: { port?: number; machine?: object; answers?: Answers } = {},
) {
  const home = temporaryFolder("status-");
  const file = join(home, "Pulumi.dgx.yaml");
  const b = serverInput({ port, gpuMemoryUtilization: 0.02 });
  const services = { bridge: BRIDGE, chatUi: CHAT_UI };
  const dgx = {
    totalGiB: 121.63,
    instanceA: "none",
    inferenceServers: { b },
    ...services,
    ...machine,
  };
  writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
  const [planned] = plan(loadStackFile(file), { home }).machines;
  if (planned === undefined) throw new Error("no machine");
  const running = { Status: "running", StartedAt: HOURS_AGO, Health: { Status: "healthy" } };
  const found = planned.containers.flatMap((each) => {
    const key = each.role === "inference-server" ? "b" : each.role;
    if (key in states && states[key] === undefined) return [];
    const state = { ...running, ...states[key] };
    return [{ ...inspectedAsPlanned(each, state), Id: each.name }];
  });
  const docker = new FakeDocker({
    "ps ": { out: found.map(({ Id }) => `${Id}\n`).join("") },
    ...Object.fromEntries(
      found.map((each) => [`inspect --type container ${each.Id}`, { out: JSON.stringify([each]) }]),
    ),
    "inspect --type": { err: "Error: No such container: x\n", code: 1 },
    inspect: { out: JSON.stringify(found) },
    ...answers,
  });
  const env: Record<string, string> = {
    ...docker.env,
    HOME: home,
    XDG_STATE_HOME: join(home, "state"),
  };
  const applied = planned.files.find(({ role }) => role === "applied-plan");
  return {
    file,
    env,
    apply: () => {
      for (const { path, text } of [...planned.files, ...(applied ? [applied] : [])]) {
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(path, text);
      }
    },
    status: (...args: string[]) => runServing(["status", "--file", file, ...args], env),
    items: async () => {
      const { code, out } = await runServing(["status", "--file", file, "--format", "json"], env);
      return { code, ...JSON.parse(out).machines[0] };
    },
  };
}

describe("serving status", () => {
  it("shows what runs, since when, and what the server does, and exits 0", async () => {
    const machine = machineWith();
    const { code, out } = await machine.status();
    const lines = out.split("\n");
    expect([code, lines[0]]).toEqual([0, "dgx"]);
    expect(lines[1]).toMatch(
      /^ {2}MemAvailable [\d.]+ of [\d.]+ GiB; start gates stop a server below 2\.0$/,
    );
    expect(lines.slice(2, 6).map((line) => line.trim().split(/ {2,}/))).toEqual([
      ["state", "for", "KV", "running", "waiting", "tokens/s", "prefix hits"],
      ["b", "ready", "3 h", "12 %", "2", "1", expect.stringMatching(/^(3\d|40)\.\d$/), "87 %"],
      ["bridge", "ready", "3 h"],
      ["chat-ui", "ready", "3 h"],
    ]);
    expect(lines[6]).toMatch(/^ {2}drift: .*applied-plan\.json is not there: nothing was applied/);
  });

  it("gives the same as JSON", async () => {
    const { code, memory, items, verify } = await machineWith().items();
    expect([code, verify, memory.floorGiB]).toEqual([0, null, 2]);
    expect(items).toEqual([
      {
        ...{ key: "b", state: "ready", well: true, seconds: expect.any(Number) },
        figures: {
          kvUse: 0.124,
          running: 2,
          waiting: 1,
          tokensPerSecond: expect.any(Number),
          prefixHits: 0.871,
          tokensRead: null,
          tokensWritten: expect.any(Number),
        },
      },
      { key: "bridge", state: "ready", well: true, seconds: expect.any(Number) },
      { key: "chat-ui", state: "ready", well: true, seconds: expect.any(Number) },
    ]);
    expect(Math.round((items[0].seconds - 3 * 3600) / 100)).toBe(0);
    // 40 tokens in the second between two looks, which may come late.
    expect(items[0].figures.tokensPerSecond).toBeGreaterThan(5);
    expect(items[0].figures.tokensPerSecond).toBeLessThanOrEqual(40);
  });

  describe("of a bridge that counts", () => {
    const used = (labels: string, read: number, written: number) =>
      Object.entries({ input: read, output: written })
        .map(([kind, tokens]) => `litellm_${kind}_tokens_metric_total{${labels}} ${tokens}.0\n`)
        .join("");
    const agent = (name: string) => `metadata_user_agent="${name}"`;
    const page = [
      used(agent("codex_cli_rs/0.171.0 (x86_64)"), 100, 7),
      used(agent("claude-cli/2.1.332 (external, cli)"), 12_000, 900),
      used(agent("claude-cli/2.1.333 (external, cli)"), 345, 78),
      used(agent("None"), 5, 1),
    ].join("");
    const bridgeOf = async (keyVariable?: string) => {
      const bridge = await httpServer((request, response) => {
        const isAllowed = request.headers.authorization === "Bearer local-serving-placeholder";
        response.writeHead(isAllowed ? 200 : 401).end(request.url === "/metrics/" ? page : "");
      });
      const own = { ...BRIDGE, port: bridge.port, ...defined({ keyVariable }) };
      return machineWith({}, { machine: { bridge: own, monitoring: "scrape" } });
    };

    it("shows tokens by client, as each calls itself", async () => {
      const machine = await bridgeOf();
      const { tokensByClient } = await machine.items();
      expect(tokensByClient).toEqual([
        { client: "claude-cli", read: 12_345, written: 978 },
        { client: "codex_cli_rs", read: 100, written: 7 },
        { client: "", read: 5, written: 1 },
      ]);
      expect((await machine.status()).out).toContain(
        "\n  by client, since the bridge started: claude-cli 12,345 read, 978 written; codex_cli_rs 100 read, 7 written; clients without a name 5 read, 1 written\n",
      );
    });

    it("says why it can't be read without the bridge's key", async () => {
      const { out } = await (await bridgeOf("BRIDGE_KEY_OF_NOBODY")).status();
      expect(out).toContain(
        "\n  tokens by client: not read from the bridge, its key is in the variable BRIDGE_KEY_OF_NOBODY, which is not set here\n",
      );
    });
  });

  it("says nothing of containers where Docker doesn't answer", async () => {
    const machine = machineWith({}, { answers: { "ps ": { err: "no engine\n", code: 1 } } });
    machine.apply();
    const { code, items } = await machine.items();
    const unknown = ["b", "bridge", "chat-ui"].map((key) => ({
      ...{ key, state: "unknown", well: false },
    }));
    expect([code, items]).toEqual([1, unknown]);
  });

  it("says what drifted and when it was verified", async () => {
    const machine = machineWith({ "chat-ui": undefined });
    machine.apply();
    const result = { name: "x", target: "y", detail: "", fix: "", seconds: 1 };
    const verified = { stackFile: machine.file, machine: "dgx" };
    await keepVerify(verified, [{ ...result, status: "pass" }], machine.env);
    await keepVerify(verified, [{ ...result, name: "z", status: "fail" }], machine.env);
    const { code, out } = await machine.status();
    expect(code).toBe(1);
    expect(out).toMatch(/\n {2}chat-ui +not there +`serving up --refresh` creates it\n/);
    expect(out).toContain("\n  drift: 2 things differ from what was applied\n");
    expect(out).toMatch(
      /\n {2}last verify: 1 passed, 1 failed, at 20\d\d-\d\d-\d\d \d\d:\d\d UTC$/m,
    );
  });

  it("says what became of the machine since it was verified, and names the command", async () => {
    const states = { b: { Status: "exited" } };
    const machine = machineWith(states, { answers: { version: { out: "29.0.1\n" } } });
    const verified = { stackFile: machine.file, machine: "dgx" };
    const passed = [
      { name: "x", target: "y", detail: "", fix: "", seconds: 1, status: "pass" },
    ] as const;
    const since = async () => (await machine.items()).sinceVerify;
    expect(await since()).toBeNull();
    await keepVerify(verified, passed, machine.env);
    expect(await since()).toBeNull();
    const { kernel, bootId } = await readSystem(HERE);
    const then = { kernel, kernelArguments: [], docker: "28.3.3", ...defined({ bootId }) };
    await keepVerify(verified, passed, machine.env, then);
    // A later run that reads nothing keeps what was read.
    await keepVerify(verified, passed, machine.env);
    expect(await since()).toEqual({
      bootedAt: null,
      changes: [{ part: "docker", before: "28.3.3", after: "29.0.1" }],
      troubles: [],
    });
    await keepVerify(verified, passed, machine.env, { ...then, bootId: "other" });
    const { out } = await machine.status();
    expect(out).toMatch(
      /\n {2}since the last verify: it booted at 20\d\d-\d\d-\d\d \d\d:\d\d UTC; Docker 28\.3\.3 -> 29\.0\.1\. `serving verify --file \S+` shows/,
    );
  });

  const MINUTES_AGO = new Date(Date.now() - 4 * 60_000).toISOString();
  const NEVER = "0001-01-01T00:00:00Z";
  const AFTER_END = expect.closeTo(4 * 60, -2);
  const AFTER_START = expect.closeTo(3 * 3600, -2);
  const LOG = {
    loading:
      "INFO Starting to load model org/model...\nLoading safetensors checkpoint shards:  40% Completed | 2/5 [00:10]\n",
    closed: "start gate: closed: 3 starts in an hour\n",
  };
  it.each<[string, Parameters<typeof machineWith>[0] & object, Answers, object]>([
    [
      "stopped",
      { b: { Status: "exited", FinishedAt: MINUTES_AGO } },
      {},
      { state: "exited", well: false, seconds: AFTER_END, note: "`serving start b` starts it" },
    ],
    [
      "killed",
      { b: { Status: "exited", ExitCode: 1, FinishedAt: MINUTES_AGO } },
      {},
      {
        ...{ state: "exited", well: false, seconds: AFTER_END },
        note: "it ended with exit code 1: `serving logs b` says why, `serving start b` starts it again",
      },
    ],
    [
      "restarted",
      { b: { Status: "running", FinishedAt: MINUTES_AGO } },
      { logs: {} },
      { state: "starting", well: false, seconds: AFTER_START },
    ],
    [
      "never started",
      { b: { Status: "created", StartedAt: NEVER, FinishedAt: NEVER } },
      {},
      { state: "created", well: false, note: "`serving start b` starts it" },
    ],
    [
      "gone",
      { b: undefined },
      {},
      { state: "not there", well: false, note: "`serving up --refresh` creates it" },
    ],
    [
      "loading",
      {},
      { logs: { err: LOG.loading } },
      { state: "loading weights", note: "2 of 5 shards", well: false },
    ],
    [
      "behind a closed gate",
      {},
      { logs: { out: LOG.closed } },
      { state: "gate closed", note: expect.stringContaining("3 starts"), well: false },
    ],
    ["begun", {}, { logs: {} }, { state: "starting", well: false }],
  ])("tells a server that is %s, and exits 1", async (_, states, answers, item) => {
    const { code, items } = await machineWith(states, { port: 1, answers }).items();
    expect([code, items[0]]).toMatchObject([1, { key: "b", ...item }]);
    expect(items[0]).not.toHaveProperty("figures");
    expect("seconds" in items[0]).toBe(!["not there", "created"].includes(items[0].state));
  });

  it("names the stack file in what a person is told to run", async () => {
    const machine = machineWith({ bridge: { Status: "exited" } });
    const { out } = await machine.status();
    expect(out).toContain(`\`serving start --file ${machine.file} bridge\` starts it`);
  });

  it("tells a server whose engine is stopped: its figures stand still, and no token comes", async () => {
    const routes = { "GET /metrics": () => ({ status: 200, text: metrics(7) }) };
    const still = await startStandIn(["model", "--host", "127.0.0.1", "--port", "0"], { routes });
    const asked = vi.spyOn(api, "hangs").mockResolvedValue(true);
    try {
      const { code, items } = await machineWith({}, { port: still.port }).items();
      expect([code, items[0]]).toMatchObject([
        1,
        {
          state: "does not answer",
          well: false,
          note: "no token within 10 s: its engine hangs, or reads a long prompt",
          figures: { tokensPerSecond: 0 },
        },
      ]);
      expect(asked).toHaveBeenCalledWith(`http://127.0.0.1:${still.port}`, "model");
      asked.mockResolvedValue(false);
      const { code: well, items: idle } = await machineWith({}, { port: still.port }).items();
      expect([well, idle[0]]).toMatchObject([0, { state: "ready", well: true }]);
    } finally {
      asked.mockRestore();
      await still.close();
    }
  });

  it("calls a server ready that says so, as --wait does, also without vLLM's metrics", async () => {
    const routes = { "GET /metrics": () => ({ status: 404, text: "Not Found" }) };
    const other = await startStandIn(["model", "--host", "127.0.0.1", "--port", "0"], { routes });
    try {
      const machine = machineWith({}, { port: other.port, answers: { logs: {} } });
      machine.apply();
      const waited = await machine.status("--wait", "--format", "json");
      const { code, items } = await machine.items();
      expect([waited.code, JSON.parse(waited.out).servers[0].outcome]).toEqual([0, "ready"]);
      expect([code, items[0]]).toEqual([
        0,
        {
          ...{ key: "b", state: "ready", well: true, seconds: expect.any(Number) },
          note: "no figures: its /metrics are not vLLM's",
        },
      ]);
    } finally {
      await other.close();
    }
  });

  it("takes a refusal for an answer, and silence for none", async () => {
    const silent = await httpServer(() => {});
    const refusing = await httpServer((_, response) => response.writeHead(401).end());
    const at = ({ port }: { port: number }) => `http://127.0.0.1:${port}`;
    expect(await api.hangs(at(silent), "model", 0.2)).toBe(true);
    expect(await api.hangs(at(refusing), "model", 5)).toBe(false);
    expect(await api.hangs("http://127.0.0.1:1", "model", 5)).toBe(false);
  });

  it("tells an unhealthy service", async () => {
    const { code, items } = await machineWith({
      bridge: { Health: { Status: "unhealthy" } },
    }).items();
    expect([code, items[1]]).toMatchObject([1, { key: "bridge", state: "unhealthy", well: false }]);
  });

  it("asks what runs outside containers of ours whether it answers", async () => {
    const { port } = await httpServer((request, response) => {
      response.writeHead(["/health", "/api/version"].includes(request.url ?? "") ? 200 : 404).end();
    });
    const outside = (at: number) =>
      machineWith(
        {},
        {
          machine: {
            instanceA: { port, gpuMemoryUtilization: 0.4 },
            simpleServer: { mode: "host", port: at },
          },
        },
      ).items();
    expect((await outside(port)).items.slice(3)).toEqual([
      { key: "simple-server", state: "ready", well: true },
      { key: "instance-a", state: "ready", well: true },
    ]);
    const { code, items } = await outside(1);
    expect([code, items[3]]).toEqual([
      1,
      { key: "simple-server", state: "does not answer", well: false },
    ]);
  });

  it("asks a machine over ssh through a forwarded port", async () => {
    const home = temporaryFolder("status-home-");
    const machine = machineWith({}, { machine: { dockerHost: "ssh://me@dgx", home } });
    const { kernel, ...then } = await readSystem(HERE);
    await keepVerify(
      { stackFile: machine.file, machine: "dgx" },
      [{ name: "x", target: "y", detail: "", fix: "", seconds: 1, status: "pass" }],
      machine.env,
      { ...then, kernel: "6.0.0-old" },
    );
    const { code, out } = await runServing(["status", "--file", machine.file, "--format", "json"], {
      ...machine.env,
      ...{ HOME: home, PATH: `${new FakeSsh().folder}:${machine.env.PATH}` },
    });
    const [{ items, memory, sinceVerify }] = JSON.parse(out).machines;
    expect([code, memory.floorGiB]).toEqual([0, 2]);
    const change = { part: "kernel", before: "6.0.0-old", after: kernel };
    expect(sinceVerify).toMatchObject({ bootedAt: null, changes: [change] });
    expect(items[0]).toMatchObject({
      key: "b",
      state: "ready",
      figures: { running: 2, prefixHits: 0.871 },
    });
    expect(items[1]).toMatchObject({ key: "bridge", state: "ready" });
  });

  it.each([["status"], ["drift"], ["logs", "b"], ["stop", "b"], ["start", "b"], ["wait"]])(
    "says of a faulty stack file that what runs is untouched: %s",
    async (...command) => {
      const { file, env } = machineWith();
      const text = readFileSync(file, "utf8");
      const run = async (changed: string) => {
        writeFileSync(file, changed);
        return runServing([...command, "--file", file], env);
      };
      const faulty = await run(text.replace("maxModelLen", "maxModellen"));
      expect([faulty.code, faulty.out]).toEqual([1, ""]);
      const [said, head] = faulty.err.split("\n");
      expect(said).toBe(
        "What runs is untouched, but this command finds it by the stack file. Once the file is fixed, run the command again.",
      );
      expect(head).toMatch(new RegExp(`^${file}: \\d faults?$`));
      const unreadable = await run("config: [");
      expect([unreadable.code, unreadable.err.split("\n")[0]]).toEqual([2, said]);
      const missing = await runServing([...command, "--file", `${file}.gone`], env);
      expect([missing.code, missing.err.includes("What runs")]).toEqual([2, false]);
    },
  );

  it("says why nothing is known where no Docker answers", async () => {
    const machine = machineWith();
    markApplied(machine.env.HOME ?? "", "dgx");
    const { code, out } = await runServing(["status", "--file", machine.file], {
      ...machine.env,
      PATH: "/nowhere",
    });
    expect(code).toBe(1);
    expect(out).toContain(
      "dgx\n  No `docker` on PATH: install the Docker client.\n  MemAvailable ",
    );
  });
});
