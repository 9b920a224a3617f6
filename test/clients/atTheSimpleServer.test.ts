import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { runServing } from "../cli/runServing";
import { stack } from "../fixtures/machine";
import { ALL_CLIENTS, BRIDGE, fileOf, HOME } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";

const MODEL = "qwen3:8b";
const SIMPLE = { mode: "host", models: [MODEL], loadedGiB: { [MODEL]: 15.5 } };
const SEEN = { ...SIMPLE, contextLength: 65_536, toolCalls: { [MODEL]: "seen 2026-11-21" } };

const at = (clients: Record<string, unknown>) => ({
  ...{ totalGiB: 121.63, instanceA: "none", simpleServer: SEEN },
  clients: Object.fromEntries(
    Object.entries(clients).map(([key, more]) => [
      key,
      { server: "simple-server", via: "native", ...Object(more) },
    ]),
  ),
});
const planOf = (machine: Record<string, unknown>) =>
  plan(stack({ inferenceServers: {}, ...machine }), { home: HOME });

describe("coding clients at a simple server whose model made tool calls", () => {
  const folder = temporaryFolder("at-the-simple-server-");
  const planned = planOf(at(ALL_CLIENTS));
  const [machine] = planned.machines;
  if (machine === undefined) throw new Error("no machine planned");
  let printed: { code: number; out: string };
  beforeAll(async () => {
    const file = join(folder, "Pulumi.test.yaml");
    const machines = { dgx: at(ALL_CLIENTS) };
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    printed = await runServing(["plan", "--file", file, "--format", "json"]);
  });

  it("are planned whole: nothing is refused, and each coding client is warned of", () => {
    const { policies } = JSON.parse(printed.out) as {
      policies: { name: string; verdict: string }[];
    };
    expect(printed.code).toBe(0);
    expect(policies.filter(({ verdict }) => verdict !== "pass")).toEqual(
      ["claude-code", "codex", "opencode", "pi", "qwen-code", "crush"].map((name) =>
        expect.objectContaining({
          name: "client-server",
          verdict: "warned",
          message: expect.stringContaining(
            `${name} on dgx uses Ollama, whose tool calls were seen.`,
          ),
        }),
      ),
    );
  });

  it("have the base URL of their API, the model and its window", () => {
    const origin = "http://127.0.0.1:11434";
    expect(machine.clients.map(({ client, baseUrl }) => [client, baseUrl])).toEqual([
      ["claude-code", origin],
      ...["codex", "client-env", "opencode", "pi", "qwen-code", "crush"].map((client) => [
        client,
        `${origin}/v1`,
      ]),
    ]);
    for (const { client, tiers, names } of machine.clients)
      expect([client, new Set(Object.values(tiers)), names]).toEqual([
        client,
        new Set([MODEL]),
        [MODEL],
      ]);
    const claude = JSON.parse(fileOf(machine, "claude-code-settings").text) as {
      env: Record<string, string>;
    };
    expect(claude.env).toMatchObject({
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_MODEL: MODEL,
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: "53536",
    });
    expect(fileOf(machine, "codex-config").text).toMatch(
      /^model = "qwen3:8b"$.*^model_context_window = 65536$.*^base_url = "http:\/\/127\.0\.0\.1:11434\/v1"$/ms,
    );
    expect(JSON.parse(fileOf(machine, "opencode-config").text)).toMatchObject({
      model: `local-serving/${MODEL}`,
      provider: { "local-serving": { options: { baseURL: `${origin}/v1` } } },
    });
    expect(JSON.parse(fileOf(machine, "pi-models").text)).toMatchObject({
      providers: {
        "local-serving": {
          baseUrl: `${origin}/v1`,
          models: [{ id: MODEL, contextWindow: 65_536 }],
        },
      },
    });
  });

  it("may go through the bridge, which asks Ollama's chat completions", () => {
    const bridge = { ...BRIDGE, servers: ["simple-server"] };
    const simpleServer = { ...SEEN, listen: "0.0.0.0" };
    const clients = { claudeCode: { via: "bridge" } };
    const [bridged] = planOf({ ...at(clients), simpleServer, bridge }).machines;
    expect(bridged?.clients.map(({ baseUrl }) => baseUrl)).toEqual(["http://127.0.0.1:8787"]);
    expect(bridged?.bridge?.models[0]).toEqual({
      name: MODEL,
      model: `hosted_vllm/${MODEL}`,
      baseUrl: "http://host.docker.internal:11434/v1",
    });
  });

  it("are told of a window that an agent's instructions fill", () => {
    const short = { ...SEEN, contextLength: 32_768 };
    const { warnings } = planOf({ ...at({ opencode: {} }), simpleServer: short });
    expect(warnings.find(({ code }) => code === "client-window")?.message).toBe(
      "opencode: 24576 tokens are left for the prompt, 40,000 are needed. Lower `maxOutputTokens` or raise `simpleServer.contextLength`: 8192 of 32768 tokens are for output, and an agent's own instructions take 30,000 to 40,000.",
    );
  });
});

describe("what is recorded of tool calls", () => {
  const without = planOf({ ...at({}), simpleServer: SIMPLE });
  const facts = ({ machines, warnings }: typeof without) =>
    declaredResources({ machines, warnings }).map(({ props }) => props.simpleServer);

  it("is in the plan and before the policies", () => {
    const planned = planOf(at({}));
    expect(planned.machines[0]?.simpleServer).toMatchObject({ toolCalls: SEEN.toolCalls });
    expect(facts(planned)).toContainEqual(expect.objectContaining({ toolCalls: SEEN.toolCalls }));
  });

  it("is in neither where there is none, so that no resource changes", () => {
    expect(without.machines[0]?.simpleServer).not.toHaveProperty("toolCalls");
    expect(JSON.stringify([without.machines, declaredResources(without)])).not.toContain(
      "toolCalls",
    );
  });
});
