import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { tokensByClient } from "../../cli/sees/clientTokens";
import type { MachinePlan } from "../../components/plan";
import { BRIDGE, planned } from "../fixtures/services";
import { freePort } from "../layers/freePort";
import { type Egress, watchEgress } from "./egress";
import { startLitellm } from "./litellm";
import type { Serving } from "./process";
import { title } from "./programs";
import { MODEL, type ScriptedServer, startScriptedServer } from "./scriptedServer";

const program = inject("programs").litellm;
const TOOL = {
  name: "weather",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};
const KEY = "local-serving-placeholder";

const withServerThatIsDown = (config: string) =>
  config.replace(
    "model_list:\n",
    "model_list:\n  - model_name: down\n    litellm_params: { model: hosted_vllm/down, api_base: http://127.0.0.1:9/v1, api_key: none }\n",
  );

describe.each(["translate", "passThrough"] as const)("messagesPath: %s", (messagesPath) => {
  describe.skipIf("missing" in program)(title("LiteLLM 1.103.0 with our file", program), () => {
    let server: ScriptedServer;
    let egress: Egress;
    let proxy: Serving;
    let url: string;
    let machine: MachinePlan;
    let from = 0;
    const folder = mkdtempSync(join(tmpdir(), "litellm-"));
    beforeAll(async () => {
      if ("missing" in program) return;
      [server, egress] = [await startScriptedServer(), await watchEgress()];
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      machine = planned(
        { bridge: { ...BRIDGE, port, messagesPath }, clients: {}, monitoring: "scrape" },
        { port: server.port },
      );
      proxy = await startLitellm(program.path, machine, folder, egress, {
        change: withServerThatIsDown,
      });
    });
    afterAll(async () => {
      await proxy?.stop();
      await Promise.all([server?.close(), egress?.close()]);
      rmSync(folder, { recursive: true });
    });

    const ask = (path: string, body: object, key = KEY) => {
      from = server.asked.length;
      return fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });
    };
    const hello = {
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: "user", content: "say hi" }],
    };
    const upstream = messagesPath === "translate" ? "/v1/chat/completions" : "/v1/messages";
    /** Where the last request was sent on to. */
    const paths = () => server.asked.slice(from).map((each) => each.path);

    it("says that it can't reach a server, as launchers ask it", async () => {
      const headers = { authorization: `Bearer ${KEY}` };
      const answer = await fetch(`${url}/health?model=down`, { headers });
      expect(answer.status).toBe(503);
      expect(await answer.text()).toContain("Cannot connect to host 127.0.0.1:9 ");
    });

    it("answers a plain message", async () => {
      const answer = (await (await ask("/v1/messages", hello)).json()) as Record<string, unknown>;
      expect(answer).toMatchObject({
        type: "message",
        role: "assistant",
        stop_reason: "end_turn",
        content: expect.arrayContaining([
          expect.objectContaining({ type: "text", text: "Hello from model" }),
        ]),
      });
      expect(paths()).toEqual([upstream]);
    });

    it("streams", async () => {
      const events = await (await ask("/v1/messages", { ...hello, stream: true })).text();
      expect(events).toContain("event: message_start");
      expect(events).toMatch(/"type": ?"text_delta"/);
      expect(events).toContain("event: message_stop");
      expect(paths()).toEqual([upstream]);
    });

    it("turns a tool call into a tool_use block, plain and streamed", async () => {
      server.script = { tool: "weather", arguments: { city: "Berlin" } };
      const withTool = { ...hello, tools: [TOOL] };
      const answer = (await (await ask("/v1/messages", withTool)).json()) as { content: unknown[] };
      expect(answer).toMatchObject({ stop_reason: "tool_use" });
      expect(answer.content).toContainEqual(
        expect.objectContaining({ type: "tool_use", name: "weather", input: { city: "Berlin" } }),
      );
      const events = await (await ask("/v1/messages", { ...withTool, stream: true })).text();
      expect(events).toContain("input_json_delta");
      expect(paths()).toEqual([upstream]);
      server.script = undefined;
    });

    it("loses no system element within the messages", async () => {
      const messages = [...hello.messages, { role: "system", content: "remember the milk" }];
      expect((await ask("/v1/messages", { ...hello, messages })).status).toBe(200);
      expect(paths()).toEqual([upstream]);
      expect(JSON.stringify(server.asked.at(-1)?.body)).toContain("remember the milk");
    });

    it.each(["org/model", "claude-opus-4-8", "claude-sonnet-4-9", "claude-haiku-9-9-20301231"])(
      "reaches the served model by the name %s",
      async (model) => {
        expect((await ask("/v1/messages", { ...hello, model })).status).toBe(200);
        expect(server.asked.at(-1)?.body.model).toBe(MODEL);
        expect(paths()).toEqual([upstream]);
      },
    );

    it("refuses a name that nobody declared, a wrong key and no key", async () => {
      expect((await ask("/v1/messages", { ...hello, model: "nope" })).status).toBe(400);
      expect([400, 401]).toContain((await ask("/v1/messages", hello, "wrong")).status);
      // 500 without the database client, which the image has and this installation has not.
      expect([401, 500]).toContain((await fetch(`${url}/v1/models`)).status);
      expect(paths()).toEqual([]);
    });

    it("lists the served name, which launchers look for", async () => {
      const list = await (
        await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })
      ).text();
      expect(list.replaceAll(" ", "")).toContain('"id":"model"');
    });

    it("passes an error on at once and answers the next request", async () => {
      const tooLong = { ...hello, max_tokens: 999_999 };
      const started = Date.now();
      expect((await ask("/v1/messages", tooLong)).status).toBe(400);
      expect(Date.now() - started).toBeLessThan(3000);
      expect((await ask("/v1/messages", hello)).status).toBe(200);
    });

    it("sends no message to /v1/responses, and asks no other host", async () => {
      expect(new Set(server.asked.map((each) => each.path))).toEqual(new Set([upstream]));
      expect(egress.hosts).toEqual([]);
    });

    it("counts tokens by client, as `serving status` reads them", async () => {
      const by = async (agent: string, path: string, body: object) => {
        const headers = { "user-agent": agent, authorization: `Bearer ${KEY}` };
        const asked = { method: "POST", headers, body: JSON.stringify(body) };
        await (await fetch(`${url}${path}`, asked)).text();
      };
      await by("claude-cli/2.1.332 (external, cli)", "/v1/messages", hello);
      await by("claude-cli/2.1.333 (external, cli)", "/v1/messages", { ...hello, stream: true });
      await by("codex_cli_rs/0.171.0 (x86_64)", "/v1/responses", { model: MODEL, input: "hi" });
      const ways = { ports: new Map(), ended: new Promise(() => {}), close: () => {} };
      const some = { read: expect.toSatisfy((n: number) => n > 0), written: expect.any(Number) };
      await vi.waitFor(
        async () =>
          expect(await tokensByClient(machine, ways)).toEqual(
            expect.arrayContaining([
              { client: "claude-cli", ...some },
              { client: "codex_cli_rs", ...some },
            ]),
          ),
        { timeout: 10_000 },
      );
    });

    it("passes Responses on to Responses", async () => {
      const answer = await ask("/v1/responses", { model: MODEL, input: "say hi" });
      expect(answer.status).toBe(200);
      expect(paths()).toEqual(["/v1/responses"]);
    });
  });
});
