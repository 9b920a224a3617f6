import { describe, expect, it } from "vitest";
import type { MachinePlan } from "../../components/plan";
import { exportOf, faultyVariables } from "../../components/preflight/variables";

const secret = (variable: string, isKey?: true) =>
  ({ variable, ...(isKey && { isKey }) }) as MachinePlan["secretFiles"][number];

describe("what `up` needs of the shell", () => {
  const machine = { secretFiles: [secret("KEY", true), secret("TOKEN"), secret("TOKEN")] };

  it("is each variable of a secret file, once, as far as the shell lacks it", () => {
    expect(faultyVariables(machine, {})).toEqual([
      { name: "KEY", fault: "is not set" },
      { name: "TOKEN", fault: "is not set" },
    ]);
    expect(faultyVariables(machine, { KEY: "a".repeat(64), TOKEN: "x" })).toEqual([]);
    // A key is judged, and a token is its owner's.
    expect(faultyVariables(machine, { KEY: "short", TOKEN: "short" })).toEqual([
      { name: "KEY", fault: "has fewer than 20 characters" },
    ]);
  });

  it("is set by a new key where any will do, and else by a value that only its owner has", () => {
    expect(exportOf(machine, "KEY")).toBe("export KEY=$(openssl rand -hex 32)");
    expect(exportOf(machine, "TOKEN")).toBe("export TOKEN=...");
  });
});
