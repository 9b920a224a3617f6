import { describe, expect, it } from "vitest";
import type { Host } from "../../../cli/sees/host";
import { named } from "../../../cli/stack/named";
import { plan } from "../../../components/plan/plan";
import { serverInput, stack } from "../../fixtures/machine";
import { BRIDGE } from "../../fixtures/services";
import type { RouteTable } from "../../stand-in/exchange";
import { startStandIn } from "../../stand-in/server";
import { emptyHost, resultOf, run } from "./environment";

type Settings = Record<string, unknown>;

const PROBES = ["instance-a-start", "instance-a-models", "instance-a-tools"];
const TOOLS = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"];
const CODEX = { codex: { server: "instance-a" } };
const KEY = "key-of-mine-1234567890";

interface Case {
  /** Arguments of instance A behind its model. */
  readonly words?: readonly string[];
  readonly declared?: Settings;
  readonly clients?: Settings;
  readonly routes?: RouteTable;
  readonly host?: Partial<Host>;
  readonly only?: readonly string[];
  /** What `serving verify NAME` names. */
  readonly name?: string;
}

/** What is found of an instance A that really answers, and whose argv is what it was started with. */
async function found({ words = TOOLS, routes, host, only, name, ...given }: Case) {
  const asked: string[] = [];
  const seen: RouteTable = Object.fromEntries(
    Object.entries(routes ?? {}).map(([route, answer]) => [
      route,
      (exchange) => {
        asked.push(route);
        return answer(exchange);
      },
    ]),
  );
  const names = words.includes("--served-model-name") ? [] : ["--served-model-name", "old"];
  const own = words.filter((word) => word !== "--api-key" && word !== KEY);
  const server = await startStandIn(["org/old", "--port", "0", ...names, ...own], { routes: seen });
  const argv = ["/opt/v/bin/python3", "/opt/v/bin/vllm", "serve", "org/old", ...names, ...words];
  const instanceA = {
    ...{ gpuMemoryUtilization: 0.45, port: server.port, servedModelName: "old" },
    ...given.declared,
  };
  const machine = { bridge: { ...BRIDGE, servers: ["b", "instance-a"] }, instanceA };
  const inferenceServers = { b: serverInput({ port: 1 }) };
  const planned = plan(stack({ ...machine, inferenceServers, clients: given.clients ?? CODEX }), {
    home: "/home/me",
  });
  const on = emptyHost({ listener: async () => ({ pid: 7, argv }), ...host });
  try {
    const results = await run(
      planned,
      name === undefined ? { only: only ?? PROBES } : { about: [named(planned.machines, name)] },
      on,
    );
    return {
      results,
      asked,
      said: results.map(({ status, detail, fix }) => [status, detail, fix]),
    };
  } finally {
    await server.close();
  }
}

const ALL = { toolParser: "hermes", keyVariable: "none" };
const CALL = 'read_file({"path":"example"})';

describe("an instance A that coding clients are pointed at", () => {
  it("is asked by its name alone, also where no client is pointed at it", async () => {
    for (const clients of [CODEX, {}]) {
      const { results } = await found({ declared: ALL, name: "a", clients });
      expect(results.map(({ name, status }) => [name, status])).toEqual([
        ...PROBES.map((probe) => [probe, "pass"]),
        ["instance-a", "pass"],
      ]);
    }
  });

  it("passes with a tool parser, a plain name and no key", async () => {
    expect((await found({ declared: ALL })).said).toEqual([
      ["pass", "makes structured tool calls (`hermes`); no key in its arguments", ""],
      ["pass", "old", ""],
      ["pass", CALL, ""],
    ]);
  });

  it("says what to declare where nothing is declared", async () => {
    const { said } = await found({});
    expect(said.map(([status, , fix]) => [status, fix])).toEqual([
      [
        "pass",
        "Declare `toolParser: hermes` below `instanceA`: `serving status --versions` prints the change.",
      ],
      ["pass", "`instanceA.keyVariable: none` declares that it asks for no key."],
      ["pass", ""],
    ]);
  });

  it("fails without a tool parser, by its argv and by its own answer", async () => {
    const fix =
      "Restart instance A yourself with `--enable-auto-tool-choice --tool-call-parser <parser>` of its model's family, or point the client at another server (`clients.*.server`).";
    const { results } = await found({
      words: [],
      clients: { ...CODEX, claudeCode: { server: "instance-a" } },
    });
    expect(resultOf(results, "instance-a-start")).toMatchObject({
      status: "fail",
      detail:
        "it makes no structured tool calls, which claude-code, codex can't work without: it runs without `--enable-auto-tool-choice --tool-call-parser`",
      fix,
    });
    expect(resultOf(results, "instance-a-tools")).toMatchObject({
      status: "fail",
      detail: expect.stringMatching(/^it refuses tools: .*--enable-auto-tool-choice/),
      fix,
    });
  });

  it("fails for a name that it doesn't serve, and for one with a slash", async () => {
    const other = ["--served-model-name", "org/new", "new", ...TOOLS];
    const models = async (given: Case) =>
      (await found({ ...given, only: ["instance-a-models"] })).said;
    expect(await models({ words: other, declared: ALL })).toEqual([
      [
        "fail",
        "`old` is not served; it serves org/new, new",
        "`instanceA.servedModelName: new`, then `serving up`.",
      ],
    ]);
    const slash = { ...ALL, servedModelName: "org/new" };
    expect(await models({ words: ["--served-model-name", "org/new"], declared: slash })).toEqual([
      [
        "fail",
        "`org/new` has a slash, so a coding client can't address it",
        "Restart instance A yourself with a name without a slash first in `--served-model-name`, and declare that name (`instanceA.servedModelName`).",
      ],
    ]);
  });

  const refusing: RouteTable = {
    "GET /v1/models": ({ authorization }) =>
      authorization === `Bearer ${KEY}`
        ? { status: 200, json: { object: "list", data: [{ id: "old" }] } }
        : { status: 401, json: { error: "Unauthorized" } },
  };

  it("fails where it asks for a key that isn't declared, and then asks nothing more", async () => {
    const { said, results, asked } = await found({
      words: [...TOOLS, "--api-key", KEY],
      declared: { toolParser: "hermes" },
      routes: refusing,
    });
    const fix =
      "Declare the variable of your shell that holds it (`instanceA.keyVariable: LOCAL_SERVING_INSTANCE_A_KEY`), then `serving up`.";
    expect(said).toEqual([
      ["fail", "it asks for a key (`--api-key`), and its clients (codex) have none", fix],
      ["fail", "it asks for a key (status 401), and no variable is declared", fix],
      ["skip", "not run: instance A refuses the key (see instance-a-models)", ""],
    ]);
    expect(asked).toEqual(["GET /v1/models"]);
    expect(JSON.stringify(results)).not.toContain(KEY);
  });

  it("is asked with the key of the variable, and not at all without it", async () => {
    const given: Case = {
      words: [...TOOLS, "--api-key", KEY],
      declared: { toolParser: "hermes", keyVariable: "A_KEY" },
      routes: refusing,
    };
    const keyed = await found({ ...given, host: { env: { A_KEY: KEY } } });
    expect(keyed.said).toEqual([
      ["pass", "makes structured tool calls (`hermes`); asks for a key", ""],
      ["pass", "old", ""],
      ["pass", CALL, ""],
    ]);
    const wrong = await found({ ...given, host: { env: { A_KEY: "another-key-1234567890" } } });
    expect(wrong.said[1]).toEqual([
      "fail",
      "it refuses the key in A_KEY (status 401)",
      "Set A_KEY to the key that instance A was started with.",
    ]);
    const unset = await found(given);
    expect([unset.said.slice(1), unset.asked]).toEqual([
      [
        ["skip", "its key is in the variable A_KEY, which is not set here", ""],
        ["skip", "its key is in the variable A_KEY, which is not set here", ""],
      ],
      [],
    ]);
  });

  it("with a key still counts as alive without it", async () => {
    const { results } = await found({
      only: ["instance-a"],
      routes: refusing,
      host: { startTime: async () => "4711" },
    });
    expect(resultOf(results, "instance-a")).toMatchObject({
      status: "pass",
      detail: "asks for a key; same process as before (process 7)",
    });
  });

  it.each<[string, Partial<Host>, string]>([
    [
      "another user's",
      { listener: async () => ({}) },
      "how it was started can't be read: its process belongs to another user",
    ],
    [
      "one with a file of options",
      { listener: async () => ({ argv: ["vllm", "serve", "m", "--config", "c.yaml"] }) },
      "how it was started can't be read: its argv can't be read for certain",
    ],
  ])("is judged by its answers alone where it is %s", async (_, host, detail) => {
    const { said } = await found({ declared: ALL, host });
    expect(said).toEqual([
      ["skip", detail, ""],
      ["pass", "old", ""],
      ["pass", CALL, ""],
    ]);
  });

  it("is asked for one short answer of its model, and for nothing where no coding client uses it", async () => {
    const bodies: unknown[] = [];
    const routes: RouteTable = {
      "POST /v1/chat/completions": ({ body }) => {
        bodies.push(body);
        return { status: 200, json: { choices: [{ message: {}, finish_reason: "length" }] } };
      },
    };
    const { said } = await found({ declared: ALL, routes });
    expect(bodies).toMatchObject([{ model: "old", max_tokens: 256 }]);
    expect(said[2]).toEqual(["skip", "not known: its answer was cut off after 256 tokens", ""]);
    const nobody = { codex: { server: "b" }, clientEnv: { server: "instance-a" } };
    const named = await found({ words: [], clients: nobody, only: ["instance-a-start"] });
    expect(named.said[0]?.slice(0, 2)).toEqual([
      "pass",
      "makes no structured tool calls, so no coding client can use it; no key in its arguments",
    ]);
  });
});
