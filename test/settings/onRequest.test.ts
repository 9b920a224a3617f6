import { describe, expect, it } from "vitest";
import { machinesFaults } from "../fixtures/faults";
import { serverInput, stackInput } from "../fixtures/machine";
import { twoMachines } from "../fixtures/ranks";

const servers = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `s${index}`,
      serverInput({ servedModelName: `s${index}`, port: 8001 + index, start: "onRequest" }),
    ]),
  );

describe("start: onRequest", () => {
  it("is taken for up to twelve servers", () => {
    const { machines } = stackInput({ inferenceServers: servers(12) });
    expect(machinesFaults(machines)).toEqual([]);
  });

  it("is refused from the thirteenth on", () => {
    const { machines } = stackInput({ inferenceServers: servers(13) });
    expect(machinesFaults(machines)).toEqual([
      "machines.dgx.inferenceServers.s12.start: At most 12 servers of a machine can start on request, and there are 13: leave some out, or write `start: always`.",
    ]);
  });

  it("is refused for a server over several machines", () => {
    expect(machinesFaults(twoMachines({ start: "onRequest" }))).toEqual([
      "machines.dgx1.inferenceServers.b.start: A server over several machines can't start on request, since each of them would have to make room for it: delete this line, or `nodes`.",
    ]);
    expect(machinesFaults(twoMachines({ start: "always" }))).toEqual([]);
  });

  it("is one of two words", () => {
    const { machines } = stackInput({}, { start: "sometimes" });
    expect(machinesFaults(machines)).toEqual([
      expect.stringMatching(
        /^machines\.dgx\.inferenceServers\.b\.start: Expected `always` or `onRequest`, got text \(`sometimes`\)\./,
      ),
    ]);
  });
});
