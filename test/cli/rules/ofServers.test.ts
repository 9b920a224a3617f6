import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { causesOf as causesIn } from "../../../cli/rules/report";
import type { ServerSeen } from "../../../cli/rules/serverSeen";

/**
 * What probes saw of real servers of vLLM 0.30.0, each broken in one way:
 * `test/real/vllm/brokenServers.test.ts` records it, with RECORDED_IN.
 */
const SEEN = join(__dirname, "seen");
const B = "machines.dgx.inferenceServers.b";
const APPLY_STACK_FILE =
  "Apply the stack file: `serving up`. If a difference stays, `serving status --against applied` says how to fix it.";
const OLDER = (setting: string) =>
  `The stack file already has it (${B}.${setting}), so the server runs with an older or different configuration. ${APPLY_STACK_FILE}`;

/** The first line has what is declared and what runs, each further one a request. */
function seenIn(name: string): ServerSeen {
  const lines = readFileSync(join(SEEN, `${name}.jsonl`), "utf8")
    .trimEnd()
    .split("\n");
  const [rest, ...exchanges] = lines.map((line) => JSON.parse(line) as unknown);
  return {
    ...(rest as Omit<ServerSeen, "exchanges">),
    exchanges: exchanges as ServerSeen["exchanges"],
  };
}

/** The cause of each, by what was broken: its id, its advice, and the probes that are left. */
const CAUSES: Readonly<Record<string, readonly [id: string, advice: string]>> = {
  "a-cap-of-8-tokens-answers-are-cut-off": [
    "capped",
    `A cap is set: \`max_new_tokens\` in generation_config.json of rig/dense or in --override-generation-config (${B}.extraArgs). \`--generation-config vllm\` ignores the model's. If the stack file sets no cap, the server runs with an older or different configuration: \`serving up\`.`,
  ],
  "a-key-nobody-gives-it": [
    "key-wanted",
    `It was started with a key (VLLM_API_KEY, or an argument), or there is a proxy in front of it. ${APPLY_STACK_FILE}`,
  ],
  "a-model-without-thinking-the-stack-file-says-it-thinks": [
    "no-thoughts",
    `Write \`${B}.model.thinking: false\` in the stack file, then \`serving up\`. Then no reasoning parser is passed.`,
  ],
  "a-model-without-thinking-under-the-names-of-another": [
    "other-model",
    `${APPLY_STACK_FILE} If you meant org/nothink, set ${B}.model.id to it.`,
  ],
  "a-template-with-an-error-nothing-is-answered": [
    "template-error",
    `Correct the template (${B}.chatTemplate sets another). If the model's own is right already, the server was started with another: \`serving up\`.`,
  ],
  "a-template-without-tools-no-call-comes": [
    "template-without-tools",
    `Ask vLLM itself (--base-url) where a proxy stands before it. Use a template that lists the tools (${B}.chatTemplate sets another). If the model's own is right already, the server was started with another: \`serving up\`.`,
  ],
  "a-window-of-2048-the-stack-file-has-more": ["other-window", OLDER("maxModelLen: 65536")],
  "as-it-should-be-another-model-has-its-names": [
    "other-model",
    `${APPLY_STACK_FILE} If you meant rig/dense, set ${B}.model.id to it.`,
  ],
  "as-it-should-be-it-has-another-name": ["other-names", APPLY_STACK_FILE],
  "as-it-should-be-its-engine-is-killed-meanwhile": [
    "engine-died",
    expect.stringContaining("then run serving doctor") as unknown as string,
  ],
  "as-it-should-be-its-worker-hangs": [
    "late",
    expect.stringContaining("See what it did last in its log") as unknown as string,
  ],
  "as-it-should-be-the-model-always-thinks": [
    "always-thinks",
    `See ${B}.chatTemplate, and set no \`disable_thinking\` in the harness's profile.`,
  ],
  "as-it-should-be-the-model-never-ends": [
    "never-ends",
    `It doesn't write the token that ends a turn, or the server doesn't know it: compare \`eos_token_id\` in generation_config.json of rig/dense with the token that ends its turns, and try another build or quantization of it.`,
  ],
  "as-it-should-be-the-model-never-thinks": [
    "no-thoughts",
    `Write \`${B}.model.thinking: false\` in the stack file, then \`serving up\`. Then no reasoning parser is passed.`,
  ],
  "as-it-should-be-the-model-writes-hermes-calls": [
    "tool-parser",
    `Write \`${B}.tools.parser: hermes\` in the stack file, then \`serving up\`.`,
  ],
  "no-prefix-cache-the-stack-file-has-one": ["prefix-cache-off", OLDER("prefixCaching: true")],
  "no-reasoning-parser-the-stack-file-has-one": [
    "reasoning-parser",
    OLDER("reasoningParser, which gives qwen3"),
  ],
  "no-tool-choice-the-stack-file-has-it": ["no-tool-choice", OLDER("tools.autoChoice: true")],
  "parser-hermes-the-stack-file-says-so": [
    "tool-parser",
    `Write \`${B}.tools.parser: qwen3_coder\` in the stack file, then \`serving up\`.`,
  ],
  "the-reasoning-parser-of-another-family-the-stack-file-has-the-family-s": [
    "reasoning-parser",
    OLDER("reasoningParser, which gives qwen3"),
  ],
};

describe("what explains the failures of a real server", () => {
  it("is held against every recorded one", () => {
    const recorded = readdirSync(SEEN).map((file) => basename(file, ".jsonl"));
    expect(Object.keys(CAUSES)).toEqual(recorded.sort());
  });

  it.each(Object.entries(CAUSES))("%s", (name, [id, advice]) => {
    const seen = seenIn(name);
    expect(causesOf(seen)).toEqual([
      { target: seen.declared.name, id, cause: expect.any(String), advice, probes: seen.failed },
    ]);
  });
});

/** A container of ours that was started with these arguments behind the planned ones. */
const startedWith = (seen: ServerSeen, ...more: readonly string[]): ServerSeen => ({
  ...seen,
  running: { ...seen.running, argv: [...seen.declared.argv, ...more] },
});

/** What explains the failures of a server. */
const causesOf = (server: ServerSeen) =>
  causesIn({ logs: [], server }).map(({ target, id, cause, advice, probes }) => ({
    ...{ target, id, cause, advice, probes },
  }));

const adviceOf = (seen: ServerSeen) => causesOf(seen).map(({ advice }) => advice);

it.each([
  ["that still answers with one token", 200, ["never-ends"]],
  ["that answers no more", undefined, ["never-ends", "late"]],
])("an answer that doesn't come in time of a model that never ends, %s", (_, status, causes) => {
  const seen = seenIn("as-it-should-be-the-model-never-ends");
  const asked = { streamed: false, tools: 0 };
  const late = {
    ...asked,
    probe: "window",
    path: "/v1/chat/completions",
    noAnswer: "timeout",
  } as const;
  const token = { ...asked, probe: "", path: "/v1/completions", ...(status && { status }) };
  const more = { failed: [...seen.failed, "window"], exchanges: [...seen.exchanges, late, token] };
  expect(causesOf({ ...seen, ...more }).map(({ id }) => id)).toEqual(causes);
});

describe("the container's own arguments", () => {
  it("say what runs otherwise than the stack file", () => {
    const seen = seenIn("the-reasoning-parser-of-another-family-the-stack-file-has-the-family-s");
    expect(adviceOf(startedWith(seen, "--reasoning-parser", "granite"))).toEqual([
      `It was started with --reasoning-parser granite, but the stack file has --reasoning-parser qwen3. ${APPLY_STACK_FILE}`,
    ]);
  });

  it("that are the stack file's leave the setting to be changed", () => {
    const seen = seenIn("no-reasoning-parser-the-stack-file-has-one");
    expect(adviceOf(startedWith(seen))).toEqual([
      `Write \`${B}.reasoningParser: auto\` in the stack file, then \`serving up\`. It takes the family's parser; \`qwen3\` does not read this model's thoughts.`,
    ]);
  });

  it("blame another tool parser than the stack file's, which reads the calls", () => {
    const seen = seenIn("parser-hermes-the-stack-file-says-so");
    const declared = { ...seen.declared, toolParser: "qwen3_xml" };
    expect(adviceOf({ ...seen, declared })).toEqual([
      `The stack file already has it (${B}.tools.parser, which gives qwen3_xml), so the server runs with an older or different configuration. ${APPLY_STACK_FILE}`,
    ]);
  });
});

describe("a container that was started otherwise", () => {
  const seen = seenIn("no-prefix-cache-the-stack-file-has-one");
  const differs = ["has --max-num-seqs 2, but 4 is planned"];
  const found = (failed: readonly string[]) =>
    causesOf({ ...seen, failed, running: { ...seen.running, differs } }).map(
      ({ id, cause, probes }) => [id, cause, probes],
    );

  it("is behind what nothing else explains", () => {
    const cause = `The server doesn't run as the stack file says: ${seen.declared.name} has --max-num-seqs 2, but 4 is planned.`;
    expect(found(["needle", "prefix-reuse"])).toEqual([
      ["prefix-cache-off", expect.any(String), ["prefix-reuse"]],
      ["started-otherwise", cause, ["needle"]],
    ]);
  });

  it("is nothing where all passed", () => {
    expect(found([])).toEqual([]);
  });
});

describe("the other name of one parser", () => {
  const seen = seenIn("parser-hermes-the-stack-file-says-so");
  const advised = (version: string) =>
    adviceOf({
      ...seen,
      declared: { ...seen.declared, toolParser: "qwen3_coder" },
      running: { ...seen.running, version },
    });

  it("is advised only where it is another parser", () => {
    expect(advised("0.23.0")).toEqual([
      `Write \`${B}.tools.parser: qwen3_xml\` in the stack file, then \`serving up\`.`,
    ]);
    expect(advised("0.24.0")).toEqual([OLDER("tools.parser, which gives qwen3_coder")]);
  });
});
