import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { connections } from "../../components/services/chat-ui/connections";
import { CHAT_UI, planned } from "../fixtures/services";
import { freePort } from "../layers/freePort";
import { type Egress, watchEgress } from "./egress";
import { onLoopback } from "./litellm";
import { START_SECONDS, signUp, startOpenWebUi } from "./openWebUi";
import type { Serving } from "./process";
import { title } from "./programs";
import { type ScriptedServer, startScriptedServer } from "./scriptedServer";

const program = inject("programs").openWebUi;

describe.skipIf("missing" in program)(
  title("Open WebUI 0.11.3 with our variables", program),
  () => {
    const data = mkdtempSync(join(tmpdir(), "webui-"));
    let inference: ScriptedServer;
    let ollama: Server;
    let egress: Egress;
    let ui: Serving | undefined;
    let url: string;

    beforeAll(async () => {
      [inference, ollama, egress] = [
        await startScriptedServer(),
        await ollamaStub(),
        await watchEgress(),
      ];
    });
    afterAll(async () => {
      await ui?.stop();
      ollama?.close();
      await Promise.all([inference?.close(), egress?.close()]);
      rmSync(data, { recursive: true, force: true });
    });

    /**
     * Starts it on the same data, connected to these servers; the variables are the container's own.
     */
    const boot = async (connected: { inference: boolean; ollama: boolean }) => {
      if ("missing" in program) return;
      await ui?.stop();
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      const { chatUi } = planned(
        { chatUi: { ...CHAT_UI, port }, clients: {} },
        { port: inference.port },
      );
      if (chatUi === null) throw new Error("the plan has no chat UI");
      const of = (kind: "inference-server" | "simple-server", at: number) => ({
        ...{
          key: kind,
          kind,
          serves: "chat" as const,
          names: [],
          maxModelLen: undefined,
          container: undefined,
        },
        ...{ fromContainer: `http://127.0.0.1:${at}`, address: "127.0.0.1", port: at },
      });
      const servers = [
        ...(connected.inference ? [of("inference-server", inference.port)] : []),
        ...(connected.ollama ? [of("simple-server", (ollama.address() as AddressInfo).port)] : []),
      ];
      const variables = { ...withoutConnections(chatUi.container.env), ...connections(servers) };
      const env = Object.entries(variables).map(([name, value]) => [name, onLoopback(value)]);
      ui = await startOpenWebUi(program.path, Object.fromEntries(env), { data, port, egress });
    };
    const models = async (token: string) => {
      const answer = await fetch(`${url}/api/models`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { data: listed } = (await answer.json()) as {
        data?: { id: string; owned_by: string }[];
      };
      return (listed ?? [])
        .map((model) => `${model.owned_by} ${model.id}`)
        .filter((each) => !each.includes("arena"));
    };

    it("starts without a network, takes its administrator, closes sign-up, and follows the stack file at the second start", {
      timeout: 3 * START_SECONDS * 1000,
    }, async () => {
      await boot({ inference: true, ollama: false });
      const admin = (await (await signUp(url, "me@example.org")).json()) as {
        role: string;
        token: string;
      };
      expect(admin.role).toBe("admin");
      expect((await signUp(url, "other@example.org")).status).toBe(403);
      expect(await models(admin.token)).toEqual(["openai model", "openai org/model"]);

      await boot({ inference: true, ollama: true });
      // The key is stable: the token of the first start is still good.
      expect((await models(admin.token)).sort()).toEqual([
        "ollama tiny:1b",
        "openai model",
        "openai org/model",
      ]);
      expect((await signUp(url, "third@example.org")).status).toBe(403);

      await boot({ inference: false, ollama: true });
      expect(await models(admin.token)).toEqual(["ollama tiny:1b"]);
      expect(egress.hosts).toEqual([]);
    });
  },
);

function withoutConnections(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => !/OLLAMA|OPENAI/.test(name)),
  );
}

/** As much of Ollama as lists one model. */
async function ollamaStub(): Promise<Server> {
  const model = {
    ...{
      name: "tiny:1b",
      model: "tiny:1b",
      modified_at: "2026-01-01T00:00:00Z",
      size: 1,
      digest: "0",
    },
    details: {
      parent_model: "",
      format: "gguf",
      family: "tiny",
      families: ["tiny"],
      parameter_size: "1B",
    },
  };
  const answers: Record<string, unknown> = {
    "/api/tags": { models: [model] },
    "/api/ps": { models: [] },
    "/api/version": { version: "0.34.4" },
  };
  const server = createServer((request, response) => {
    const found = answers[request.url ?? ""];
    response.statusCode = found === undefined ? 404 : 200;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(found ?? { error: "not found" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
