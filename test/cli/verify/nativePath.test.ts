import { objectsIn } from "@local-serving/base/faults/json";
import { describe, expect, it } from "vitest";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE } from "../../fixtures/services";
import type { JsonObject } from "../../stand-in/exchange";
import type { FaultName } from "../../stand-in/faults";
import { planned, resultOf, run, standIn, startPlanned, WINDOW } from "./environment";
import { withBridge } from "./services";

const NAME = "native-messages-path";
const SETTING = "machines.dgx.clients.claudeCode.via";
const TEMPLATE = "machines.dgx.inferenceServers.b.chatTemplate";

const SINCE = "Claude Code from 2.1.329 on, with the file that we write for `via: native`,";

const written = (line: string) => `Write \`${line}\` in the stack file, then \`serving up\``;

async function verdict(
  fault: FaultName | undefined,
  via: "native" | "bridge" | "none",
  alone = false,
) {
  const server = await startPlanned(fault);
  const plan = {
    none: planned(server.port),
    native: planned(server.port, {}, { clients: { claudeCode: { via: "native" } } }),
    bridge: withBridge(server.port, 8787),
  }[via];
  const results = await run(plan, { only: [NAME], ...(alone ? { baseUrl: server.url } : {}) });
  await server.close();
  return resultOf(results, NAME);
}

describe("the native messages-path test against the stack file", () => {
  it.each([
    [
      "passed, native",
      undefined,
      "native",
      "pass",
      "PASS (5 of 5 runs with a tool_use block); 100 % of the second call's prompt came from the cache (",
      "",
    ],
    [
      "passed, native, its prompt read anew: back to the bridge",
      "merges-system-turns",
      "native",
      "fail",
      "PASS (5 of 5 runs with a tool_use block), but with a new system element behind the user turn 0 % of the second call",
      `${written(`${SETTING}: bridge`)}; or write \`${TEMPLATE}: tolerant\` instead. vLLM moves the element`,
    ],
    [
      "passed, bridge, its prompt read anew: as it should be",
      "merges-system-turns",
      "bridge",
      "pass",
      "tokens). Keep the bridge, as the stack file does.",
      "",
    ],
    [
      "passed, no client, its prompt read anew",
      "merges-system-turns",
      "none",
      "pass",
      `tokens). A messages-style client needs the bridge (\`${SETTING}: bridge\`).`,
      "",
    ],
    ["passed, no client", undefined, "none", "pass", "PASS (5 of 5", ""],
    [
      "passed, bridge: it can be dropped",
      undefined,
      "bridge",
      "pass",
      "which can be dropped",
      `Write \`${SETTING}: native\` and \`${TEMPLATE}: tolerant\` in the stack file, then \`serving up\`: Claude Code then talks to the server directly. ${SINCE} needs no such template.`,
    ],
    [
      "failed, native: back to the bridge",
      "end-turn-pseudo-xml",
      "native",
      "fail",
      "FAIL (0 of 5",
      `${written(`${SETTING}: bridge`)}: messages-style clients must not use this server directly. ${SINCE} sends no such element, and was seen to work with a server that refuses it.`,
    ],
    [
      "failed, no client",
      "end-turn-pseudo-xml",
      "none",
      "fail",
      "FAIL (0 of 5",
      `${written(`${SETTING}: bridge`)}: messages-style clients must not use this server directly. ${SINCE} sends no such element, and was seen to work with a server that refuses it.`,
    ],
    [
      "failed, bridge: as it should be",
      "end-turn-pseudo-xml",
      "bridge",
      "pass",
      "Keep the bridge, as the stack file does.",
      "",
    ],
  ] as const)("%s", async (_, fault, via, status, detail, fix) => {
    const found = await verdict(fault, via);
    expect(found.status).toBe(status);
    expect(found.detail).toContain(detail);
    expect(fix === "" ? found.fix === "" : found.fix.startsWith(fix)).toBe(true);
  });

  it("gives whole advice: its lines leave the plan without a warning of them", async () => {
    const { fix } = await verdict(undefined, "bridge");
    const lines = [...fix.matchAll(/`machines\.dgx\.([\w.]+): (\w+)`/g)].map(([, key, value]) => ({
      key,
      value,
    }));
    expect(lines).toEqual([
      { key: "clients.claudeCode.via", value: "native" },
      { key: "inferenceServers.b.chatTemplate", value: "tolerant" },
    ]);
    const clients = { claudeCode: { via: lines[0]?.value } };
    const bridge = { ...BRIDGE, port: 8787 };
    const codes = (server: Record<string, unknown>) =>
      planned(8001, server, { bridge, clients }).warnings.map(({ code }) => code);
    expect(codes({})).toContain("native-system-turns");
    expect(codes({ chatTemplate: lines[1]?.value })).toEqual(
      codes({}).filter((code) => code !== "native-system-turns"),
    );
  });

  it("names the client's line alone where the server has a template already", async () => {
    const server = await startPlanned();
    const clients = { claudeCode: { via: "bridge" } };
    const machine = { bridge: { ...BRIDGE, port: 8787 }, clients };
    const plan = planned(server.port, { chatTemplate: "tolerant" }, machine);
    const found = resultOf(await run(plan, { only: [NAME] }), NAME);
    await server.close();
    expect(found.fix).toBe(
      `${written(`${SETTING}: native`)}: Claude Code then talks to the server directly.`,
    );
  });

  it("advises nothing where the client is another server's", async () => {
    const server = await startPlanned();
    const clients = { claudeCode: { server: "c", via: "bridge" } };
    const bridge = { ...BRIDGE, port: 8787, servers: ["c"] };
    const inferenceServers = {
      b: serverInput({ maxModelLen: WINDOW, port: server.port }),
      c: serverInput({ servedModelName: "other", gpuMemoryUtilization: 0.2, port: 8002 }),
    };
    const plan = planned(server.port, {}, { bridge, clients, inferenceServers });
    const found = resultOf(await run(plan, { only: [NAME] }), NAME);
    await server.close();
    expect([found.fix, found.detail]).toEqual(["", expect.stringMatching(/, for another server$/)]);
  });

  it("judges a server that was named by its URL by itself", async () => {
    const found = await verdict("end-turn-pseudo-xml", "bridge", true);
    expect([found.status, found.fix]).toEqual([
      "fail",
      `Keep \`${SETTING}: bridge\`, as in the stack file.`,
    ]);
  });
});

/**
 * What a probe sends, and its verdict on a server that answers all of it with this and has no
 * counters.
 */
async function answeredWith(status: number, json: JsonObject, only = [NAME]) {
  const bodies: JsonObject[] = [];
  const port = await standIn({
    routes: {
      "POST /v1/messages": ({ body }) => {
        bodies.push(body);
        return { status, json };
      },
      "GET /metrics": () => ({ status: 404, json: {} }),
    },
  });
  const plan = planned(port, {}, { clients: { claudeCode: { via: "native" } } });
  return { bodies, result: resultOf(await run(plan, { only }), only[0] ?? "") };
}

const CALL = {
  type: "tool_use",
  id: "toolu_1",
  name: "read_file",
  input: { path: "/etc/hostname" },
};

describe("the native messages-path test", () => {
  it("sends the specified request and the client's own, at temperature 0 and at the default", async () => {
    const { bodies } = await answeredWith(200, { content: [CALL], stop_reason: "tool_use" });
    expect(bodies.map(({ system, temperature }) => [typeof system, temperature])).toEqual([
      ["string", 0],
      ["object", 0],
      ["string", undefined],
      ["object", undefined],
      ["string", undefined],
    ]);
    const turns = bodies.map(({ messages }) => (messages as JsonObject[]).map(({ role }) => role));
    expect(new Set(turns.map(String))).toEqual(new Set(["user,system"]));
    for (const body of bodies) {
      expect(body.tools).toEqual([
        expect.objectContaining({ name: "read_file", input_schema: expect.any(Object) }),
        expect.objectContaining({ name: "run_command", input_schema: expect.any(Object) }),
      ]);
      expect(body.stream).toBeUndefined();
    }
    expect(Object.keys(bodies[0] ?? {}).sort()).toEqual(
      ["max_tokens", "messages", "model", "system", "temperature", "tools"].sort(),
    );
    expect(bodies[1]).toMatchObject({
      thinking: { type: "adaptive" },
      output_config: { effort: "high" },
      context_management: { edits: [expect.any(Object)] },
      metadata: { user_id: expect.any(String) },
      system: [
        expect.any(Object),
        expect.objectContaining({ cache_control: { type: "ephemeral" } }),
      ],
      messages: [
        expect.any(Object),
        { role: "system", content: [{ type: "text", text: expect.any(String) }] },
      ],
    });
  });

  it.each([
    [
      "a tool_use block is a PASS, whatever else is there",
      200,
      [{ type: "text", text: "Now:" }, CALL],
      "end_turn",
      "pass",
      "PASS (5 of 5",
    ],
    [
      "a turn that ended with text alone is a FAIL",
      200,
      [{ type: "text", text: "It is spark." }],
      "end_turn",
      "fail",
      "FAIL (0 of 5",
    ],
    [
      "an answer that was cut off decides nothing",
      200,
      [{ type: "thinking", thinking: "Hm" }],
      "max_tokens",
      "fail",
      "undecided (0 of 5 runs with a tool_use block); stop_reason max_tokens, blocks: thinking",
    ],
    [
      "a server's own failure decides nothing",
      500,
      [],
      "",
      "fail",
      "undecided (0 of 5 runs with a tool_use block); 500: ",
    ],
    [
      "a refusal of the element is a FAIL",
      422,
      [],
      "",
      "fail",
      "FAIL (0 of 5 runs with a tool_use block); 422: ",
    ],
  ])("%s", async (_, status, content, stop_reason, verdictStatus, detail) => {
    const { result } = await answeredWith(status, { content, stop_reason });
    expect([result.status, result.detail.slice(0, detail.length)]).toEqual([verdictStatus, detail]);
    if (verdictStatus === "fail") expect(result.fix).toContain(`${SETTING}: bridge`);
  });
});

describe("what the native path finds again", () => {
  it.each([
    ["a window that is too short", { maxModelLen: 8192 }],
    ["no prefix cache", { prefixCaching: false }],
  ])("is not measured with %s", async (_, settings) => {
    const server = await startPlanned(undefined, settings);
    const results = await run(planned(server.port, settings), { only: [NAME] });
    await server.close();
    expect(resultOf(results, NAME).detail).toBe("PASS (5 of 5 runs with a tool_use block)");
  });

  it("is asked in the client's own shape: the second call goes on, and ends with a new system element", async () => {
    const bodies: JsonObject[] = [];
    const port = await standIn({
      routes: {
        "POST /v1/messages": ({ body }) => {
          bodies.push(body);
          return { status: 200, json: { content: [CALL], stop_reason: "tool_use" } };
        },
        "GET /metrics": () => ({
          status: 200,
          text: [
            "vllm:num_requests_running 0",
            `vllm:prefix_cache_queries_total ${1000 * bodies.length}`,
            `vllm:prefix_cache_hits_total ${900 * bodies.length}`,
          ].join("\n"),
        }),
      },
    });
    const results = await run(planned(port), { only: [NAME] });
    expect(resultOf(results, NAME).detail).toBe(
      "PASS (5 of 5 runs with a tool_use block); 90 % of the second call's prompt came from the cache (900 of 1000 tokens)",
    );
    const [first, second] = bodies.slice(5);
    const turn = (role: string) => ({
      role,
      content: [{ type: "text", text: expect.any(String) }],
    });
    expect(first?.messages).toEqual([turn("user")]);
    expect(second?.messages).toEqual([
      ...objectsIn(first?.messages),
      ...["assistant", "user", "system"].map(turn),
    ]);
    expect({ ...second, messages: [] }).toEqual({ ...first, messages: [] });
    expect(first).toMatchObject({
      system: [{ type: "text" }, { type: "text", cache_control: { type: "ephemeral" } }],
      tools: [{ name: "read_file" }, { name: "run_command" }, { name: "list_folder" }],
      thinking: { type: "adaptive" },
    });
  });
});

describe("the request of a messages-style client", () => {
  it("is Claude Code's in its parts: blocks, cache marks, metadata, tools and what goes with them", async () => {
    const only = ["messages-tools", "messages-tools-stream"];
    const { bodies, result } = await answeredWith(
      200,
      { content: [CALL], stop_reason: "tool_use" },
      only,
    );
    expect(result.status).toBe("pass");
    expect(bodies.map(({ stream }) => stream)).toEqual([undefined, true]);
    for (const body of bodies) {
      expect(body).toMatchObject({
        model: "model",
        max_tokens: 4096,
        system: [
          { type: "text", text: expect.any(String) },
          { type: "text", text: expect.any(String), cache_control: { type: "ephemeral" } },
        ],
        messages: [{ role: "user", content: [{ type: "text", text: expect.any(String) }] }],
        tools: [
          { name: "read_file", input_schema: { required: ["path"] } },
          { name: "run_command" },
        ],
        metadata: { user_id: expect.any(String) },
        thinking: { type: "adaptive" },
        output_config: { effort: "high" },
        context_management: { edits: [{ type: expect.any(String) }] },
      });
      // Our settings switch the header with a hash in it off.
      expect(JSON.stringify(body)).not.toContain("x-anthropic-billing-header");
    }
  });
});
