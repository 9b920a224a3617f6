import { AnalyzerService } from "@pulumi/pulumi/proto/analyzer_grpc_pb";
import {
  ConfigureAnalyzerRequest,
  EnforcementLevel,
  PolicyConfig,
} from "@pulumi/pulumi/proto/analyzer_pb";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { keepFixedLevels } from "../../policies/fixedLevels";
import { rules } from "../../policies/rules";

/** What the SDK reads of a configuration that the engine hands over, by name. */
function configured(levels: Readonly<Record<string, number>>) {
  const request = new ConfigureAnalyzerRequest();
  for (const [name, level] of Object.entries(levels))
    request.getPolicyconfigMap().set(name, new PolicyConfig().setEnforcementlevel(level));
  const read = AnalyzerService.configure.requestDeserialize(Buffer.from(request.serializeBinary()));
  return Object.fromEntries(
    [...read.getPolicyconfigMap().entries()].map(([name, each]) => [
      name,
      each.getEnforcementlevel(),
    ]),
  );
}

describe("the policy configuration that the pack receives", () => {
  const { ADVISORY, DISABLED, MANDATORY } = EnforcementLevel;
  beforeAll(() => keepFixedLevels(rules));

  it("keeps the level of a fixed rule, says so, and takes every other", () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    onTestFinished(() => said.mockRestore());
    const levels = { all: ADVISORY, "moving-tag": DISABLED, "memory-sum-advice": DISABLED };
    expect(configured({ ...levels, "inference-image": DISABLED })).toEqual({
      ...levels,
      "inference-image": MANDATORY,
    });
    expect(said.mock.calls).toEqual([
      ["The policy inference-image is fixed: it stays mandatory, whatever the configuration says."],
    ]);
  });

  it("refuses names that no rule has, with the nearest", () => {
    expect(() => configured({ "moving-tags": ADVISORY, "host-ports": DISABLED })).toThrow(
      /^The policy configuration sets a level of `moving-tags`, which is no rule\. Did you mean `moving-tag`\?$/,
    );
  });
});
