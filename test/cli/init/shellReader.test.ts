import { WrongUse } from "@local-serving/base/commandLine/exit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { launchesIn } from "../../../cli/init/command/launch";
import { scriptIn } from "../../../cli/init/command/words";

const single = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
const double = (word: string) => `"${word.replace(/[$`"\\]/g, "\\$&")}"`;
const escaped = (word: string) => (word === "" ? "''" : word.replace(/[^\w]/g, "\\$&"));
/** One word in two pieces. */
const pieces = (word: string) => single(word.slice(0, 2)) + double(word.slice(2));

const word = fc.string({
  unit: fc.constantFrom(..."ab-=/.,:{}[]()$`'\"\\#&|;<>*?~! 0"),
  maxLength: 8,
});
const written = fc.tuple(word, fc.constantFrom(single, double, escaped, pieces));
const between = fc.constantFrom(" ", "  ", "\t", " \\\n  ");

describe("the reader of a shell's commands", () => {
  it("gives back the words, however each is quoted and the line is cut", () => {
    fc.assert(
      fc.property(fc.array(written, { maxLength: 6 }), between, (words, gap) => {
        const text = ["vllm serve", ...words.map(([each, quoted]) => quoted(each))].join(gap);
        const [command] = scriptIn(`# a remark\n${text} # another\n`).commands;
        expect(command?.words).toEqual(["vllm", "serve", ...words.map(([each]) => each)]);
      }),
    );
  });

  it("gives back the words of an array, and of a variable in double quotes", () => {
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 5 }), word, (words, value) => {
        const items = words.map(([each, quoted]) => quoted(each)).join(" ");
        const text = `A=(${items})\nB=${single(value)}\nvllm serve "\${A[@]}" "$B"\n`;
        const command = scriptIn(text).commands.find(({ words: [first] }) => first === "vllm");
        expect(command?.words.slice(2)).toEqual([...words.map(([each]) => each), value]);
      }),
    );
  });

  it("refuses a damaged script in a sentence, or reads it", () => {
    const script = `#!/bin/bash\nset -e\nM="\${1:-a/b}"\nA=(--seed 1)\nif [ -n "$X" ]; then\n  A+=(--port 2)\nfi\ncat <<'E' > x\ntext\nE\ncase $Y in a) B=1 ;; esac\ndocker run --rm vllm/vllm-openai:v0.30.0 --model "$M" "\${A[@]}"\n`;
    const damage = fc.tuple(
      fc.nat(script.length),
      fc.nat(30),
      fc.string({ unit: fc.constantFrom(..."'\"`$(){}[]<>|&;\\\n #"), maxLength: 3 }),
    );
    fc.assert(
      fc.property(damage, ([at, cut, put]) => {
        try {
          launchesIn(script.slice(0, at) + put + script.slice(at + cut));
        } catch (error) {
          expect(error).toBeInstanceOf(WrongUse);
        }
      }),
    );
  });
});

describe("a terminal's prompts", () => {
  const words = (text: string) => scriptIn(text).commands.map((command) => command.words);

  it("stand in front of a command and of each line that goes on", () => {
    expect(words("$ vllm serve a/b \\\n> --port 8001 \\\n  > --seed 1\n$ ls")).toEqual([
      ["vllm", "serve", "a/b", "--port", "8001", "--seed", "1"],
      ["ls"],
    ]);
  });

  it("are none where no line has one in front", () => {
    expect(words("vllm serve a/b \\\n> vllm.log")).toEqual([["vllm", "serve", "a/b"]]);
  });
});
