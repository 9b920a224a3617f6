import { describe, expect, it } from "vitest";
import { judge } from "../../../policies/judge";
import { container, record } from "../declared";
import { ATTEMPTS, type By, INNOCENT, MACHINES, OUT_OF_SCOPE } from "./evasions";

const RULES: Readonly<Record<By, string>> = {
  sum: "aggregate-utilization",
  name: "served-model-name",
  image: "inference-image",
};

type Resources = Parameters<typeof judge>[0];

/** The fixed rules that refuse, by their short names. */
function refusing(resources: Resources): By[] {
  const refused = judge([...resources, record()]).filter(({ verdict }) => verdict === "refused");
  return (Object.keys(RULES) as By[]).filter((by) => refused.some(({ name }) => name === RULES[by]));
}

const declaring = (props: object | readonly object[]) =>
  [props].flat().map((each, index) => container(index === 0 ? "x" : `x${index}`, { ...each }));

describe.each(Object.entries(ATTEMPTS))("refuses %s", (_, attempts) => {
  it.each(attempts.map(([what, ...rest]) => [what, rest] as const))("%s", (_what, [declares, ...by]) => {
    expect(refusing(declaring(declares))).toEqual(by);
  });
});

it.each(MACHINES)("refuses the sum of: %s", (_, resources) => {
  expect(refusing(resources)).toContain("sum");
});

it.each(INNOCENT)("leaves alone: %s", (_, declares) => {
  const fixed = Object.values(RULES);
  const said = judge([...declaring(declares), record()]).filter(({ name }) => fixed.includes(name));
  expect(said.map(({ verdict }) => verdict)).toEqual(["pass", "pass", "pass"]);
});

it.each(OUT_OF_SCOPE)("lets through, for a reason: %s", (_, declares, why) => {
  expect(refusing(declaring(declares))).toEqual([]);
  expect(why).toMatch(/\w+ \w+/);
});

it("holds as many as were asked for", () => {
  const attempts = Object.values(ATTEMPTS).flat().length + MACHINES.length + OUT_OF_SCOPE.length;
  expect(attempts).toBeGreaterThanOrEqual(150);
  expect(INNOCENT.length).toBeGreaterThanOrEqual(40);
});
