import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { jsonIn, objectOr, objectsIn } from "@local-serving/base/faults/json";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { MachinePlan } from "../../../components/plan/types";
import { ON_DEMAND_KEY_VARIABLE } from "../../../components/services/bridge/bridgeConfig";
import { KEY_VARIABLE, onRequest, plannedOnDemand, RESIDENT } from "../../fixtures/onDemand";
import { BRIDGE, fileOf } from "../../fixtures/services";
import { type Ran, runToEnd, type Serving, serveUntilReady } from "../process";
import { PROGRAMS } from "../setup";
import { installedPath } from "../vllm/toolTurns";
import { describeOnDemand } from "./available";
import { importRoot, rootWithServer } from "./image";
import { type PlannedRig, startPlannedRig } from "./plannedRig";
import { KEY } from "./rig";

/** What a server takes to its first answer: more than what Node's `fetch` waits. */
const LOADS_FOR_SECONDS = 330;
const LIMIT_SECONDS = 1200;

/** For two clients to start, to be refused and to end, on a busy machine. */
const SAID_WITHIN_SECONDS = 120;

const REASON = "RuntimeError: the weights are no weights";
const SENTENCE = new RegExp(
  `broken did not start: its container ended with 3 after \\d+ s: ${REASON}; serving logs e`,
);
const IMAGE = "slow:test";
const PLACEHOLDER = "local-serving-placeholder";

/** So small that all of them run at once. */
const server = (name: string, port: number, environment: Record<string, string>) =>
  onRequest(name, port, { gpuMemoryUtilization: 0.1, maxModelLen: 131_072, environment });
const SLOW = { LOADS_FOR: String(LOADS_FOR_SECONDS) };
const SERVERS = {
  // Two of one name: what makes the bridge check the health of servers by itself.
  b: RESIDENT,
  b2: { ...RESIDENT, port: 8009 },
  c: server("coder", 8002, SLOW),
  d: server("other", 8003, SLOW),
  e: server("broken", 8004, { FAILS_WITH: REASON }),
  f: server("third", 8005, SLOW),
  g: server("unasked", 8006, {}),
};

const planned = (home: string, more: Record<string, unknown> = {}) =>
  plannedOnDemand(
    {
      inferenceServers: SERVERS,
      clients: {
        claudeCode: { via: "bridge", server: "c" },
        codex: { via: "native", server: "d" },
      },
      ...more,
    },
    home,
  ).machine;

/** Its bridge checks health when it is asked for it, and never by itself: no name has two servers. */
function plannedAlone(home: string) {
  const { b2: _, ...inferenceServers } = SERVERS;
  return planned(home, { inferenceServers, bridge: { ...BRIDGE, port: 8788 } });
}

describeOnDemand("a cold start of five minutes behind real clients", () => {
  let rig: PlannedRig;
  let bridges: readonly Serving[] = [];
  let programs: Record<"claude" | "codex", string>;

  beforeAll(async () => {
    programs = {
      claude: installedPath(await PROGRAMS.claude()),
      codex: installedPath(await PROGRAMS.codex()),
    };
    const litellm = installedPath(await PROGRAMS.litellm());
    rig = await startPlannedRig({
      planned: (home) => planned(home),
      image: async (daemon) => {
        const root = join(daemon.folder, "rootfs");
        mkdirSync(root);
        await rootWithServer(root, "slowServer");
        await importRoot(daemon, root, IMAGE);
        return IMAGE;
      },
    });
    bridges = [
      await startBridge(rig, rig.machine, litellm),
      await startBridge(rig, plannedAlone(rig.home), litellm),
    ];
  }, LIMIT_SECONDS * 1000);
  afterAll(async () => {
    for (const bridge of bridges) await bridge.stop();
    await rig?.close();
  });

  const client = (name: "claude" | "codex", ...words: readonly string[]): Promise<Ran> => {
    const { machine, home, within } = rig;
    const key = name === "codex" ? "codex" : "claude-code";
    const launcher = machine.clients.find((each) => each.client === key)?.command ?? "";
    const work = join(home, `work-${name}`);
    mkdirSync(work, { recursive: true });
    const [program, ...rest] = within(launcher, ...words);
    const path = [dirname(programs[name]), dirname(process.execPath), "/usr/bin", "/bin"];
    return runToEnd(program, rest, {
      env: { PATH: path.join(":"), HOME: home, [KEY_VARIABLE]: KEY },
      cwd: work,
      seconds: LIMIT_SECONDS,
    });
  };
  const claude = (prompt: string, ...more: readonly string[]) =>
    client("claude", "-p", prompt, ...more);
  const codex = (prompt: string, ...more: readonly string[]) =>
    client("codex", ...CODEX, ...more, prompt);
  const throughBridge = (path: string, body?: object) =>
    rig.ask(`http://127.0.0.1:${rig.machine.bridge?.port}${path}`, PLACEHOLDER, body);
  const throughSwap = (path: string, body?: object) =>
    rig.ask(`${rig.machine.onDemand?.url}${path}`, KEY, body);
  const eventsOf = (key: string) =>
    rig.events().flatMap(({ server: of, event }) => (of === key ? [event] : []));

  it("lists of models and checks of health start nothing", async () => {
    const names = ["coder", "other", "broken", "third", "unasked"];
    for (const list of [throughBridge, throughSwap]) {
      const [status, text] = await list("/v1/models");
      const ids = objectsIn(objectOr(jsonIn(text)).data).map(({ id }) => id);
      expect(status).toBe(200);
      expect(ids).toEqual(expect.arrayContaining(names));
    }
    const checked = async (port = 0, model = "") => {
      const [status, text] = await rig.ask(`http://127.0.0.1:${port}/health${model}`, PLACEHOLDER);
      const { healthy_endpoints: healthy, unhealthy_endpoints: unhealthy } = objectOr(jsonIn(text));
      const modelsOf = (all: unknown) => [
        ...new Set(objectsIn(all).map(({ model: name }) => name)),
      ];
      return [status, modelsOf(healthy), modelsOf(unhealthy)];
    };
    for (const { bridge } of [rig.machine, plannedAlone(rig.home)]) {
      // What the first bridge checks by itself, it says here.
      await expect
        .poll(() => checked(bridge?.port), { timeout: 180_000, interval: 1000 })
        .toEqual([200, ["hosted_vllm/small"], []]);
      expect(await checked(bridge?.port, "?model=unasked")).toEqual([503, [], []]);
    }
    expect((await throughSwap("/health"))[0]).toBe(200);
    expect(rig.events()).toEqual([]);
  });

  it("each gets its answer whole, from a server that was stopped", async () => {
    const began = Date.now();
    const seconds = async <Answer>(answer: Promise<Answer>) =>
      [await answer, (Date.now() - began) / 1000] as const;
    const body = {
      model: "third",
      stream: true,
      messages: [{ role: "user", content: "say QX-ABC003" }],
    };
    const [messages, responses, chat] = await Promise.all([
      seconds(claude("say QX-ABC001")),
      seconds(codex("say QX-ABC002")),
      seconds(throughBridge("/v1/chat/completions", body)),
    ]);
    console.log(
      `Claude Code ${messages[1]} s, Codex ${responses[1]} s, chat ${chat[1]} s\n${JSON.stringify(rig.events())}`,
    );
    expect(messages[0], messages[0].err).toMatchObject({ code: 0 });
    expect(messages[0].out.trim()).toBe("Hello from coder QX-ABC001");
    expect(responses[0], responses[0].err).toMatchObject({ code: 0 });
    expect(responses[0].out.trim()).toBe("Hello from other QX-ABC002");
    expect(chat[0][0]).toBe(200);
    expect(streamed(chat[0][1])).toBe("Hello from third QX-ABC003");
    expect(chat[0][1].trim().endsWith("data: [DONE]")).toBe(true);
    for (const [, took] of [messages, responses, chat])
      expect(took).toBeGreaterThan(LOADS_FOR_SECONDS);
    for (const key of ["c", "d", "f"]) expect(eventsOf(key), key).toEqual(["start", "ready"]);
  });

  it("a server that doesn't start is said in one sentence, in each form and at once", async () => {
    const user = { role: "user", content: "say hi" };
    const bodies = {
      "/v1/chat/completions": { messages: [user] },
      "/v1/messages": { messages: [user], max_tokens: 100 },
      "/v1/responses": { input: "say hi" },
    };
    for (const [path, body] of Object.entries(bodies))
      for (const ask of [throughBridge, throughSwap])
        for (const stream of [false, true]) {
          const [status, text] = await ask(path, { model: "broken", stream, ...body });
          expect([status, text], `${path} stream ${stream}`).toEqual([
            503,
            expect.stringMatching(SENTENCE),
          ]);
        }
    expect(eventsOf("e").filter((each) => each === "start")).toEqual(["start"]);
  });

  it("Claude Code and Codex show that sentence, and end with an error", async () => {
    const began = Date.now();
    const [byClaude, byCodex] = await Promise.all([
      claude("say hi", "--model", "broken"),
      codex("say hi", "--model", "broken"),
    ]);
    const took = (Date.now() - began) / 1000;
    console.log(
      [`after ${took} s`, byClaude.out, byClaude.err, byCodex.out, byCodex.err].join("\n"),
    );
    for (const { code, out, err } of [byClaude, byCodex]) {
      expect(code, out + err).toBe(1);
      expect(out + err).toMatch(SENTENCE);
    }
    // Ten retries took 229 s, and the ten minutes that `Retry-After` said as long as that.
    expect(took).toBeLessThan(SAID_WITHIN_SECONDS);
  });

  it("nobody has started what nobody asked for", async () => {
    expect(eventsOf("g")).toEqual([]);
    const { name } = rig.machine.inferenceServers.find(({ key }) => key === "g")?.container ?? {};
    const status = ["inspect", "--format", "{{.State.Status}}", name ?? ""];
    expect((await rig.daemon.docker(...status)).trim()).toBe("created");
  });
});

const CODEX = [
  ...["exec", "--strict-config", "--skip-git-repo-check"],
  "--dangerously-bypass-approvals-and-sandbox",
];

/** LiteLLM with the plan's file, arguments and variables; the resident servers are on loopback. */
function startBridge(rig: PlannedRig, machine: MachinePlan, program: string): Promise<Serving> {
  const { home, within, address } = rig;
  const { bridge, inferenceServers } = machine;
  if (bridge === null) throw new Error("the plan has no bridge");
  const folder = join(home, bridge.container.name);
  mkdirSync(folder);
  const config = join(folder, "config.yaml");
  const residents = inferenceServers.map(({ container }) => `http://${container.name}:`);
  const text = fileOf(machine, "bridge-config").text;
  writeFileSync(
    config,
    residents.reduce((all, each) => all.replaceAll(each, "http://127.0.0.1:"), text),
  );
  const words = bridge.container.command.map((each) =>
    each.endsWith("config.yaml") ? config : each,
  );
  const [enter, ...rest] = within(program, ...words);
  const { keyPath = "" } = machine.onDemand ?? {};
  return serveUntilReady(enter, rest, {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      ...bridge.container.env,
      // Its entrypoint reads it from the file.
      [ON_DEMAND_KEY_VARIABLE]: readFileSync(keyPath, "utf8").trim(),
    },
    cwd: folder,
    url: `http://${address}:${bridge.port}/health/liveliness`,
    seconds: 300,
  });
}

/** The text of a streamed chat completion. */
function streamed(text: string): string {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .flatMap((line) => objectsIn(objectOr(jsonIn(line.slice("data: ".length))).choices))
    .map(({ delta }) => String(objectOr(delta).content ?? ""))
    .join("");
}
