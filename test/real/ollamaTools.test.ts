import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { quoted } from "@local-serving/base/faults/shellWords";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { runServing } from "../cli/runServing";
import { stack } from "../fixtures/machine";
import { freePort } from "../layers/freePort";
import { temporaryFolder } from "../layers/temporaryFolder";
import { createSmallestModel } from "../simple-server/realOllama";
import { type Egress, watchEgress } from "./egress";
import { startOllama } from "./ollama";
import type { Serving } from "./process";
import type { Program } from "./programs";
import { PROGRAMS } from "./setup";

const PROBES = ["ollama-chat-tools", "ollama-messages-tools", "ollama-responses-tools"];
const CALL = '{"name": "read_file", "arguments": {"path": "/etc/hostname"}}';

/** Ollama finds the form of a model's calls behind `if .ToolCalls`, and behind `range` it doesn't. */
const template = (keyword: string) =>
  `{{ range .Tools }}{{ . }}{{ end }}{{ range .Messages }}{{ .Role }}: {{ .Content }}{{ ${keyword} .ToolCalls }}<tool_call>{{ . }}</tool_call>{{ end }}{{ end }}`;

/** Building Ollama takes minutes, once. */
const INSTALL_MS = 1_800_000;

/** No llama-server and no weights: what is tested is Ollama's own APIs and parser. */
describe("tool calls of the real Ollama", () => {
  const folder = temporaryFolder("ollama-tools-");
  const file = join(folder, "Pulumi.test.yaml");
  let [ollama, at]: [Program, string] = [{ missing: "not built" }, ""];
  let egress: Egress | undefined;
  let serving: Serving | undefined;

  beforeAll(async () => {
    ollama = await PROGRAMS.ollama();
    if ("missing" in ollama) return;
    const port = await freePort();
    at = `http://127.0.0.1:${port}`;
    const machine = writeStackFile(file, folder, port);
    standInForLlamaServer(folder);
    egress = await watchEgress();
    serving = await startOllama(ollama.path, machine, folder, egress);
    await createSmallestModel(at, "tools", template("if"));
    await createSmallestModel(at, "unread", template("range"));
    await createSmallestModel(at, "plain");
  }, INSTALL_MS);
  afterAll(async () => {
    await serving?.stop();
    await egress?.close();
  });
  beforeEach(({ skip }) => skip("missing" in ollama, "missing" in ollama ? ollama.missing : ""));

  it("come on all three APIs, whole and streamed, and are recorded", async () => {
    const { code, out } = await runServing([
      ...["verify", "--file", file, "--format", "json", "--record"],
    ]);
    const { probes, diff } = JSON.parse(out) as {
      probes: { name: string; target: string; status: string; detail: string }[];
      diff: string;
    };
    const found = (model: string) =>
      probes
        .filter(({ target }) => target === `${model} (Ollama)`)
        .map(({ name, status, detail }) => [name, status, detail]);
    const each = (status: string, detail: string | RegExp) =>
      PROBES.map((name) => [
        name,
        status,
        typeof detail === "string" ? detail : expect.stringMatching(detail),
      ]);
    expect(found("tools")).toEqual(
      each("pass", 'read_file({"path":"/etc/hostname"}), streamed too'),
    );
    expect(found("unread")).toEqual(
      each("fail", /, the call is written as XML in .*: `<tool_call>\{"name": "read_file", /),
    );
    expect(found("plain")).toEqual(
      each("skip", "its template takes no tools (`ollama show plain`)"),
    );
    expect(code).toBe(1);
    expect(diff).toMatch(/^\+ +toolCalls:\n\+ +tools: seen \d{4}-\d{2}-\d{2}$/m);
    expect(readFileSync(file, "utf8")).toMatch(/toolCalls:\n +tools: seen [\d-]+\n(?! +unread)/);
  });

  it("let the plan pass, and nothing left this machine", async () => {
    const { code, out } = await runServing(["plan", "--file", file, "--format", "json"]);
    const { policies } = JSON.parse(out) as { policies: { name: string; verdict: string }[] };
    expect(policies.find(({ name }) => name === "client-server")?.verdict).toBe("warned");
    expect(code).toBe(0);
    expect(egress?.hosts).toEqual([]);
  });

  it.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])(
    "are refused on %s where the template takes none",
    async (path) => {
      const messages = [{ role: "user", content: "hi" }];
      const tools = [{ type: "function", name: "f", function: { name: "f" }, input_schema: {} }];
      const answer = await fetch(`${at}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "plain", max_tokens: 9, messages, input: "hi", tools }),
      });
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining("registry.ollama.ai/library/plain:latest does not support tools"),
      ]);
    },
  );
});

/** The stack file of an Ollama with three models, the first of which Claude Code uses. */
function writeStackFile(file: string, folder: string, port: number): MachinePlan {
  const models = ["tools", "unread", "plain"];
  const modelsDirectory = join(folder, "models");
  const dgx = {
    ...{ totalGiB: 121.63, instanceA: "none" },
    simpleServer: { mode: "host", port, models, modelsDirectory },
    clients: { claudeCode: { server: "simple-server", via: "native" } },
  };
  writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
  const [machine] = plan(stack({ ...dgx, inferenceServers: {} }), { home: folder }).machines;
  if (machine === undefined) throw new Error("no machine planned");
  return machine;
}

/**
 * Puts a program where Ollama, started in this folder, looks for its llama-server. It loads no
 * model, and writes the call whatever it is asked.
 */
function standInForLlamaServer(folder: string): void {
  const beside = join(folder, "build", "lib", "ollama");
  mkdirSync(beside, { recursive: true });
  const program = resolve("test/stand-in/programs/llamaServer.ts");
  const words = [process.execPath, "--import", require.resolve("tsx"), program, CALL];
  const text = `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`;
  writeFileSync(join(beside, "llama-server"), text, { mode: 0o755 });
}
