import { describe, expect, it } from "vitest";
import { MESSAGES_CLIENT } from "../../../components/clients/claudeCode";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { stack } from "../../fixtures/machine";
import { ALL_CLIENTS, BRIDGE, CHAT_UI, HOME } from "../../fixtures/services";
import { container, DIGEST, declared, said, UNKNOWN_LIST, UNKNOWN_TEXT } from "../declared";

const ours = (clients: Record<string, unknown>) =>
  declaredResources(plan(stack({ bridge: BRIDGE, chatUi: CHAT_UI, clients }), { home: HOME }));
const client = (changes: Record<string, unknown>) =>
  declared(TYPE.machine, "dgx", {
    machine: "dgx",
    clients: [
      {
        ...{ client: "agent", coding: true, server: "b", serverKind: "inference-server" },
        ...{ baseUrl: "http://127.0.0.1:8001/v1", tiers: { model: "model" }, names: ["model"] },
        ...changes,
      },
    ],
  });
const tiers = Object.fromEntries(MESSAGES_CLIENT.modelVariables.map((name) => [name, "model"]));
const image = `example/agent:1@${DIGEST}`;
const inContainer = (...envs: string[]) => container("agent", { image, envs });
const pinned = Object.entries(tiers).map(([name, model]) => `${name}=${model}`);

describe("the clients of our own plan", () => {
  it("have nothing against them", () => {
    for (const rule of [
      "client-base-url",
      "client-tiers",
      "client-server",
      "bridge-prefix",
      "tool-calling",
    ])
      expect(said(rule, ours(ALL_CLIENTS)), rule).toEqual([]);
  });
});

describe("client-base-url", () => {
  it("refuses /v1 that an operator wrote, and says what would be called", () => {
    const environment = { ANTHROPIC_BASE_URL: "http://127.0.0.1:8787/v1" };
    expect(said("client-base-url", ours({ claudeCode: { environment } }))).toEqual([
      "refused: The base URL of claude-code on dgx has the path `/v1`. The client adds /v1/messages itself, so it would call `/v1/v1/messages`, and the 404 looks like a fault of the model. Remove the path. It is `http://127.0.0.1:8787/v1`.",
    ]);
  });

  it.each(["http://x:1/v1", "http://x:1/v1/", "http://x:1/api"])(
    "refuses %s in a container",
    (url) => {
      expect(said("client-base-url", [inContainer(`ANTHROPIC_BASE_URL=${url}`)])).toHaveLength(1);
    },
  );

  it("refuses what is not a URL", () => {
    expect(said("client-base-url", [inContainer("ANTHROPIC_BASE_URL=dgx")])).toEqual([
      "refused: The base URL of agent is not a URL. Give scheme, host and port, such as `http://127.0.0.1:8787`. It is `dgx`.",
    ]);
  });

  it.each(["http://x:1", "http://x:1/"])("accepts %s", (url) => {
    expect(said("client-base-url", [inContainer(`ANTHROPIC_BASE_URL=${url}`)])).toEqual([]);
  });

  it("says nothing of a client without a URL", () => {
    expect(said("client-base-url", [client({ tiers, baseUrl: undefined })])).toEqual([]);
  });

  it("leaves clients of other styles alone: they need the /v1", () => {
    expect(said("client-base-url", [client({})])).toEqual([]);
  });
});

describe("client-tiers", () => {
  it.each(MESSAGES_CLIENT.modelVariables)("refuses %s when it is empty or missing", (variable) => {
    const emptied = ours({ claudeCode: { environment: { [variable]: "" } } });
    expect(said("client-tiers", emptied)).toEqual([
      expect.stringContaining(`claude-code on dgx pins no model in ${variable}.`),
    ]);
    const { [variable]: _left, ...others } = tiers;
    expect(said("client-tiers", [client({ tiers: others })])).toHaveLength(1);
    const without = pinned.filter((entry) => !entry.startsWith(`${variable}=`));
    expect(
      said("client-tiers", [inContainer("ANTHROPIC_BASE_URL=http://x:1", ...without)]),
    ).toHaveLength(1);
  });

  it("refuses a name that is not served, and names those that are", () => {
    expect(said("client-tiers", ours({ codex: { model: "modle" } }))).toEqual([
      "refused: codex on dgx asks for `modle`, which is not served. Served: model, org/model. It is the value of model.",
    ]);
    expect(said("client-tiers", [client({ tiers: { model: "modle" } })])).toHaveLength(1);
  });

  it("accepts an alias, and through the bridge the names of tiers", () => {
    expect(said("client-tiers", ours({ codex: { model: "org/model" } }))).toEqual([]);
    const environment = { ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-haiku-9" };
    expect(said("client-tiers", ours({ claudeCode: { environment } }))).toEqual([]);
    expect(said("client-tiers", ours({ claudeCode: { via: "native", environment } }))).toHaveLength(
      1,
    );
  });

  it("names a model that is not served beside a variable that names none", () => {
    const [variable = "", ...others] = MESSAGES_CLIENT.modelVariables;
    const named = Object.fromEntries(others.map((name) => [name, "modle"]));
    const messages = said("client-tiers", [client({ tiers: named })]);
    expect(messages[0]).toContain(`pins no model in ${variable}.`);
    expect(messages.slice(1)).toEqual(
      others.map((name) =>
        expect.stringContaining(
          `asks for \`modle\`, which is not served. Served: model. It is the value of ${name}.`,
        ),
      ),
    );
  });

  it("accepts a container that pins all", () => {
    expect(said("client-tiers", [inContainer("ANTHROPIC_BASE_URL=http://x:1", ...pinned)])).toEqual(
      [],
    );
  });
});

describe("client-server", () => {
  const MODEL = "qwen3:8b";
  const native = { server: "simple-server", via: "native" };
  const at = (clients: Record<string, unknown>, simple: Record<string, unknown> = {}) => {
    const simpleServer = { mode: "host", models: [MODEL], ...simple };
    return declaredResources(plan(stack({ simpleServer, clients }), { home: HOME }));
  };

  it("refuses a coding client at the simple server", () => {
    expect(said("client-server", at({ claudeCode: native }))).toEqual([
      "refused: claude-code on dgx would use Ollama, whose tool calls are unproven. Test those of `qwen3:8b` with `serving verify --record`, which writes `simpleServer.toolCalls`, or point the client at an inference server.",
    ]);
  });

  it("refuses a container at its port, which the stack file's record says nothing about", () => {
    expect(
      said("client-server", [inContainer("ANTHROPIC_BASE_URL=http://127.0.0.1:11434", ...pinned)]),
    ).toEqual([
      "refused: agent would use Ollama, whose tool calls are unproven. Recorded tool calls of Ollama's models only count for clients in the stack file. Declare it below `clients`, or point it at an inference server.",
    ]);
  });

  it("leaves to host-ports a server of ours at its port", () => {
    const machine = {
      simpleServer: { mode: "host", models: [MODEL] },
      clients: { claudeCode: { server: "b", via: "native" } },
    };
    const all = declaredResources(plan(stack(machine, { port: 11434 }), { home: HOME }));
    expect(said("client-server", all)).toEqual([]);
    expect(said("host-ports", all)).toEqual([
      expect.stringMatching(/^refused: b takes host port 11434, where Ollama listens\./),
    ]);
    // Where no program says what answers, the port does.
    expect(
      said("client-server", [client({ serverKind: undefined, baseUrl: "http://127.0.0.1:11434" })]),
    ).toHaveLength(1);
    expect(
      said("client-server", [client({ serverKind: undefined, baseUrl: "http://127.0.0.1:8001" })]),
    ).toEqual([]);
  });

  it("warns of quality and prefix where the model's tool calls were seen, as its refusal advises", () => {
    const toolCalls = { [MODEL]: "seen 2026-11-21" };
    const [message, ...more] = said("client-server", at({ claudeCode: native }, { toolCalls }));
    expect(more).toEqual([]);
    expect(message).toBe(
      "warned: claude-code on dgx uses Ollama, whose tool calls were seen. That was `qwen3:8b` (seen 2026-11-21). The test prompts were short. We guess that small quantized models fail more often with an agent's long prompts. Ollama's documentation asks for `contextLength: 64000` or more for coding tools. By default, Ollama answers one request per model at a time. It keeps the prompts of other conversations in at most 8 GiB, which `ollama ps` doesn't count (ollama/ollama#18264): with qwen3.8:27b, two prompts of 66,000 tokens were kept, but with three none was (ollama/ollama#18072).",
    );
    expect(said("client-server", at({ clientEnv: native }, { toolCalls }))).toEqual([]);
  });

  it("refuses the models that nothing is recorded of, however many others there are", () => {
    const models = { models: [MODEL, "a", "b"] };
    const toolCalls = { a: "seen 2026-11-21" };
    const client = { ...native, environment: { ANTHROPIC_SMALL_FAST_MODEL: "a" } };
    expect(said("client-server", at({ claudeCode: client }, { ...models, toolCalls }))).toEqual([
      expect.stringContaining("Test those of `qwen3:8b` with "),
    ]);
    const other = { ...native, model: "b" };
    expect(said("client-server", at({ codex: other }, { ...models, toolCalls }))).toEqual([
      expect.stringContaining("Test those of `b` with "),
    ]);
    const two = { ...native, environment: { ANTHROPIC_SMALL_FAST_MODEL: "b" } };
    expect(said("client-server", at({ claudeCode: two }, { ...models, toolCalls }))).toEqual([
      expect.stringContaining("Test those of `qwen3:8b`, `b` with "),
    ]);
    const both = { ...toolCalls, [MODEL]: "seen 2026-11-22" };
    expect(
      said("client-server", at({ claudeCode: client }, { ...models, toolCalls: both })),
    ).toEqual([
      expect.stringContaining(
        "whose tool calls were seen. That was `qwen3:8b` (seen 2026-11-22), `a` (seen 2026-11-21). ",
      ),
    ]);
  });

  it("asks nothing of a tier that names no model", () => {
    const toolCalls = { [MODEL]: "seen 2026-11-21" };
    const emptied = { ...native, environment: { ANTHROPIC_SMALL_FAST_MODEL: "" } };
    expect(said("client-server", at({ claudeCode: emptied }, { toolCalls }))).toEqual([
      expect.stringContaining(
        "whose tool calls were seen. That was `qwen3:8b` (seen 2026-11-21). ",
      ),
    ]);
  });

  it("refuses a client that names no model", () => {
    const on = client({ serverKind: "simple-server", tiers: {} });
    expect(said("client-server", [on])).toEqual([
      expect.stringContaining(
        "whose tool calls are unproven. Test them with `serving verify --record`",
      ),
    ]);
  });

  it("names Ollama where the client has no URL", () => {
    const on = client({ serverKind: "simple-server", baseUrl: undefined });
    expect(said("client-server", [on]).join()).toContain(
      "refused: agent on dgx would use Ollama, whose tool calls are unproven.",
    );
  });

  it("refuses it for each of our coding clients, and lets any program use it", () => {
    expect(
      said("client-server", at({ claudeCode: native, codex: native, pi: native })),
    ).toHaveLength(3);
    expect(said("client-server", at({ clientEnv: native }))).toEqual([]);
  });

  it("accepts one that is not a coding client, and a coding client elsewhere", () => {
    expect(said("client-server", [client({ serverKind: "simple-server", coding: false })])).toEqual(
      [],
    );
    expect(said("client-server", [client({})])).toEqual([]);
  });
});

describe("bridge-prefix", () => {
  const yaml = (model: string) =>
    `model_list:\n  - model_name: m\n    litellm_params: {model: ${model}, api_base: http://x:8001/v1}\n`;
  const litellm = `ghcr.io/berriai/litellm:v1.103.0@${DIGEST}`;

  it.each([
    [
      "a file uploaded into a container",
      { image, uploads: [{ file: "/c.yaml", content: yaml("openai/m") }] },
    ],
    ["the arguments of the bridge", { image: litellm, command: ["--model", "openai/m"] }],
    ["one word of them", { image: litellm, command: ["--model=openai/m"] }],
  ])("refuses it in %s", (_, props) => {
    expect(said("bridge-prefix", [container("mine", props)])).toEqual([
      expect.stringMatching(
        /^refused: mine sends `.*` to `openai\/m`\. .*Write `hosted_vllm\/<served name>`/,
      ),
    ]);
  });

  it("refuses it in a command that writes the file", () => {
    const command = (stdin: string) =>
      declared("command:local:Command", "write", { create: "cat > f", stdin });
    expect(said("bridge-prefix", [command(yaml("openai/m"))])).toHaveLength(1);
    expect(said("bridge-prefix", [command(`cat <<X\n${yaml('"openai/m"')}X\n`)])).toHaveLength(1);
    expect(said("bridge-prefix", [command(yaml("hosted_vllm/openai"))])).toEqual([]);
    expect(said("bridge-prefix", [command(`# model: openai/m\n${yaml("hosted_vllm/m")}`)])).toEqual(
      [],
    );
  });

  it("takes no model of a plan for one of the configuration inside it", () => {
    const written = (document: unknown) =>
      declared("command:local:Command", "write", {
        create: "sh -c",
        stdin: `host-file 1\npath: /plan.json\n\n${JSON.stringify(document, undefined, 2)}\n`,
      });
    const model = "openai/gpt-oss-120b";
    const around = (text: string) => ({ serve: [{ model }], files: [{ role: "bridge", text }] });
    expect(said("bridge-prefix", [written(around(yaml("hosted_vllm/gpt-oss-120b")))])).toEqual([]);
    expect(said("bridge-prefix", [written(around(yaml("openai/m")))])).toEqual([
      expect.stringMatching(/^refused: write sends `m` to `openai\/m`\. /),
    ]);
    const apart = yaml("openai/m").replace("\n", "\n\n");
    const spaced = declared("command:local:Command", "write", {
      create: "sh -c",
      stdin: `host-file 1\npath: /c.yaml\n\n${apart}`,
    });
    expect(said("bridge-prefix", [spaced])).toEqual([
      expect.stringMatching(/^refused: write sends `m` to `openai\/m`\. /),
    ]);
    const nested = { model, router: { model_list: [{ litellm_params: { model: "openai/x" } }] } };
    expect(said("bridge-prefix", [written(nested)])).toEqual([
      expect.stringMatching(/^refused: write sends `` to `openai\/x`\. /),
    ]);
  });

  it("refuses it in what a machine says of its bridge", () => {
    const machine = declared(TYPE.machine, "dgx", {
      bridge: { models: [{ name: "m", model: "openai/m" }] },
    });
    expect(said("bridge-prefix", [machine])).toHaveLength(1);
  });

  it.each([
    [
      "the bridge's entrypoint",
      { entrypoints: ["litellm", "--model", "openai/m"] },
      "b",
      "openai/m",
    ],
    ["its short option", { command: ["-m", "openai/m"] }, "b", "openai/m"],
    [
      "arguments beside one that is not known",
      { command: [UNKNOWN_TEXT, "--model=openai/m"] },
      "b",
      "openai/m",
    ],
    ["an argument with a line break", { command: ["--model=openai/m\nx"] }, "b", "openai/m"],
    [
      "a container of another name",
      { name: "own", command: ["-m", "openai/m"] },
      "own",
      "openai/m",
    ],
    [
      "a list with other entries",
      {
        uploads: [
          {
            content:
              "model_list:\n  - x\n  - {litellm_params: 1}\n  - {litellm_params: {model: openai/m}}",
          },
        ],
      },
      "b",
      "",
    ],
  ])("names what sends and what is sent: %s", (_, props, who, name) => {
    expect(said("bridge-prefix", [container("b", { image: litellm, ...props })]).join()).toContain(
      `refused: ${who} sends \`${name}\` to \`openai/m\`. `,
    );
  });

  it("reads a script line by line, without its comments", () => {
    const script = (create: string) =>
      said("bridge-prefix", [
        declared("command:local:Command", "write", { name: "other", create }),
      ]);
    expect(script("printf 'model: openai/m' >> model_list.yaml").join()).toMatch(
      /^refused: write sends `openai\/m` to `openai\/m`\./,
    );
    expect(script("cat <<X\nmodel_list:\n # model: openai/m\n\t- model: hosted_vllm/m\nX")).toEqual(
      [],
    );
    expect(script("# model_list")).toEqual([]);
  });

  it.each([
    ["an unknown bridge", { bridge: UNKNOWN_TEXT }],
    ["unknown models", { bridge: { models: UNKNOWN_LIST } }],
    ["models that are none", { bridge: { models: [UNKNOWN_TEXT, "openai/m", {}] } }],
  ])("says nothing of %s", (_, props) => {
    expect(said("bridge-prefix", [declared(TYPE.machine, "dgx", props)])).toEqual([]);
  });

  it("says nothing of an unknown image, and of other options", () => {
    expect(
      said("bridge-prefix", [container("x", { image: UNKNOWN_TEXT, command: ["-m", "openai/m"] })]),
    ).toEqual([]);
    expect(
      said("bridge-prefix", [container("x", { image: litellm, command: ["x--model=openai/m"] })]),
    ).toEqual([]);
  });

  it("accepts other programs that use the prefix for themselves", () => {
    expect(
      said("bridge-prefix", [container("x", { image, command: ["--model", "openai/m"] })]),
    ).toEqual([]);
  });

  it("reads only what says models: a machine's bridge, a bridge's container, a list of models", () => {
    const bridge = { models: [{ model: "openai/m" }] };
    const other = declared("example:index:Bridge", "x", {
      image: litellm,
      command: ["-m", "openai/m"],
      bridge,
    });
    expect(said("bridge-prefix", [other])).toEqual([]);
    expect(
      said("bridge-prefix", [container("x", { image, uploads: [{ content: "model: openai/m" }] })]),
    ).toEqual([]);
    const models =
      "model_list:\n  -\n  - {model_name: m}\n  - {litellm_params: {model: hosted_vllm/m}}";
    expect(
      said("bridge-prefix", [container("x", { image, uploads: [{ content: models }] })]),
    ).toEqual([]);
  });

  it.each([
    [
      "a machine's bridge",
      declared(TYPE.machine, "dgx", { bridge: { models: [{ name: "m", model: "openai/n" }] } }),
      "m",
    ],
    [
      "a bridge without a name",
      declared(TYPE.machine, "dgx", { bridge: { models: [{ model: "openai/n" }] } }),
      "",
    ],
    ["a configuration", container("dgx", { image, uploads: [{ content: yaml("openai/n") }] }), "m"],
  ])("names the model by which clients ask for it: %s", (_, resource, name) => {
    expect(said("bridge-prefix", [resource]).join()).toContain(
      `refused: dgx sends \`${name}\` to \`openai/n\`. `,
    );
  });
});

describe("what a client is", () => {
  const URL = "ANTHROPIC_BASE_URL=http://x:1";
  const rules = ["client-base-url", "client-tiers", "client-server"];

  it("is a machine's or a container's: nothing else that has such variables", () => {
    const agent = declared("example:index:Agent", "agent", { envs: [`${URL}/v1`] });
    for (const rule of rules) expect(said(rule, [agent]), rule).toEqual([]);
    expect(said("client-server", [inContainer(URL)])).toEqual([]);
  });

  it("has a base URL with a path or without, whatever its scheme", () => {
    expect(said("client-base-url", [inContainer("ANTHROPIC_BASE_URL=h2c://x:1")])).toEqual([]);
    expect(said("client-base-url", [inContainer(`${URL}/v1/`)]).join()).toContain(
      "it would call `/v1/v1/messages`,",
    );
  });

  it("pins its models, each of which is named where it does not", () => {
    expect(said("client-tiers", [client({ tiers: { model: "" } })]).join()).toContain(
      "agent on dgx pins no model in model.",
    );
    const [one, two, ...others] = Object.entries(tiers);
    expect(said("client-tiers", [client({ tiers: Object.fromEntries(others) })]).join()).toContain(
      `pins no model in ${one?.[0]}, ${two?.[0]}.`,
    );
    expect(said("client-base-url", [client({ tiers: { ...tiers, other: "model" } })])).toHaveLength(
      1,
    );
    expect(said("client-tiers", [client({ tiers: { model: UNKNOWN_TEXT } })])).toEqual([]);
  });

  it.each([
    ["models", ["model"], 1],
    ["claude2", ["model", "claude-*"], 1],
    ["claude-x", ["model", "claude-*"], 0],
    ["modle", UNKNOWN_LIST, 0],
  ])("asks for %s of %j: refused %d times", (model, names, times) => {
    expect(said("client-tiers", [client({ tiers: { model }, names })])).toHaveLength(times);
  });

  it("is named as far as it is known, with where it would go", () => {
    expect(
      said("client-server", [client({ client: undefined, serverKind: "simple-server" })]),
    ).toEqual([
      "refused: a client on dgx would use Ollama, whose tool calls are unproven. Test those of `model` with `serving verify --record`, which writes `simpleServer.toolCalls`, or point the client at an inference server.",
    ]);
  });
});
