import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientFacts, nameForClients } from "../../argv/clientFacts";
import { processArguments } from "../../argv/processArguments";

function read(...argv: string[]) {
  const args = processArguments(argv);
  return args && clientFacts(args);
}
const serve = (...words: string[]) =>
  read("/opt/v/bin/python3", "/opt/v/bin/vllm", "serve", ...words);

describe("what a running server gives its clients, by its argv", () => {
  it.each<[string, string[], string]>([
    ["both", ["m", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"], "hermes"],
    ["both, abbreviated", ["m", "--enable-auto", "--tool_call_parser=hermes"], "hermes"],
    ["a parser alone", ["m", "--tool-call-parser", "hermes"], "none"],
    ["the choice alone", ["m", "--enable-auto-tool-choice"], "none"],
    ["a parser without a name", ["m", "--enable-auto-tool-choice", "--tool-call-parser"], "none"],
    [
      "the choice, off again",
      ["m", "--enable-auto-tool-choice", "--tool-call-parser=x", "--no-enable-auto-tool-choice"],
      "none",
    ],
    ["an option for its name", ["m", "--enable-auto-tool-choice", "--tool-call-parser=-x"], "none"],
    ["neither", ["m"], "none"],
  ])("tool parser: %s", (_, words, toolParser) => {
    expect(serve(...words)).toMatchObject({ toolParser });
  });

  it("names in their order, else the model; no text that holds a key", () => {
    expect(serve("org/m", "--served-model-name", "org/m", "m")?.names).toEqual(["org/m", "m"]);
    expect(serve("org/m")?.names).toEqual(["org/m"]);
    expect(serve("--served-model-name", "sk-abcdEFGH12345678", "m")?.names).toEqual(["m"]);
    expect(read("vllm", "serve")?.names).toEqual([]);
  });

  it("whether a key is given, and never which", () => {
    const keyed = serve("m", "--api-key", "first-key-of-mine", "second-key-of-mine");
    expect(keyed).toMatchObject({ holdsKey: true });
    expect(JSON.stringify(keyed)).not.toContain("key-of-mine");
    expect(serve("m")).toMatchObject({ holdsKey: false });
  });

  it("nothing where the argv can't be read for certain, or starts no server", () => {
    expect(serve("m", "--config", "server.yaml")).toBeUndefined();
    expect(read("nginx", "-g", "daemon off;")).toBeUndefined();
    expect(read()).toBeUndefined();
  });

  it("is one, however the options are ordered and written", () => {
    const options = [
      ["--enable-auto-tool-choice"],
      ["--tool-call-parser", "hermes"],
      ["--served-model-name", "org/m", "m"],
      ["--api-key", "k"],
      ["--max-model-len", "8192"],
      ["--reasoning-parser", "qwen3"],
    ];
    const written = fc
      .tuple(fc.shuffledSubarray(options, { minLength: options.length }), fc.boolean())
      .map(([order, underscores]) =>
        order.flatMap(([flag = "", ...values]) => [
          underscores ? `--${flag.slice(2).replaceAll("-", "_")}` : flag,
          ...values,
        ]),
      );
    fc.assert(
      fc.property(written, (words) => {
        expect(serve("org/model", ...words)).toEqual({
          names: ["org/m", "m"],
          toolParser: "hermes",
          holdsKey: true,
        });
      }),
    );
  });

  it("never throws, and names only what the argv holds", () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom("--api-key", "--tool-call-parser", "--enable-auto-tool-choice", "--", "-O"),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const { names = [], toolParser = "none" } = serve(...words) ?? {};
        const said = [...names, ...(toolParser === "none" ? [] : [toolParser])];
        for (const each of said) expect(words.join(" ")).toContain(each);
      }),
    );
  });
});

describe("the name for coding clients", () => {
  it("is the first without a slash, else the first", () => {
    expect(nameForClients(["org/m", "m", "n"])).toBe("m");
    expect(nameForClients(["org/m", "org/n"])).toBe("org/m");
    expect(nameForClients([])).toBeUndefined();
  });
});
