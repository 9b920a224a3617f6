import { describe, expect, it } from "vitest";
import { parseStackFile } from "../../components/settings/load";
import { machinesFaults } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";

const named = (count: number, make: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, make(index)]));
const machine = (index: number, servers: number, server = {}) => ({
  dockerHost: `ssh://me@m${index}`,
  totalGiB: 121.63,
  instanceA: "none",
  inferenceServers: named(servers, (each) =>
    serverInput({ port: 8001 + each, gpuMemoryUtilization: 0.01, ...server }),
  ),
});

describe("a stack file that is larger than any is meant to be", () => {
  it.each([
    [
      "513 machines",
      named(513, (index) => machine(index, 0)),
      ["machines: A stack has at most 512 machines, and this has 513: make several stacks."],
    ],
    [
      "65 servers of a machine",
      { m: machine(0, 65) },
      ["machines.m.inferenceServers: A machine has at most 64 inference servers, and this has 65."],
    ],
    [
      "513 servers in all",
      { ...named(8, (index) => machine(index, 64)), n: machine(9, 1) },
      [
        "machines: A stack has at most 512 inference servers, and this has 513: make several stacks.",
      ],
    ],
    [
      "a long list",
      { m: machine(0, 1, { aliases: Array(1001).fill("a") }) },
      ["machines.m.inferenceServers.m0.aliases: This has 1001 entries, and at most 1000 are read."],
    ],
    [
      "a long map",
      { m: named(1001, () => 1) },
      ["machines.m: This has 1001 entries, and at most 1000 are read."],
    ],
    [
      "a deep map",
      { m: JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`) },
      ["machines: This nests deeper than 200 levels."],
    ],
  ])(
    "is refused with what it may have at most, and nothing else is judged: %s",
    (_, machines, faults) => {
      expect(machinesFaults(machines)).toEqual(faults);
    },
  );

  it("is read up to these", () => {
    expect(machinesFaults(named(512, (index) => machine(index, 1)))).toEqual([]);
    expect(
      machinesFaults({ m: machine(0, 64, { allowedOrigins: Array(1000).fill("http://a") }) }),
    ).toEqual([]);
  });

  it("is refused with its line", () => {
    const text = `config:\n  local-serving:machines:\n    m:\n      totalGiB: 8\n      x: [${"1,".repeat(1001)}]\n`;
    expect(() => parseStackFile("f.yaml", text)).toThrow(
      "f.yaml:5:7 machines.m.x: This has 1001 entries",
    );
  });
});
