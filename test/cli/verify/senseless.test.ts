import { objectOr, objectsIn } from "@local-serving/base/faults/json";
import { describe, expect, it } from "vitest";
import type { Exchange, JsonObject, Reply, RouteTable } from "../../stand-in/exchange";
import { HEALTHY } from "../../stand-in/server";
import { failed, found, planned, resultOf, startPlanned } from "./environment";

const [CHAT, RESPONSES, MESSAGES, COMPLETIONS] = [
  "POST /v1/chat/completions",
  "POST /v1/responses",
  "POST /v1/messages",
  "POST /v1/completions",
];
const B = "machines.dgx.inferenceServers.b";

/** A chat that is answered by this message, whatever was asked. */
const saying = (message: JsonObject, tokens = 20, ofTools = false): RouteTable => ({
  [CHAT]: (exchange): Reply => {
    const reply = HEALTHY[CHAT]?.(exchange) ?? { status: 500, text: "" };
    const leaves = ofTools && exchange.body.tools === undefined;
    if (leaves || !("json" in reply)) return reply;
    const [choice] = objectsIn(reply.json.choices);
    const whole = { role: "assistant", content: null, tool_calls: [], reasoning: null, ...message };
    const usage = { ...(reply.json.usage as JsonObject), completion_tokens: tokens };
    const choices = [{ ...choice, finish_reason: "stop", message: whole }];
    return { status: 200, json: { ...reply.json, choices, usage } };
  },
});

const WHOLE = ["chat", "chat-tool-result", "thinking-off"];

async function asked(routes: RouteTable, only = WHOLE) {
  const server = await startPlanned(undefined, {}, { routes });
  const all = await found(planned(server.port), { only });
  await server.close();
  return all;
}

/** The causes, and what is advised beside them: the fixes of failures that none explains. */
const said = ({ probes, causes }: Awaited<ReturnType<typeof asked>>) => [
  causes.map(({ id, cause, probes: explained }) => [id, cause, explained]),
  probes.filter(({ status, cause }) => status === "fail" && cause === undefined),
];

describe("answers without sense", () => {
  it("are garbage, and its advice leaves out what is set already", async () => {
    const all = await asked(saying({ content: "!".repeat(60) }), [...WHOLE, "needle"]);
    expect(said(all)).toEqual([
      [
        [
          "garbage",
          `The model's answers are garbage: one character again and again (\`!\`), such as \`${"!".repeat(60)}\`.`,
          ["chat", "chat-tool-result", "thinking-off", "needle"].filter((name) =>
            failed(all.probes).includes(name),
          ),
        ],
      ],
      [],
    ]);
    expect(all.causes[0]?.advice).toContain(`\`${B}.kvCacheDtype: auto\` (it is fp8)`);
    expect(JSON.stringify(all)).not.toMatch(/truncation/);
  });

  it("are garbage where none ends, whatever marks stand among them", async () => {
    const texts = [`alGiBwn${" ".repeat(600)}x`, "<|endoftext|> gz Qe", "7zF"];
    let count = 0;
    const endless: RouteTable = {
      [CHAT]: (exchange) => {
        const reply = saying({ content: texts[count++ % 3] }, 512)[CHAT]?.(exchange);
        if (reply === undefined || !("json" in reply)) return { status: 500, text: "" };
        const [choice] = objectsIn(reply.json.choices);
        const choices = [{ ...choice, finish_reason: "length" }];
        return { status: 200, json: { ...reply.json, choices } };
      },
    };
    const all = await asked(endless, [...WHOLE, "chat-tools"]);
    expect(said(all)).toEqual([
      [
        [
          "garbage",
          "The model's answers are garbage: one fragment again and again (` `), such as `alGiBwn x`.",
          ["chat", "chat-tool-result", "chat-tools", "thinking-off"],
        ],
      ],
      [],
    ]);
  });

  it("are garbage where they have nothing to do with the questions", async () => {
    const text = "pelican harbour seven umbrella glass mountain wicket";
    const all = await asked(saying({ content: text }), ["chat", "chat-tool-result", "needle"]);
    expect(said(all)).toEqual([
      [
        [
          "garbage",
          `The model's answers are garbage: the same text whatever is asked, such as \`${text}\`.`,
          ["needle"],
        ],
      ],
      [],
    ]);
  });

  it("of a model that finds no code, and knows what a tool said, are a weak model's", async () => {
    const all = await asked(saying({ content: "It says: spark-1" }), [
      "chat-tool-result",
      "needle",
    ]);
    expect(all.causes).toEqual([]);
    expect(resultOf(all.probes, "needle").fix).toMatch(
      /^The prompt arrived whole, by its \d+ tokens/,
    );
  });

  it("are none where the model answers nothing", async () => {
    expect(said(await asked(saying({ content: "" }, 1), [...WHOLE, "chat-tools"]))).toEqual([
      [
        [
          "answers-nothing",
          "The model answers nothing: its answers end after 1 token, before any text.",
          ["chat", "chat-tool-result", "chat-tools", "thinking-off"],
        ],
      ],
      [],
    ]);
  });

  it("hold marks of another family's template", async () => {
    const all = await asked(saying({ content: "Hello<|im_end|>\n<|im_start|>user" }));
    expect(said(all)).toEqual([
      [
        [
          "template-marks",
          "The model's answers hold marks of a chat template (`<|im_end|>`).",
          ["chat", "chat-tool-result"],
        ],
      ],
      [],
    ]);
  });

  it("are thoughts as a whole where the reasoning parser takes them", async () => {
    const all = await asked(saying({ reasoning: "Hello" }));
    expect(said(all)).toEqual([
      [
        [
          "reasoning-parser",
          "The reasoning parser takes every answer for thoughts: `content` is empty, with thinking off too.",
          WHOLE,
        ],
      ],
      [],
    ]);
    expect(all.causes[0]?.advice).toContain(
      `than \`qwen3\`, which ${B}.reasoningParser gives: \`serving up\``,
    );
  });

  it("have marks of thoughts where a parser writes them, and think no more for that", async () => {
    const marked: RouteTable = {
      [CHAT]: (exchange) => {
        const thinks = objectOr(exchange.body.chat_template_kwargs).enable_thinking !== false;
        const content = thinks ? "<think><think> A word. </think> 9.9" : "<think>9.9";
        return saying({ content })[CHAT]?.(exchange) ?? { status: 500, text: "" };
      },
    };
    const all = await asked(marked, ["thinking-on", "thinking-off"]);
    expect(said(all)).toEqual([
      [
        [
          "reasoning-parser",
          "The model's thoughts are in its text: no reasoning parser of its family takes them out.",
          ["thinking-on", "thinking-off"],
        ],
      ],
      [],
    ]);
    expect(resultOf(all.probes, "thinking-off").detail).toBe(
      "a mark of thoughts is in `content`: `<think>9.9`",
    );
  });

  it("come from another model than those that are served", async () => {
    const routes: RouteTable = {
      [CHAT]: (exchange) => {
        const reply = HEALTHY[CHAT]?.(exchange) ?? { status: 500, text: "" };
        return "json" in reply ? { ...reply, json: { ...reply.json, model: "gpt-4o" } } : reply;
      },
    };
    expect(said(await asked(routes, ["chat"]))).toEqual([
      [
        [
          "answers-as-other",
          "Answers are said to be of `gpt-4o`, which /v1/models doesn't list.",
          ["chat"],
        ],
      ],
      [],
    ]);
  });
});

const TOOLS = ["chat-tools", "chat-several-tools"];

describe("calls", () => {
  const BROKEN = "<tool_call>\n<function=read_file>\n<parameter=path>\n/etc/hostname\n</tool_call>";

  it("that the model writes wrongly in the right form are not the parser's fault", async () => {
    const all = await asked(saying({ content: BROKEN }, 20, true), TOOLS);
    expect(said(all)).toEqual([
      [
        [
          "broken-calls",
          `The model writes broken calls, which no parser reads: \`${BROKEN.replaceAll("\n", " ")}\`.`,
          TOOLS,
        ],
      ],
      [],
    ]);
    expect(all.causes[0]?.advice).toContain(`${B}.tools.parser is right`);
  });

  it.each([
    [
      "Llama3JsonToolParser could not locate the bot token in the tokenizer!",
      "tool",
      "tools.parser",
    ],
    [
      "DeepSeek R1 reasoning parser could not locate think start/end tokens in the tokenizer!",
      "reasoning",
      "reasoningParser",
    ],
  ])("are refused by a parser, and not by the template: %s", async (message, what, key) => {
    const error = { message, type: "BadRequestError", param: null, code: 400 };
    const all = await asked({ [CHAT]: () => ({ status: 400, json: { error } }) }, TOOLS);
    expect(said(all)).toEqual([
      [
        [
          "parser-refuses",
          `The ${what} parser that runs doesn't fit the model: ${message}.`,
          TOOLS,
        ],
      ],
      [],
    ]);
    expect(all.causes[0]?.advice).toContain(`${B}.${key}`);
  });
});

const twice = (messages: unknown): JsonObject[] =>
  objectsIn(messages).flatMap((each) => [each, each]);

/** What a template, or a proxy, makes of each API's requests. */
const CHANGES: Readonly<Record<string, (body: JsonObject) => JsonObject>> = {
  system: ({ system: _, instructions: __, ...body }) => ({
    ...body,
    messages: objectsIn(body.messages).filter(({ role }) => role !== "system"),
  }),
  "a tool's result": (body) => ({
    ...body,
    messages: objectsIn(body.messages).filter(
      ({ role, content }) =>
        role !== "tool" && !objectsIn(content).some(({ type }) => type === "tool_result"),
    ),
    ...(Array.isArray(body.input)
      ? { input: objectsIn(body.input).filter(({ type }) => type !== "function_call_output") }
      : {}),
  }),
  "every turn twice": (body) => ({
    ...body,
    messages: twice(body.messages),
    ...(Array.isArray(body.input) ? { input: twice(body.input) } : {}),
  }),
};

const answering = (route: string, exchange: Exchange): Reply =>
  HEALTHY[route]?.(exchange) ?? { status: 500, text: "" };

const changing = (what: string, ...routes: readonly string[]): RouteTable =>
  Object.fromEntries(
    routes.map((route) => [
      route,
      (exchange: Exchange) =>
        answering(route, { ...exchange, body: CHANGES[what]?.(exchange.body) ?? {} }),
    ]),
  );

/** A tokenizer of which each word takes two tokens. */
const inTwos = (routes: RouteTable): RouteTable =>
  Object.fromEntries(
    [CHAT, RESPONSES, MESSAGES, COMPLETIONS].map((route) => [
      route,
      (exchange: Exchange): Reply => {
        const reply = routes[route]?.(exchange) ?? answering(route, exchange);
        if (!("json" in reply)) return reply;
        const usage = Object.entries(objectOr(reply.json.usage)).map(([name, count]) => [
          name,
          typeof count === "number" && /^(?:prompt|input)_tokens$/.test(name) ? 2 * count : count,
        ]);
        return { ...reply, json: { ...reply.json, usage: Object.fromEntries(usage) } };
      },
    ]),
  );

const PROMPTS = ["chat-prompt", "responses-prompt", "messages-prompt"];

/** Where no text without a template is answered. */
const WITHOUT_TEXTS: RouteTable = {
  [COMPLETIONS]: () => ({ status: 404, json: { detail: "Not Found" } }),
};

describe("what was sent", () => {
  it.each([
    ["system", "the system prompt", 40, "one", {}],
    ["a tool's result", "a tool's result", 160, "one", {}],
    ["system", "the system prompt", 40, "one, without texts", WITHOUT_TEXTS],
    ["system", "the system prompt", 40, "two", {}],
    ["a tool's result", "a tool's result", 160, "two", {}],
  ] as const)(
    "and is lost is told by the prompt's tokens: %s, %s (%i words of %s)",
    async (...each) => {
      const [what, name, words, tokens, more] = each;
      const lost = { ...changing(what, CHAT, RESPONSES, MESSAGES), ...more };
      const routes = tokens === "two" ? inTwos(lost) : lost;
      const all = await asked(routes, ["chat", ...PROMPTS]);
      expect(said(all)).toEqual([
        [
          [
            "template-drops",
            expect.stringMatching(
              new RegExp(
                `^The chat template, or what stands before vLLM, leaves out ${name}: with ${words} words more of it the prompt has (\\d+) tokens, and \\1 without them\\.$`,
              ),
            ),
            PROMPTS,
          ],
        ],
        [],
      ]);
      expect(all.causes[0]?.advice).toContain(`${B}.chatTemplate`);
    },
  );

  it.each([
    ["one token a word", (routes: RouteTable) => routes],
    ["two", inTwos],
  ])("and comes twice is told by the prompt's tokens: %s", async (_, tokens) => {
    const all = await asked(
      tokens(changing("every turn twice", CHAT, MESSAGES, RESPONSES)),
      PROMPTS,
    );
    expect(all.causes.map(({ id, cause, probes }) => [id, cause, probes])).toEqual([
      [
        "template-repeats",
        expect.stringMatching(
          /^The chat template, or what stands before vLLM, writes the system prompt, the earlier turns, a tool's result twice: with 40 words more of it the prompt has \d+ tokens/,
        ),
        PROMPTS,
      ],
    ]);
    expect(resultOf(all.probes, "messages-prompt").detail).toMatch(
      /^in the prompt twice: the earlier turns \(80 words more: \d+ tokens after \d+\), in the prompt twice: a tool's result/,
    );
  });

  it("explains that a model asks for a tool's result again", async () => {
    const lost = changing("a tool's result", CHAT, RESPONSES, MESSAGES);
    const { probes, causes } = await asked(lost, ["chat-tool-result", ...PROMPTS]);
    expect(failed(probes)).toEqual(["chat-tool-result", ...PROMPTS]);
    expect(causes.map((each) => [each.id, each.probes])).toEqual([
      ["template-drops", ["chat-tool-result", ...PROMPTS]],
    ]);
    expect(JSON.stringify([probes, causes])).not.toContain("model.kind");
  });

  it("is not the template's doing where another API has it", async () => {
    const { causes } = await asked(changing("system", MESSAGES), PROMPTS);
    expect(causes.map(({ cause, probes, advice }) => [cause, probes, advice])).toEqual([
      [
        expect.stringMatching(
          /^The system prompt doesn't reach the model on \/v1\/messages, though once/,
        ),
        ["messages-prompt"],
        expect.stringMatching(/^It isn't the chat template/),
      ],
    ]);
  });

  it.each([
    ["one token a word", (routes: RouteTable) => routes],
    ["two", inTwos],
  ])("takes two requests of one token on each API, and one text: %s", async (_, tokens) => {
    const bodies: JsonObject[] = [];
    const counted: RouteTable = Object.fromEntries(
      [CHAT, RESPONSES, MESSAGES, COMPLETIONS].map((route) => [
        route,
        (exchange: Exchange) => {
          bodies.push(exchange.body);
          return answering(route, exchange);
        },
      ]),
    );
    expect(failed((await asked(tokens(counted), PROMPTS)).probes)).toEqual([]);
    expect(bodies.map((body) => body.max_tokens ?? body.max_output_tokens)).toEqual(
      Array(7).fill(1),
    );
  });
});
