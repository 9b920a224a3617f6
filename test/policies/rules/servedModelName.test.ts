import { describe, expect, it } from "vitest";
import { container, said, server, serving, UNKNOWN_TEXT, verdictsOf } from "../declared";

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
      "refused: b serves its model as `a/b`, which has a slash; coding clients can't address it. Put a name without a " +
        "slash first, such as `b`, and keep `a/b` after it as an alias.",
    ]);
  });

  it("refuses a model id that is the name for want of another", () => {
    expect(said(RULE, [serving("Qwen/Qwen3.6 X")])).toEqual([
      "refused: b has no --served-model-name, so its model is served as `Qwen/Qwen3.6 X`, which has a slash; coding " +
        "clients can't address it. Add `--served-model-name qwen3.6-x Qwen/Qwen3.6 X`.",
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
      /first --served-model-name that is not known/,
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
    expect(said(RULE, [serving("org/")]).join()).toContain("Add `--served-model-name model org/`.");
  });

  it("names everything that can't be read, and a model that is not known", () => {
    expect(said(RULE, [serving("m", UNKNOWN_TEXT, "--config=x")]).join()).toContain(
      "argument 2 is not known before the update, so it may be any option; `--config` takes options",
    );
    const command = ["sh", "-c", 'vllm serve --model "$MODEL"'];
    expect(said(RULE, [server({ command })])).toEqual([
      "refused: b has no --served-model-name, and its model is not known before the update; give a name without a slash.",
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
        "refused: agent would ask for `a/b` (ANTHROPIC_MODEL, CLAUDE_CODE_SUBAGENT_MODEL), which has a slash; coding " +
          "clients can't address it. Ask for `b`, which the same server answers to.",
      ]);
    },
  );

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
