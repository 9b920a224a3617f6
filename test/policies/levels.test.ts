import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readLevels } from "../../policies/levels";
import { temporaryFolder } from "../layers/temporaryFolder";

const folder = temporaryFolder("levels-");
const levels = (text: string) => {
  const file = join(folder, "levels.json");
  writeFileSync(file, text);
  return readLevels(file);
};

describe("a policy configuration", () => {
  it("is read in both of the engine's forms", () => {
    expect(
      levels(
        '{"all": "advisory", "moving-tag": {"enforcementLevel": "mandatory"}, "host-ports": "disabled"}',
      ),
    ).toEqual({
      all: "advisory",
      "moving-tag": "mandatory",
      "host-ports": "disabled",
    });
  });

  it("need not exist", () => {
    expect(readLevels(join(folder, "absent.json"))).toEqual({});
  });

  it("names every unknown rule and level, with the nearest", () => {
    expect(() => levels('{"moving-tags": "advisory", "host-ports": "warn"}')).toThrow(
      /Unknown key `moving-tags`. Did you mean `moving-tag`\?/,
    );
    expect(() => levels('{"moving-tags": "advisory", "host-ports": "warn"}')).toThrow(/host-ports: /);
  });
});
