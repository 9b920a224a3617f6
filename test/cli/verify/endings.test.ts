import { objectsIn } from "@local-serving/base/faults/json";
import { describe, expect, it } from "vitest";
import type { Reply, RouteTable } from "../../stand-in/exchange";
import { HEALTHY } from "../../stand-in/server";
import { failed, found, planned, startPlanned, WINDOW } from "./environment";

const CHAT = "POST /v1/chat/completions";

/**
 * A model whose chats take so many tokens each; one that has a cap gets no more than that,
 * whatever was asked for.
 */
const taking = (
  needed: number,
  cap = Number.POSITIVE_INFINITY,
  chats: number[] = [],
): RouteTable => ({
  [CHAT]: (exchange): Reply => {
    chats.push(Number(exchange.body.max_tokens));
    const reply = HEALTHY[CHAT]?.(exchange) ?? { status: 500, text: "" };
    if (!("json" in reply)) return reply;
    const room = Math.min(cap, Number(exchange.body.max_tokens));
    const [choice] = objectsIn(reply.json.choices);
    const ends = needed <= room;
    const cut = { ...choice, finish_reason: "length", message: { role: "assistant", content: "" } };
    const usage = { prompt_tokens: 10, completion_tokens: ends ? needed : room };
    return { status: 200, json: { ...reply.json, choices: [ends ? choice : cut], usage } };
  },
});

/** The same, where more than the window is refused as vLLM does it. */
const refusingTooMuch = (routes: RouteTable): RouteTable => ({
  [CHAT]: (exchange): Reply =>
    (Number(exchange.body.max_tokens) >= WINDOW ? HEALTHY : routes)[CHAT]?.(exchange) ?? {
      status: 500,
      text: "",
    },
});

/** A program before the server that lets a chat ask for so many tokens at most. */
const lowering = (most: number): RouteTable => ({
  [CHAT]: (exchange): Reply => {
    const body = { ...exchange.body, max_tokens: Math.min(most, Number(exchange.body.max_tokens)) };
    return taking(100)[CHAT]?.({ ...exchange, body }) ?? { status: 500, text: "" };
  },
});

const WHOLE = ["chat", "chat-tool-result", "chat-tools", "chat-several-tools"];

async function asked(options: Parameters<typeof startPlanned>[2], only = WHOLE) {
  const server = await startPlanned(undefined, {}, options);
  const all = await found(planned(server.port), { only });
  await server.close();
  return all;
}

describe("an answer that is cut off", () => {
  it("of a model that thinks for 800 tokens ends with four times as many", async () => {
    const chats: number[] = [];
    const { probes, causes } = await asked({ routes: taking(800, undefined, chats) });
    expect([failed(probes), causes]).toEqual([[], []]);
    expect(chats).toEqual(WHOLE.flatMap(() => [512, 2048]));
  });

  it("after the same few tokens both times is a cap's", async () => {
    const { probes, causes } = await asked({ routes: taking(100, 8) });
    expect(failed(probes)).toEqual(WHOLE);
    expect(causes).toMatchObject([
      {
        id: "capped",
        cause: "Every answer is cut off after 8 tokens, however many are asked for.",
        probes: WHOLE,
      },
    ]);
  });

  it("is a cap's before vLLM where it answers what vLLM refuses as too much", async () => {
    const { probes, causes } = await asked({ routes: lowering(2) }, ["chat", "window"]);
    expect(failed(probes)).toEqual(["chat", "window"]);
    expect(causes).toMatchObject([
      {
        id: "capped",
        cause: `Something between verify and vLLM, such as a proxy, lowers what requests ask for to 2 tokens: one for ${WINDOW} tokens was answered, which vLLM itself refuses as too many.`,
        advice:
          "Raise or remove its limit for `max_tokens`. Or ask vLLM itself (--base-url, with its own address).",
        probes: ["chat", "window"],
      },
    ]);
  });

  it("is a cap's before vLLM where another API has longer answers", async () => {
    const { causes } = await asked({ routes: taking(100, 2) }, ["chat", "responses"]);
    expect(causes).toMatchObject([
      {
        cause:
          "Something between verify and vLLM, such as a proxy, lowers what requests ask for to 2 tokens: an answer on /v1/responses has 7, and vLLM's own cap would hold there, too.",
        probes: ["chat"],
      },
    ]);
  });

  it.each([
    ["is named beside what may stand before vLLM", ["chat"], true],
    ["is vLLM's own where too much is refused", ["chat", "window"], false],
  ])("whose cap %s", async (_, only, isOpen) => {
    const { causes } = await asked({ routes: refusingTooMuch(taking(100, 2)) }, only);
    expect(causes.map(({ id, advice, probes }) => [id, probes, /--base-url/.test(advice)])).toEqual(
      [["capped", ["chat"], isOpen]],
    );
    expect(causes[0]?.advice).toContain("`max_new_tokens` in generation_config.json");
  });

  it("both times is of a model that never ends, which is asked again twice at most", async () => {
    const chats: number[] = [];
    const { probes, causes } = await asked({ routes: taking(100_000, undefined, chats) });
    expect(failed(probes)).toEqual(WHOLE);
    expect(causes).toMatchObject([
      {
        id: "never-ends",
        cause:
          "The model never ends its answers: it had not ended after 512 tokens, nor after 2048.",
        probes: WHOLE,
      },
    ]);
    expect(chats).toEqual([512, 2048, 512, 2048, 512, 512]);
  });
});

describe("a slow server", () => {
  it("passes", async () => {
    const { probes, causes } = await asked({ tokensPerSecond: 27 });
    expect([failed(probes), causes]).toEqual([[], []]);
  });

  it("that answers later than verify waits is told from one that hangs", async () => {
    const server = await startPlanned(undefined, {}, { tokensPerSecond: 4 });
    const slow = await found(planned(server.port), { only: WHOLE, timeoutSeconds: 0.6 });
    await server.close();
    expect(slow.causes).toMatchObject([
      {
        id: "late",
        cause: "The server answers, but later than verify waits.",
        probes: ["chat", "chat-tool-result"],
      },
    ]);
    expect(slow.probes.filter(({ status }) => status === "skip")).toHaveLength(2);
  });
});

describe("a key", () => {
  it("that a server wants closes it, and is all that is said", async () => {
    const refused = { status: 401, json: { error: "Unauthorized" } };
    const routes = { "GET /v1/models": () => refused, [CHAT]: () => refused };
    const server = await startPlanned(undefined, {}, { routes });
    const { probes, causes } = await found(planned(server.port), {
      only: ["health", "models", "chat", "window"],
    });
    await server.close();
    expect(probes.map(({ name, status, detail }) => [name, status, detail])).toEqual([
      ["health", "pass", "alive"],
      ["models", "fail", "/v1/models answered 401: Unauthorized"],
      ...["chat", "window"].map((name) => [
        name,
        "skip",
        `not run: vllm-model-${server.port} wants a key (see models)`,
      ]),
    ]);
    expect(causes).toMatchObject([{ id: "key-wanted", probes: ["models"] }]);
  });
});
