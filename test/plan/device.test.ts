import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { judgeMachine } from "../../components/preflight/judgeMachine";
import { parseStackFile } from "../../components/settings/load";
import { faultsFrom } from "../fixtures/faults";
import { stack } from "../fixtures/machine";

const planned = (machine: Record<string, unknown>, server: Record<string, unknown> = {}) =>
  plan(stack(machine, server), { home: "/home/me" });
const noted = (machine: Record<string, unknown>) =>
  planned(machine).warnings.filter(({ code }) => code.startsWith("device-"));

describe("the device of a plan", () => {
  it("is a DGX Spark where none is declared, with one note and no key in the applied plan", () => {
    expect(noted({})).toEqual([
      {
        machine: "dgx",
        code: "device-assumed",
        note: true,
        message:
          "The machine is planned as a DGX Spark: `device` isn't declared. If it is one, or a sibling from another maker, write `device: gb10`: then `totalGiB` and the machine itself are checked.",
      },
    ]);
    const [machine] = planned({}).machines;
    expect(machine).not.toHaveProperty("device");
    expect(machine?.files.find(({ role }) => role === "applied-plan")?.text).not.toContain(
      '"device"',
    );
    expect(noted({ device: "gb10" })).toEqual([]);
    expect(noted({ inferenceServers: {} })).toEqual([]);
  });

  it("marks what others' machines told, on one that nobody saw it run on", () => {
    const [{ message, note } = { message: "", note: false }, ...more] = noted({
      device: "jetson-thor",
      totalGiB: 122.8,
    });
    expect({ note, more }).toEqual({ note: true, more: [] });
    expect(message).toMatch(/^This project was not seen to run on a Jetson Thor\. Figures marked/);
    const sources = (device: string) =>
      planned({ device }, { model: { id: "org/model", weightsGB: 22 } }).machines.flatMap(
        ({ ledger }) => ledger.lines.map(({ basis, source }) => `${basis} ${source}`),
      );
    const marked = (device: string) =>
      sources(device).filter((source) => source.endsWith(": a DGX Spark's"));
    expect(marked("gb10")).toEqual([]);
    expect(marked("jetson-thor").length).toBeGreaterThan(1);
    expect(marked("jetson-thor").every((source) => source.startsWith("default "))).toBe(true);
  });

  it("is refused by file and line with a total of another, or with a server that it can't have", () => {
    const faults = (device: string, totalGiB: number) => {
      const server = [
        "        b:",
        "          model: { id: org/model }",
        "          servedModelName: model",
        `          image: vllm/vllm-openai:v0.30.0@sha256:${"0".repeat(64)}`,
        "          gpuMemoryUtilization: 0.4",
        "          maxModelLen: 32768",
      ];
      const lines = [
        "config:",
        "  local-serving:machines:",
        "    dgx:",
        `      totalGiB: ${totalGiB}`,
        `      device: ${device}`,
        "      instanceA: none",
        "      inferenceServers:",
        ...server,
      ];
      return faultsFrom(() => parseStackFile("Pulumi.dgx.yaml", `${lines.join("\n")}\n`));
    };
    expect(faults("gb10", 121.69)).toEqual([]);
    expect(faults("gb10", 100)).toMatchObject([
      { path: "machines.dgx.totalGiB", line: 4, code: "impossible_value" },
    ]);
    expect(faults("gb10", 100)[0]?.message).toContain(
      "100 GiB is 17.8 % off the memory of a DGX Spark: 121.63 to 121.69 GiB",
    );
    expect(faults("other", 62.5)).toMatchObject([
      { path: "machines.dgx.inferenceServers", line: 7, code: "impossible_value" },
    ]);
    expect(faults("gb11", 121.69)).toMatchObject([{ path: "machines.dgx.device", line: 5 }]);
  });

  it("is refused by the preflight where the machine is another", () => {
    const [machine] = planned({ device: "gb10", instanceA: "none" }).machines;
    if (machine === undefined) throw new Error("no machine planned");
    const judged = (device: string | undefined) =>
      judgeMachine(machine, {
        docker: { reachable: true, gpuRuntime: true, containers: [] },
        memory: { totalGiB: 121.63, availableGiB: 110 },
        ...{ listeners: [], directories: [], fileFolders: [], faultyVariables: [] },
        kernel: { kernel: "6.17.0-1021-nvidia", kernelArguments: [] },
        ...(device === undefined ? {} : { device }),
      });
    expect(judged("gb10")).toEqual([]);
    expect(judged(undefined)).toEqual([]);
    expect(judged("jetson-thor")).toEqual([
      {
        verdict: "refused",
        message:
          "`device: gb10` is declared, which is a DGX Spark, and this machine is a Jetson Thor.",
        setting: "device",
        value: "jetson-thor",
      },
    ]);
  });
});
