import { describe, expect, it } from "vitest";
import { kvOf, kvText, ledgerText } from "../../../cli/plan/memoryText";
import { readModels } from "../../../components/evidence/readModels";
import { plan } from "../../../components/plan/plan";
import { loadStackFile } from "../../../components/settings/load";
import { serverInput, stack } from "../../fixtures/machine";

const NAME = "vllm-model-8001";
const models = readModels(loadStackFile("Pulumi.dgx.yaml"), process.cwd(), "/home/me");
const measured = {
  ...{ chargedGiB: 28.6, kvTokens: 300_000, maxConcurrency: 2.5, at: "2026-11-29" },
  image: serverInput().versions.digest,
};

/** What the plan's ledger and its KV cache say of a start, with so much memory free. */
function said(gpuMemoryUtilization: number, availableGiB: number) {
  const model = { id: "nvidia/Qwen3.6-35B-A3B-NVFP4", kind: "chat", weightsGB: 22 };
  const settings = stack({ instanceA: "none" }, { model, gpuMemoryUtilization, measured });
  const meminfo = { dgx: { totalGiB: 121.63, availableGiB } };
  const [dgx] = plan(settings, { home: "/home/me", models, meminfo }).machines;
  if (dgx === undefined) throw new Error("no machine was planned");
  const kv = kvOf(dgx, NAME) ?? null;
  const line = (lines: readonly string[], begins: string) =>
    lines.find((each) => each.trim().startsWith(begins))?.trim();
  return {
    machine: line(ledgerText(dgx, Number.POSITIVE_INFINITY).split("\n"), `${NAME} `),
    start: line(kvText(NAME, kv, Number.POSITIVE_INFINITY), "start "),
    verdict: dgx.kv[NAME]?.start?.verdict,
  };
}

describe("the verdict on a start with the machine's free memory", () => {
  it("is that of the KV plan, where enough is free", () => {
    expect(said(0.45, 100)).toEqual({
      machine: expect.stringMatching(/^vllm-model-8001 would start: 54\.73 GiB wanted, /),
      start: expect.stringMatching(/^start +starts: started here on 2026-11-29$/),
      verdict: "starts",
    });
  });

  it("is that it can't start, where too little is free, with that as its reason", () => {
    const { machine = "", start, verdict } = said(0.7, 35);
    const [, why] = machine.split("would not start: ");
    expect(why).toMatch(/^85\.14 GiB wanted, 35\.00 GiB available by this meminfo$/);
    expect(start?.replace(/^start +/, "")).toBe(`cannot start: ${why}`);
    // The KV plan's own verdict supposes that its share is free.
    expect(verdict).toBe("starts");
  });

  it("stays that it can't start by its own measurement, however much is free", () => {
    const { machine, start } = said(0.2, 110);
    expect(start).toMatch(/^start +cannot start: its share has 24\.33 GiB: it took 28\.60 GiB /);
    expect(machine).toMatch(
      /^vllm-model-8001 would not start, since its share has 24\.33 GiB: it took 28\.60 GiB .+: 24\.33 GiB wanted, [\d.]+ GiB available by this meminfo$/,
    );
  });
});
