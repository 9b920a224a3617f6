import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { newestEngineData } from "@local-serving/vllm/engineData";
import { describe, expect, it } from "vitest";
import { readPublished } from "../../../cli/init/from/published";
import { engineFaults } from "../../../policies/rules/engineNames";

const MODEL = "openai/gpt-oss-20b";

describe("`false` in vLLM's own configuration", () => {
  const read = (body: string) => {
    const { words, leftOut } = readPublished({ text: `model: ${MODEL}\n${body}\n` });
    return { words: words.slice(2), leftOut };
  };

  it("turns off what vLLM has a `--no-` flag for", () => {
    const text =
      "enable-prefix-caching: false\nasync-scheduling: false\nenable-chunked-prefill: true\nmiddleware: []";
    expect(read(text)).toEqual({
      words: ["--no-enable-prefix-caching", "--no-async-scheduling", "--enable-chunked-prefill"],
      leftOut: [],
    });
  });

  it.each([
    [
      "enable_prefix_caching",
      "vLLM passes over it: the key has to have hyphens (`enable-prefix-caching`) to turn anything off.",
    ],
    ["max-model-len", "vLLM passes over it: it has no flag `--no-max-model-len`."],
  ])("%s: is named where vLLM passes over it", (key, why) => {
    expect(read(`${key}: false\nport: 8000`)).toEqual({
      words: ["--port", "8000"],
      leftOut: [{ what: `\`${key}: false\``, why }],
    });
  });
});

describe("a switch with a value", () => {
  it.each([
    ["--enforce-eager=False", "enforce-eager", "off", "--no-enforce-eager"],
    ["--trust_remote_code=false", "trust-remote-code", "off", "--no-trust-remote-code"],
    ["--enable-prefix-caching=true", "enable-prefix-caching", "on", "--enable-prefix-caching"],
    ["--no-enable-prefix-caching=false", "enable-prefix-caching", "on", "--enable-prefix-caching"],
  ])("%s: is what vLLM refuses, with what means it", (written, name, is, instead) => {
    const args = readServerArguments([MODEL, written]);
    expect(args.options.get(name)).toEqual([is]);
    expect(args.valuedSwitches).toEqual([{ written, instead }]);
    const engine = newestEngineData();
    expect(engineFaults(args, new Map(), engine).map(({ message }) => message)).toEqual([
      `vLLM ${engine.version} takes no value behind a switch: \`${written}\`. Write \`${instead}\`.`,
    ]);
    expect(readServerArguments([MODEL, instead])).toMatchObject({
      options: new Map([[name, [is]]]),
      valuedSwitches: [],
    });
  });
});
