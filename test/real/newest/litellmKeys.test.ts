import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { keyFault } from "../../../components/planned/networkKey";
import { PLACEHOLDER_KEY } from "../../../components/planned/reach";
import { BRIDGE, planned } from "../../fixtures/services";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type Egress, watchEgress } from "../egress";
import { startLitellm } from "../litellm";
import { title } from "../programs";
import { MODEL, type ScriptedServer, startScriptedServer } from "../scriptedServer";

const program = inject("programs").litellm;

const KEY = "0123456789abcdef0123456789abcdef";

/** The key of LiteLLM's own examples. */
const SAMPLE = "sk-1234";

describe.skipIf("missing" in program)(title("LiteLLM 1.109.1 with our file", program), () => {
  let server: ScriptedServer;
  let egress: Egress;
  beforeAll(async () => {
    [server, egress] = [await startScriptedServer(), await watchEgress()];
  });
  afterAll(() => Promise.all([server?.close(), egress?.close()]));

  async function start(settings: Readonly<Record<string, unknown>>, key?: string) {
    if ("missing" in program) throw new Error(program.missing);
    const port = await freePort();
    const bridge = { ...BRIDGE, ...settings, port };
    const machine = planned({ bridge, clients: {} }, { port: server.port });
    const options = key === undefined ? {} : { key };
    const folder = temporaryFolder("litellm-keys-");
    const proxy = await startLitellm(program.path, machine, folder, egress, options);
    return { proxy, url: `http://127.0.0.1:${port}` };
  }

  it.each([
    ["the placeholder", {}, undefined],
    ["a key of the operator", { keyVariable: "BRIDGE_KEY" }, KEY],
  ] as const)("starts with %s and lets nobody in without it", async (_, settings, key) => {
    const { proxy, url } = await start(settings, key);
    const given = { authorization: `Bearer ${key ?? PLACEHOLDER_KEY}` };
    const ask = async (headers: Record<string, string>) => {
      const messages = [{ role: "user", content: "say hi" }];
      const answer = await fetch(`${url}/v1/messages`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ model: MODEL, max_tokens: 100, messages }),
      });
      const version = answer.headers.get("x-litellm-version");
      return { status: answer.status, version, text: await answer.text() };
    };
    try {
      server.asked.length = 0;
      expect((await ask({})).status).toBe(401);
      // 400 without a database, where other keys could be.
      expect([400, 401]).toContain((await ask({ authorization: "Bearer wrong" })).status);
      expect(server.asked).toEqual([]);
      expect(await ask(given)).toEqual({
        status: 200,
        version: "1.109.1",
        text: expect.stringContaining("Hello from model"),
      });
      expect(egress.hosts).toEqual([]);
    } finally {
      await proxy.stop();
    }
  });

  it("does not start with the key of its own examples, which the preflight refuses too", async () => {
    await expect(start({ keyVariable: "BRIDGE_KEY" }, SAMPLE)).rejects.toThrow(
      "LiteLLM proxy refused to start: the master key is a publicly known default.",
    );
    expect(keyFault(SAMPLE)).toBe("has fewer than 20 characters");
    expect(keyFault(KEY)).toBeUndefined();
  });
});
