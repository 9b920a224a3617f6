import { describe, expect, it } from "vitest";
import { LABEL } from "../../../components/planned/container";
import { TYPE } from "../../../components/planned/type";
import { container, declared, said, server, serving, UNKNOWN_TEXT, verdictsOf } from "../declared";

const RULE = "served-model-name";

describe("served-model-name", () => {
  it.each([
    ["a name without a slash first", ["a/b", "--served-model-name", "b", "a/b"]],
    ["with an equals sign", ["a/b", "--served-model-name=b"]],
    ["the last of two", ["a/b", "--served-model-name", "a/b", "--served-model-name", "b"]],
    ["a model without a slash", ["gpt2"]],
  ])("passes: %s", (_, command) => expect(said(RULE, [serving(...command)])).toEqual([]));

  it.each([
    ["first of two", ["a/b", "--served-model-name", "a/b", "b"]],
    ["with an equals sign", ["a/b", "--served-model-name=a/b"]],
    ["underscores", ["a/b", "--served_model_name", "a/b"]],
    ["abbreviated", ["a/b", "--served", "a/b"]],
    ["the last of two", ["a/b", "--served-model-name", "b", "--served-model-name", "a/b"]],
    ["in a script", ["sh", "-c", "exec vllm serve a/b --served-model-name 'a/b'"]],
  ])("refuses a slash: %s", (_, command) => {
    expect(said(RULE, [serving(...command)])).toEqual([
      "refused: b serves its model as `a/b`, which has a slash. Put a name without one first, such as `b`, and keep `a/b` after it as an alias. Coding clients can't address such a name.",
    ]);
  });

  it("refuses a model id that is the name for want of another", () => {
    expect(said(RULE, [serving("Qwen/Qwen3.6 X")])).toEqual([
      "refused: b has no --served-model-name, and coding clients can't address its id, with a slash. Add `--served-model-name qwen3.6-x Qwen/Qwen3.6 X`: else it is served as `Qwen/Qwen3.6 X`.",
    ]);
  });

  it("knows the model that vLLM serves when none is given", () => {
    expect(said(RULE, [server({ command: undefined })]).join()).toContain(
      "`Qwen/Qwen3-0.6B` (vLLM's default model, as none is given)",
    );
  });

  it.each([
    ["no name behind the flag", ["m", "--served-model-name"], /without a name/],
    [
      "an unknown name",
      ["m", "--served-model-name", UNKNOWN_TEXT],
      /a --served-model-name that isn't known/,
    ],
    ["an unknown argument", ["m", UNKNOWN_TEXT], /can't be judged: argument 2 is not known/],
    ["--config", ["m", "--config=x.yaml"], /can't be judged: `--config` takes options from a file/],
  ])("refuses %s", (_, command, why) =>
    expect(said(RULE, [serving(...command)]).join()).toMatch(why),
  );

  it("says whether it is a server or may be one, and suggests a name where nothing is left of the model's", () => {
    expect(said(RULE, [server({ image: UNKNOWN_TEXT, command: undefined })]).join()).toContain(
      "b may be an inference server",
    );
    expect(said(RULE, [serving("m", UNKNOWN_TEXT)]).join()).toContain("b is an inference server");
    expect(said(RULE, [serving("org/")]).join()).toContain(
      "refused: b has no --served-model-name, and coding clients can't address its id, with a slash. Add `--served-model-name model org/`: else it is served as `org/`.",
    );
  });

  it("names everything that can't be read, and a model that is not known", () => {
    expect(said(RULE, [serving("m", UNKNOWN_TEXT, "--config=x")]).join()).toContain(
      "argument 2 is not known before the update, so it may be any option; `--config` takes options",
    );
    const command = ["sh", "-c", 'vllm serve --model "$MODEL"'];
    expect(said(RULE, [server({ command })])).toEqual([
      "refused: b has no --served-model-name, and its model isn't known yet. Give a name without a slash.",
    ]);
  });

  it("leaves other containers alone", () => {
    expect(said(RULE, [container("web", { image: "nginx:1.27", command: ["a/b"] })])).toEqual([]);
  });

  it("keeps its level", () => {
    expect(verdictsOf(RULE, [serving("a/b")], { [RULE]: "advisory" })).toMatchObject([
      { verdict: "refused" },
    ]);
  });
});

describe("a container with a messages-style client", () => {
  const ALIASED = serving("a/b", "--served-model-name", "b", "a/b");
  const asking = (url: string, ...variables: string[]) =>
    container("agent", { image: "me/agent", envs: [`ANTHROPIC_BASE_URL=${url}`, ...variables] });

  it.each(["http://b:8001", "http://127.0.0.1:8787", "https://dgx.lan:8443"])(
    "is refused for a name with a slash that a server has as an alias, at %s",
    (url) => {
      const names = ["ANTHROPIC_MODEL=a/b", "CLAUDE_CODE_SUBAGENT_MODEL=a/b"];
      expect(said(RULE, [ALIASED, asking(url, ...names)])).toEqual([
        "refused: agent would ask for `a/b`, which has a slash. Ask for `b`, which the same server answers to: coding clients can't address a slash (ANTHROPIC_MODEL, CLAUDE_CODE_SUBAGENT_MODEL).",
      ]);
    },
  );

  it("is refused once for each name, with the variables that ask for it", () => {
    const other = serving("c/d", "--served-model-name", "c/d", UNKNOWN_TEXT, "d");
    const client = asking("http://b:8001", "ANTHROPIC_MODEL=a/b", "CLAUDE_CODE_SUBAGENT_MODEL=c/d");
    expect(said(RULE, [ALIASED, serving("m"), client])).toEqual([
      expect.stringContaining("would ask for `a/b`, which has a slash."),
    ]);
    expect(said(RULE, [ALIASED, other, client]).slice(-1)).toEqual([
      expect.stringMatching(
        /for `c\/d`, which has a slash\. Ask for `d`, .*\(CLAUDE_CODE_SUBAGENT_MODEL\)/,
      ),
    ]);
  });

  it.each([
    ["the name without one", [ALIASED, asking("http://b:8001", "ANTHROPIC_MODEL=b")]],
    ["a hosted service", [ALIASED, asking("https://api.example/v1", "ANTHROPIC_MODEL=a/b")]],
    ["somebody else's name", [ALIASED, asking("http://x:1", "ANTHROPIC_MODEL=c/d")]],
    ["no server of the program", [asking("http://x:1", "ANTHROPIC_MODEL=a/b")]],
    ["another program's model", [ALIASED, asking("http://b:8001", "EMBEDDING_MODEL=a/b")]],
    ["no URL", [ALIASED, asking("b", "ANTHROPIC_MODEL=a/b")]],
    [
      "a value that isn't known",
      [ALIASED, asking("http://b:8001", `ANTHROPIC_MODEL=${UNKNOWN_TEXT}`)],
    ],
  ])("passes: %s", (_, resources) => expect(said(RULE, resources)).toEqual([]));
});

it.each([
  [["a/My_B", "--served-model-name", "a/My_B"], "my-b"],
  [["m", "--served-model-name", UNKNOWN_TEXT], undefined],
  [["a/b"], undefined],
])("served-model-name leads to the server's setting: %o", (command, value) => {
  const labels = [
    { label: LABEL.machine, value: "dgx" },
    { label: LABEL.server, value: "b" },
  ];
  const [found] = verdictsOf(RULE, [server({ labels, command })]);
  expect([found?.path, found?.value]).toEqual([
    "machines.dgx.inferenceServers.b.servedModelName",
    value,
  ]);
});

describe("served-model-name, of a coding client", () => {
  type Given = Readonly<Record<string, unknown>>;

  /** What is found of a client that asks for these models, by the setting that each leads to. */
  function found(client: Given, sends: readonly (readonly [name: string, model: string])[] = []) {
    const codex = { client: "codex", coding: true, server: "b", via: "native" };
    const component = declared(TYPE.machine, "dgx", {
      machine: "dgx",
      bridge: { models: sends.map(([name, model]) => ({ name, model })) },
      clients: [{ ...codex, serverKind: "inference-server", names: ["q"], ...client }],
    });
    return verdictsOf(RULE, [component])
      .filter(({ verdict }) => verdict !== "pass")
      .map(({ message, path, value }) => [
        message.replace(/ In the stack file: .*/s, ""),
        path?.replace("machines.dgx.clients.codex.", ""),
        value,
      ]);
  }
  const ask = (model: string, plain: string, setting = "model") => [
    `codex on dgx would ask for \`${model}\`, which has a slash. Ask for \`${plain}\`, which the same server answers to: coding clients can't address a slash.`,
    setting,
    plain,
  ];

  it("is found once for each setting that names one", () => {
    const tiers = { a: "org/m", b: "org/m", c: "org/n", d: "q" };
    expect(found({ tiers })).toEqual([ask("org/m", "q"), ask("org/n", "q", "environment.c")]);
  });

  it.each<[string, Given, [string, string][], unknown[]]>([
    ["the server's first name", { names: ["org/m", "q"] }, [], []],
    ["its second", { names: ["q", "org/m"] }, [], [ask("org/m", "q")]],
    ["the bridge's name of the first", { via: "bridge" }, [["org/m", "hosted_vllm/org/m"]], []],
    [
      "the bridge's name of another first",
      { via: "bridge", names: ["org/m"] },
      [["org/m", "hosted_vllm/short"]],
      [ask("org/m", "short")],
    ],
    [
      "a name that only looks like the bridge's",
      { via: "bridge" },
      [["org/m", "org/hosted_vllm/m"]],
      [ask("org/m", "q")],
    ],
    [
      "a name of the bridge's, without the bridge",
      { names: ["org/m", "q"] },
      [["org/m", "hosted_vllm/short"]],
      [ask("org/m", "q")],
    ],
    ["a name beside patterns", { names: ["gpt-*", "q"] }, [], [ask("org/m", "q")]],
    [
      "one of several with slashes",
      { names: ["org/a", "org/m"] },
      [],
      [
        [
          "codex on dgx would ask for `org/m`, which has a slash. Name the server without one, or point the client at another server (`clients.codex.server`). Coding clients can't address such a name.",
          "server",
          undefined,
        ],
      ],
    ],
    [
      "a model of the simple server, whose other names are other models",
      { serverKind: "simple-server" },
      [],
      [
        [
          "codex on dgx would ask for `org/m`, which has a slash. Give the model a name without one (`ollama cp org/m m`), declare `m` in `simpleServer.models` and test it (`serving verify --record`), or point the client at another server (`clients.codex.server`). Coding clients can't address such a name.",
          "server",
          undefined,
        ],
      ],
    ],
  ])("asks for %s", (_, client, sends, expected) => {
    expect(found({ tiers: { a: "org/m" }, ...client }, sends)).toEqual(expected);
  });
});
