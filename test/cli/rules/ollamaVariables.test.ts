import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { goSeconds, loggedVariables } from "../../../cli/rules/subjects/ollama";

const NAMES = ["CUDA_VISIBLE_DEVICES", "OLLAMA_HOST", "OLLAMA_MODELS", "http_proxy", "no_proxy"];
const value = fc
  .stringMatching(/^[a-z0-9/.:-]{0,12}( [a-z0-9/.-]{1,6}){0,2}$/)
  .map((text) => text.trim());

describe("the variables of Ollama's first line", () => {
  it("are read back as Go prints a map, blanks in a value included", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 5, maxLength: 5 }), (values) => {
        const map = NAMES.map((name, index) => `${name}:${values[index]}`).join(" ");
        const expected = NAMES.map((name, index) => [name, values[index]]);
        for (const end of ["", ']"', ']\\"'])
          expect([...loggedVariables(`${map}${end}`)]).toEqual(expected);
      }),
    );
  });

  it("are not mistaken in a list of addresses", () => {
    const read = loggedVariables(
      'OLLAMA_ORIGINS:[http://localhost https://localhost app://*] ROCR:]"',
    );
    expect([...read.keys()]).toEqual(["OLLAMA_ORIGINS", "ROCR"]);
  });
});

describe("a duration of Go's", () => {
  it("is its sum in seconds, and without a unit seconds", () => {
    fc.assert(
      fc.property(fc.nat(99), fc.nat(59), fc.nat(59), (hours, minutes, seconds) => {
        const sum = hours * 3600 + minutes * 60 + seconds;
        expect(goSeconds(`${hours}h${minutes}m${seconds}s`)).toBe(sum);
        expect(goSeconds(String(sum))).toBe(sum);
      }),
    );
  });

  it("is for ever where it is negative, or longer than a century", () => {
    for (const text of ["-1", "-5m", "2562047h47m16.854775807s"])
      expect(goSeconds(text)).toBe(Number.POSITIVE_INFINITY);
  });
});
