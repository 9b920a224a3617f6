import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { naiveList, readNaively } from "../../providers/naiveReader";

const lookUp = (text: string, section = "s", key = "k") =>
  readNaively(text).get(section, key)?.text;

describe("how the harness reads a profile", () => {
  it.each([
    ["a section is the whole line without brackets and spaces", "[ s ]\nk = 1", "1"],
    ["a comment behind a header is a part of the name", "[s] # c\nk = 1", undefined],
    ["the last header holds", "[x]\n[s]\nk = 1", "1"],
    ["a key counts at the very start of a line", "[s]\n k = 1", undefined],
    ["a tab before it hides it as well", "[s]\n\tk = 1", undefined],
    ["spaces may come before the sign", "[s]\nk   =1", "1"],
    ["a tab may not", "[s]\nk\t= 1", undefined],
    ["a quoted key is another key", '[s]\n"k" = 1', undefined],
    ["the value is everything behind the first sign", "[s]\nk = a = b # c", "a = b # c"],
    ["spaces before the value go", "[s]\nk =    v", "v"],
    ["spaces behind it stay", "[s]\nk = v  ", "v  "],
    ["one double quote goes on each side", '[s]\nk = "v"', "v"],
    ["only one", '[s]\nk = ""v""', '"v"'],
    ["a single quote stays", "[s]\nk = 'v'", "'v'"],
    ["escapes stay", '[s]\nk = "a\\"b"', 'a\\"b'],
    ["one quote alone is cut once", '[s]\nk = "', ""],
    ["the first match wins", "[s]\nk = 1\nk = 2", "1"],
    ["also in a section that comes back", "[s]\nk = 1\n[t]\n[s]\nk = 2", "1"],
    ["nothing is inside a string of several lines", '[s]\na = """\nk = 1\n"""', "1"],
    ["another key that begins alike is not it", "[s]\nkk = 1", undefined],
    ["a carriage return stays", '[s]\nk = "v"\r', 'v"\r'],
  ])("%s", (_, text, expected) => {
    expect(lookUp(text)).toBe(expected);
  });

  it("looks dotted keys up as they are written", () => {
    expect(lookUp('[defaults]\npeer_for.codex = "a"', "defaults", "peer_for.codex")).toBe("a");
    expect(
      lookUp('[defaults.peer_for]\ncodex = "a"', "defaults", "peer_for.codex"),
    ).toBeUndefined();
  });

  it.each([
    ['["a", "b"]', ["a", "b"]],
    ['["a","b",]', ["a", "b"]],
    ["[]", []],
    ['["a", "b"] # c', ["a", 'b" # c']],
    ["['a']", ["'a'"]],
  ])("takes the list %s apart as %j", (text, expected) => {
    expect(naiveList(text)).toEqual(expected);
  });

  it("agrees with the rules, transcribed one after the other", () => {
    const piece = fc.constantFrom(
      "[",
      "]",
      "s",
      "k",
      "=",
      " ",
      '"',
      "'",
      "#",
      "\n",
      "\n[s]\n",
      "\nk =",
      "v",
      "\t",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        expect(lookUp(text)).toBe(transcribed(text, "s", "k"));
      }),
      { numRuns: 2000 },
    );
  });
});

/** The rules, one regular expression each, looking for one key as the harness does. */
function transcribed(text: string, section: string, key: string): string | undefined {
  let current = "";
  for (const line of text.split("\n")) {
    if (/^\[/.test(line)) current = line.replace(/\[|\]| /g, "");
    if (current !== section || !new RegExp(`^${key} *=`).test(line)) continue;
    return line
      .replace(/^[^=]*= */, "")
      .replace(/^"/, "")
      .replace(/"$/, "");
  }
  return undefined;
}
