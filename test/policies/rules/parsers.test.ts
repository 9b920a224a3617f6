import { describe, expect, it } from "vitest";
import { LABEL } from "../../../components/planned/container";
import {
  CLEAN_COMMAND,
  container,
  said,
  server,
  serverRecord,
  serving,
  UNKNOWN_LIST,
  verdictsOf,
} from "../declared";

describe("tool-calling", () => {
  const RULE = "tool-calling";
  const WITHOUT = "b has --enable-auto-tool-choice without --tool-call-parser.";
  const clients = (changes = {}) =>
    serverRecord({ codingClients: ["codex", "opencode"], ...changes });

  it("passes a server with both, with coding clients and without", () => {
    expect(said(RULE, [server(), serverRecord()])).toEqual([]);
    expect(said(RULE, [server(), clients()])).toEqual([]);
  });

  it.each([
    ["written out", ["m", "--enable-auto-tool-choice"]],
    ["underscores", ["m", "--enable_auto_tool_choice"]],
    ["abbreviated", ["m", "--enable-auto"]],
    ["a parser without a name", ["m", "--enable-auto-tool-choice", "--tool-call-parser"]],
  ])("refuses automatic tool choice without a parser: %s", (_, command) => {
    expect(said(RULE, [serving(...command)])).toEqual([
      `refused: ${WITHOUT} Write the parser that its publisher names as \`tools.parser\` (\`--tool-call-parser\`), or \`tools: { autoChoice: false }\` to do without tool calls: vLLM refuses to start like that.`,
    ]);
  });

  it.each([
    [
      "Qwen/Qwen3-235B-A22B",
      "Write `tools.parser: hermes` (`--tool-call-parser hermes`), which reads the family of Qwen/Qwen3-235B-A22B: vLLM refuses to start like that.",
    ],
    [
      "BAAI/bge-m3",
      "By its name, BAAI/bge-m3 is for embeddings: it is `model.kind: embedding`, which runs with --runner pooling and without tools or clients. vLLM refuses to start like that.",
    ],
    [
      "meta-llama/Llama-Guard-4-12B",
      "By its name, meta-llama/Llama-Guard-4-12B judges texts (a guard): it answers with its verdict and makes no tool calls, so it is `tools: { autoChoice: false }`. vLLM refuses to start like that.",
    ],
  ])("says what is missing by the name of %s", (model, remedy) => {
    expect(said(RULE, [serving(model, "--enable-auto-tool-choice")])).toEqual([
      `refused: ${WITHOUT} ${remedy}`,
    ]);
  });

  it("warns of a parser of another family than the model's, by its name", () => {
    const model = "nvidia/Qwen3.6-35B-A3B-NVFP4";
    const flags = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"];
    expect(said(RULE, [serving(model, ...flags)])).toEqual([
      `warned: b has --tool-call-parser hermes, of another family. Write \`tools.parser: qwen3_coder\` (\`--tool-call-parser qwen3_coder\`), which reads the family of ${model}: its tool calls would come as text.`,
    ]);
    expect(said(RULE, [serving("openai/gpt-oss-20b", "--reasoning-parser", "qwen3")])).toEqual([
      "warned: b has --reasoning-parser qwen3, of another family. Write `reasoningParser: openai_gptoss` (`--reasoning-parser openai_gptoss`), which reads the family of openai/gpt-oss-20b: what it thinks would come as its answer, or its answer as thought.",
    ]);
  });

  it.each([
    ["neither", ["m"]],
    ["a parser alone", ["m", "--tool-call-parser", "hermes"]],
    ["switched off again", [...CLEAN_COMMAND, "--no-enable-auto-tool-choice"]],
  ])("refuses coding clients on a server with %s", (_, command) => {
    expect(said(RULE, [serving(...command), clients()])).toEqual([
      "refused: codex, opencode would use b, which makes no tool calls. Add `--enable-auto-tool-choice --tool-call-parser <parser>`, or point the coding clients elsewhere.",
    ]);
    expect(said(RULE, [serving(...command), serverRecord()])).toEqual([]);
  });

  it("refuses coding clients on a base model", () => {
    const base = clients({ model: { id: "Qwen/Base", kind: "base", thinking: false } });
    expect(said(RULE, [server(), base]).join()).toMatch(
      /^refused: codex, opencode can't use a model of kind base\. `Qwen\/Base` has no chat and no tool calls\./,
    );
  });

  it("refuses coding clients on a container that isn't declared", () => {
    expect(said(RULE, [server(), clients({ container: "other" })]).join()).toMatch(
      /^refused: codex, opencode would use a container that isn't declared\. Name a declared container, not `other`\./,
    );
  });

  it("is content with one of two servers in a container, and asks for choice and parser of the same one", () => {
    const tools = "--enable-auto-tool-choice --tool-call-parser hermes";
    const two = (first: string, second: string) =>
      said(RULE, [
        serving("sh", "-c", `vllm serve m ${first} & vllm serve n ${second}`),
        clients(),
      ]);
    expect(two(tools, "")).toEqual([]);
    expect(two("--enable-auto-tool-choice", "--tool-call-parser hermes")).toHaveLength(2);
    expect(said(RULE, [serving("m", "--enable-auto-tool-choice"), clients()])).toHaveLength(2);
  });

  it("takes unknown clients for clients", () => {
    expect(said(RULE, [serving("m"), clients({ codingClients: UNKNOWN_LIST })])).toHaveLength(1);
  });

  it("leaves other containers alone", () => {
    expect(
      said(RULE, [container("web", { image: "nginx", command: ["--enable-auto-tool-choice"] })]),
    ).toEqual([]);
  });

  it("refuses what it finds, and takes a model of no kind for one that chats", () => {
    const base = clients({ model: { id: "m", kind: "base" } });
    const verdicts = [
      [server(), base],
      [server(), clients({ container: "other" })],
    ].map((given) => verdictsOf(RULE, given));
    expect(verdicts).toMatchObject([[{ verdict: "refused" }], [{ verdict: "refused" }]]);
    expect(said(RULE, [server(), clients({ model: { id: "m" } })])).toEqual([]);
  });

  const TOOLS = "--enable-auto-tool-choice --tool-call-parser openai";
  it.each<[string[], string, string | boolean | undefined]>([
    [["m"], "tools.parser", undefined],
    [["m", "--tool-call-parser", "hermes"], "tools.autoChoice", true],
    [
      `openai/gpt-oss-20b ${TOOLS} --reasoning-parser qwen3`.split(" "),
      "reasoningParser",
      "openai_gptoss",
    ],
  ])("names the setting that mends it, and its value: %j", (command, setting, value) => {
    const labels = [
      { label: LABEL.machine, value: "dgx" },
      { label: LABEL.server, value: "b" },
    ];
    const [found, ...others] = verdictsOf(RULE, [server({ command, labels }), clients()]);
    expect([found?.path, found?.value, others]).toEqual([
      `machines.dgx.inferenceServers.b.${setting}`,
      value,
      [],
    ]);
  });
});

describe("reasoning-parser", () => {
  const RULE = "reasoning-parser";
  const thinking = (value: boolean) =>
    serverRecord({ model: { id: "x", kind: "chat", thinking: value } });
  const parsing = (model: string) =>
    serving(model, "--served-model-name", "m", "--reasoning-parser", "qwen3");

  it("refuses it for a model that is declared not to think", () => {
    expect(said(RULE, [parsing("Qwen/X"), thinking(false)])).toEqual([
      "refused: b has a reasoning parser for a model without a thinking mode. Pass no reasoning parser: qwen3 would mistake the tool calls of Qwen/X for reasoning.",
    ]);
  });

  it("names no model where the arguments name none", () => {
    expect(said(RULE, [serving("--reasoning-parser", "qwen3"), thinking(false)]).join()).toContain(
      "refused: b has a reasoning parser for a model without a thinking mode. Pass no reasoning parser: qwen3 would mistake the tool calls of its model for reasoning.",
    );
  });

  it("passes it for a model that thinks, whatever its name", () => {
    expect(said(RULE, [parsing("Qwen/X"), thinking(true)])).toEqual([]);
    expect(said(RULE, [parsing("Qwen/X-Instruct"), thinking(true)])).toEqual([]);
  });

  it.each(["Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen/Qwen3-Coder-30B-A3B", "Qwen/Qwen3-8B-Base"])(
    "refuses it by the name %s where nothing is declared",
    (model) =>
      expect(said(RULE, [parsing(model)]).join()).toMatch(
        /^refused: b has a reasoning parser for a model without a thinking mode by its name\. Pass no reasoning parser, or declare the model's thinking mode: qwen3 would mistake the tool calls of /,
      ),
  );

  it("passes without a parser, and other names where nothing is declared", () => {
    expect(said(RULE, [server(), thinking(false)])).toEqual([]);
    expect(said(RULE, [parsing("Qwen/Qwen3.6-35B-A3B")])).toEqual([]);
    expect(said(RULE, [serving("a/b-Instruct", "--reasoning-parser=")])).toEqual([]);
    expect(
      said(RULE, [
        container("web", { image: "nginx", command: ["x-Instruct", "--reasoning-parser", "q"] }),
      ]),
    ).toEqual([]);
  });

  it("names no parser that is not known, and judges no name that is not", () => {
    const script = (text: string) =>
      said(RULE, [serving("sh", "-c", `vllm serve ${text} --served-model-name m`)]);
    expect(script('a/b-instruct --reasoning-parser "$PARSER"').join()).toContain(
      "refused: b has a reasoning parser for a model without a thinking mode by its name.",
    );
    expect(script('--reasoning-parser qwen3 --model "$MODEL"')).toEqual([]);
  });

  it("takes another level", () => {
    expect(verdictsOf(RULE, [parsing("a/b-Instruct")], { [RULE]: "advisory" })).toMatchObject([
      { verdict: "warned" },
    ]);
  });
});
