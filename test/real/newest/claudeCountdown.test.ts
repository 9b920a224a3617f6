import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileOf } from "../../fixtures/services";
import { isObject, type JsonObject, objects } from "../../stand-in/exchange";
import { textOf } from "../../stand-in/generate";
import { CLIENTS, clientHome } from "../clientHome";
import { title } from "../programs";
import { MODEL, type ScriptedServer, startScriptedServer } from "../scriptedServer";

const [claude] = CLIENTS;
const VARIABLE = "CLAUDE_CODE_TOTAL_TOKENS_REMINDER";

/** For this model Claude Code counts down unless it is told not to. */
const KNOWN = "claude-sonnet-4-6";

/** Two calls of a tool and an answer; then another prompt in the same session. */
const REQUESTS = 4;

describe.skipIf("missing" in claude.program)(
  title("Claude Code 2.1.330's countdown of tokens", claude.program),
  () => {
    let server: ScriptedServer;
    beforeAll(async () => {
      server = await startScriptedServer(undefined, KNOWN);
    });
    afterAll(() => server?.close());

    /** What a session asks, with our settings and these variables in them. */
    async function session(environment: Readonly<Record<string, string>>) {
      let before: readonly string[] = [];
      const ask = (prompt: string) => [...before, ...claude.ask(prompt)];
      const home = await clientHome({ ...claude, ask }, "native", server.port, { environment });
      try {
        server.asked.length = 0;
        server.script = { ...claude.call("echo seen-by-the-model"), times: 2 };
        const first = await home.start("run it twice");
        before = ["--continue"];
        const second = await home.start("and go on");
        for (const { code, err } of [first, second]) expect(code, err).toBe(0);
        expect(home.egress.hosts).toEqual([]);
        const settings: unknown = JSON.parse(fileOf(home.machine, claude.role).text);
        const { env } = isObject(settings) ? settings : {};
        return { env, bodies: server.asked.map(({ body }) => body) };
      } finally {
        await home.close();
      }
    }

    it.each([
      [MODEL, {}],
      [KNOWN, { ANTHROPIC_MODEL: KNOWN }],
    ])("is off for %s, and each request extends the one before", async (model, environment) => {
      const { env, bodies } = await session(environment);
      expect(env).toMatchObject({ [VARIABLE]: "off" });
      expect(bodies.map((body) => body.model)).toEqual(Array(REQUESTS).fill(model));
      expect(bodies.map(countdowns)).toEqual(Array(REQUESTS).fill(0));
      expectPrefixKept(bodies);
      expect(new Set(bodies.map(mergedSystem)).size).toBe(1);
      // In both calls and both results.
      expect(JSON.stringify(bodies.at(-1)).match(/seen-by-the-model/g)).toHaveLength(4);
    });

    it("comes for a known model without our variable, for ours not", async () => {
      const unset = { [VARIABLE]: "" };
      const known = await session({ ...unset, ANTHROPIC_MODEL: KNOWN });
      expect(known.bodies.map(countdowns)).toEqual([2, 3, 4, 5]);
      const ours = await session(unset);
      expect(ours.bodies.map(countdowns)).toEqual(Array(REQUESTS).fill(0));
    });

    it("once forced on, changes the system prompt where vLLM merges system elements", async () => {
      const { bodies } = await session({ [VARIABLE]: "padded-countdown" });
      expect(bodies.map(countdowns)).toEqual([2, 3, 4, 5]);
      expect(bodies.map((body) => ofSystem(body).filter(isCountdown).length)).toEqual([0, 1, 2, 3]);
      // As it is sent, what is said once stays.
      expectPrefixKept(bodies);
      expect(new Set(bodies.map(mergedSystem)).size).toBe(REQUESTS);
    });
  },
);

const countdowns = (body: JsonObject) =>
  (JSON.stringify(body).match(/<total_tokens>\d+ tokens left/g) ?? []).length;

const isCountdown = (text: string) => /^<total_tokens>\d+ tokens left<\/total_tokens>$/.test(text);

/** The system elements among the messages. */
const ofSystem = (body: JsonObject) =>
  objects(body.messages)
    .filter(({ role }) => role === "system")
    .map(({ content }) => textOf(content));

/**
 * The prompt's first element where the chat template takes no later one of the system: vLLM then
 * merges all of them into it (`merge_inline_system` in its entrypoints/anthropic/serving.py).
 */
const mergedSystem = (body: JsonObject) => [textOf(body.system), ...ofSystem(body)].join("");

/** Each request has all of the one before it: the server's cache holds that much of it. */
function expectPrefixKept(bodies: readonly JsonObject[]): void {
  bodies.slice(1).forEach((body, index) => {
    const before = bodies[index] ?? {};
    expect(body.system).toEqual(before.system);
    expect(body.tools).toEqual(before.tools);
    const turns = turnsOf(before);
    expect(turnsOf(body).length).toBeGreaterThan(turns.length);
    expect(turnsOf(body).slice(0, turns.length)).toEqual(turns);
  });
}

/** Messages in one form, without the marks for the vendor's own cache. */
const turnsOf = (body: JsonObject) =>
  objects(body.messages).map(({ role, content }) => ({
    role,
    content:
      typeof content === "string"
        ? [{ type: "text", text: content }]
        : objects(content).map((part) => ({ ...part, cache_control: undefined })),
  }));
