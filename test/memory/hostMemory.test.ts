import { describe, expect, it } from "vitest";
import { demandOf } from "../../components/inference-server/argv/memoryDemand";
import { readServerArguments } from "../../components/inference-server/argv/serverArguments";
import { declaredResources } from "../../components/machine/declaredResources";
import { plan } from "../../components/plan/plan";
import { judge } from "../../policies/judge";
import { stack } from "../fixtures/machine";

const read = (...words: string[]) => demandOf(readServerArguments(["m", ...words]));

describe("memory outside the share", () => {
  it.each([
    [["--cpu-offload-gb", "20"], 20],
    [["--cpu_offload_gb=20"], 20],
    [["--cpu-offload-g=2.5"], 2.5],
    [["--kv-offloading-size", "8", "--cpu-offload-gb", "2"], 10],
    [["--kv-offloading-s=8", "--kv-offloading-backend", "native"], 8],
    [["--swap-space", "4"], 4],
    [["--swap=4"], 4],
  ])("is counted: %j", (words, hostGiB) => {
    expect(read(...words)).toMatchObject({ known: true, memory: { hostGiB } });
  });

  it.each([
    [["--num-gpu-blocks-override", "9000"]],
    [["--num_gpu_blocks_override=9000"]],
    [["--num-gpu=9000"]],
    [["--offload-group-size", "8"]],
    [["--kv-offloading-size", "8", "--kv-offloading-backend", "lmcache"]],
    [["--cpu-offload-gb", "-4"]],
    [["--cpu-offload-gb", "inf"]],
    [["--kv-transfer-config", '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}']],
    [["--kv-transfer-config={kv_connector:"]],
    [["--kv-transfer-config.kv_connector", "LMCacheConnectorV1"]],
    [["--kv_transfer_config.kv_connector=SimpleCPUOffloadConnector"]],
    [
      [
        "--kv-transfer-config",
        '{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{"kv_connector":"OffloadingConnector"}]}}',
      ],
    ],
    [["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_buffer_device":"cpu"}']],
  ])("that can't be counted is refused: %j", (words) => {
    expect(read(...words)).toMatchObject({ known: false });
  });

  it.each([
    [["--cpu-offload-gb", "0"]],
    [["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']],
    [["--kv-transfer-config.kv_connector", "NixlConnector", "--kv-transfer-config.kv_role", "kv_both"]],
  ])("is none in %j", (words) => {
    expect(read(...words)).toEqual({ known: true, byDefault: true, memory: { utilization: 0.92 } });
  });

  it("counts in the ledger and in the aggregate", () => {
    const planned = plan(stack({}, { extraArgs: ["--cpu-offload-gb", "20"] }), { home: "/home/me" });
    expect(planned.machines[0]?.ledger.lines).toContainEqual({
      name: "vllm-model-8001",
      gib: 74.73,
      basis: "setting",
      source: "gpuMemoryUtilization 0.45 of 121.63 GiB + 20 GiB of buffers outside it",
    });
    const refused = judge(declaredResources(planned)).filter(({ verdict }) => verdict === "refused");
    expect(refused.map(({ name }) => name)).toEqual(["aggregate-utilization", "memory-sum"]);
    expect(refused[0]?.message).toContain("(0.45 and 20.00 GiB of offloading and swap)");
  });
});
