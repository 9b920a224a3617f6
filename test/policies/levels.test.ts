import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readLevels } from "../../policies/levels";
import { rules } from "../../policies/rules";
import { temporaryFolder } from "../layers/temporaryFolder";

const folder = temporaryFolder("levels-");
const levels = (text: string) => {
  const file = join(folder, "levels.json");
  writeFileSync(file, text);
  return readLevels(file);
};

it("every rule is mandatory but one, three are fixed, and some also advise", () => {
  const named = (is: (rule: (typeof rules)[number]) => boolean) =>
    rules.filter(is).map(({ name }) => name);
  const fixed = ["aggregate-utilization", "served-model-name", "inference-image"];
  const advising = [
    "aggregate-utilization",
    "inference-image",
    "memory-sum",
    "server-starts",
    "transformers-range",
    "engine-names",
    "server-mounts",
    "tool-calling",
    "client-server",
  ];
  expect(named(({ fixed }) => fixed === true)).toEqual(fixed);
  expect(named(({ level }) => level !== "mandatory")).toEqual(["lan-exposure"]);
  expect(named(({ advises }) => advises === true)).toEqual(advising);
});

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
    expect(() => levels('{"moving-tags": "advisory", "host-ports": "warn"}')).toThrow(
      /host-ports: /,
    );
  });
});
