import { describe, expect, it } from "vitest";
import type { FaultName } from "../../stand-in/faults";
import { planned, resultOf, run, startPlanned } from "./environment";
import { withBridge } from "./services";

const NAME = "native-messages-path";
const SETTING = "machines.dgx.clients.claudeCode.via";

async function verdict(fault: FaultName | undefined, via: "native" | "bridge" | "none", alone = false) {
  const server = await startPlanned(fault);
  const plan = {
    none: planned(server.port),
    native: planned(server.port, {}, { clients: { claudeCode: { via: "native" } } }),
    bridge: withBridge(server.port, 8787),
  }[via];
  const results = await run(plan, { only: [NAME], ...(alone ? { baseUrl: server.url } : {}) });
  await server.close();
  return resultOf(results, NAME);
}

describe("the native messages-path test against the stack file", () => {
  it.each([
    ["passed, native", undefined, "native", "pass", "PASS (5 of 5 runs with a tool_use block)", ""],
    ["passed, no client", undefined, "none", "pass", "PASS (5 of 5", ""],
    [
      "passed, bridge: it can be dropped",
      undefined,
      "bridge",
      "pass",
      "which can be dropped",
      `${SETTING}: native`,
    ],
    [
      "failed, native: back to the bridge",
      "end-turn-pseudo-xml",
      "native",
      "fail",
      "FAIL (0 of 5",
      `${SETTING}: bridge (`,
    ],
    ["failed, no client", "end-turn-pseudo-xml", "none", "fail", "FAIL (0 of 5", `${SETTING}: bridge (`],
    [
      "failed, bridge: as it should be",
      "end-turn-pseudo-xml",
      "bridge",
      "pass",
      "The bridge must be kept, and the stack file keeps it.",
      "",
    ],
  ] as const)("%s", async (_, fault, via, status, detail, fix) => {
    const found = await verdict(fault, via);
    expect(found.status).toBe(status);
    expect(found.detail).toContain(detail);
    expect(fix === "" ? found.fix === "" : found.fix.startsWith(fix)).toBe(true);
  });

  it("judges a server that was named by its URL by itself", async () => {
    const found = await verdict("end-turn-pseudo-xml", "bridge", true);
    expect([found.status, found.fix]).toEqual(["fail", `Keep ${SETTING}: bridge, as the stack file has it.`]);
  });
});
